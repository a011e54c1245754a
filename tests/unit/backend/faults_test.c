/* SPDX-License-Identifier: Apache-2.0
 *
 * faults_test.c - each call at the seam fails once, or from then on: never is there an object with
 * wrong contents under a final name, nothing leaks, and what was reported as done is there.
 */
#include "helpers.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backend/local.h"
#include "base/alloc.h"
#include "seam.h"

#define LEN ((size_t)3 * BLOCK + 100)

struct scenario {
    const char *name;
    int level;    /* of the upload */
    bool put;     /* instead of an upload */
    bool trusted; /* syncfs may be used */
};

static const struct scenario scenarios[] = {
    {"put none", CAIRN_LEVEL_NONE, true, true},
    {"put file", CAIRN_LEVEL_FILE, true, true},
    {"upload none", CAIRN_LEVEL_NONE, false, true},
    {"upload filesystem", CAIRN_LEVEL_FILESYSTEM, false, true},
    {"upload filesystem as file", CAIRN_LEVEL_FILESYSTEM, false, false},
    {"upload file", CAIRN_LEVEL_FILE, false, true},
};

struct kind {
    enum seam_fault fault;
    int os_errno;
    bool forever;
};

static const struct kind kinds[] = {
    {SEAM_ERRNO, EIO, false},   {SEAM_ERRNO, EIO, true},     {SEAM_ERRNO, ENOSPC, false},
    {SEAM_ERRNO, ENOSPC, true}, {SEAM_ERRNO, EDQUOT, false}, {SEAM_ERRNO, EMFILE, false},
    {SEAM_ERRNO, EMFILE, true}, {SEAM_ERRNO, EINTR, false},  {SEAM_ERRNO, EINVAL, false},
    {SEAM_SHORT, 0, false},     {SEAM_SHORT, 0, true},       {SEAM_ERRNO, ENOMEM, false},
};

static char *repo;
static unsigned run_number;

static void name_of(unsigned run, unsigned which, char out[CAIRN_BACKEND_NAME_MAX + 1])
{
    (void)snprintf(out, CAIRN_BACKEND_NAME_MAX + 1, "packs/%02x/%u-%u", which, run, which);
}

/* Two objects in two directories; *done counts those that were reported as there. */
static int act(const struct scenario *scenario, struct cairn_backend *b, unsigned run,
               struct cairn_error *err)
{
    char name[CAIRN_BACKEND_NAME_MAX + 1];
    int level = scenario->level, status = CAIRN_OK;
    uint8_t *bytes = helper_bytes(run, LEN);
    for (unsigned i = 0; status == CAIRN_OK && i < 2; i++) {
        name_of(run, i, name);
        if (scenario->put)
            status = cairn_backend_put(b, name, bytes, LEN, level, err);
        else
            status = helper_upload(b, level, name, run, LEN, BLOCK, err);
    }
    if (status == CAIRN_OK && !scenario->put)
        status = cairn_backend_publish(b, &level, err);
    cairn_free(bytes);
    return status;
}

static int drop_all(void *ctx, const char *temp_name, uint64_t size, char *name, bool *keep,
                    struct cairn_error *err)
{
    (void)ctx;
    (void)temp_name;
    (void)size;
    (void)name;
    (void)keep;
    (void)err;
    return CAIRN_OK;
}

/* One run with the fail_at-th call failing. false: there are not so many calls. */
static bool run_once(const struct scenario *scenario, const struct kind *kind, size_t fail_at)
{
    struct cairn_error error = {0};
    struct cairn_backend *b = NULL;
    unsigned run = ++run_number;
    bool found;
    char name[CAIRN_BACKEND_NAME_MAX + 1];
    struct seam *seam = seam_begin(repo);
    seam->fail_at = fail_at;
    seam->fault = kind->fault;
    seam->os_errno = kind->os_errno;
    seam->forever = kind->forever;
    int status = cairn_local_backend_open(repo, false, &b, &error);
    if (status == CAIRN_OK) {
        cairn_local_backend_trust_syncfs(b, scenario->trusted);
        status = act(scenario, b, run, &error);
        cairn_backend_close(b);
    }
    bool reached = seam->matched >= fail_at;
    seam_end();
    if (status != CAIRN_OK) {
        assert_int_equal(error.status, status);
        assert_true(error.message[0] != '\0');
        assert_true(reached);
        /* Neither an interruption nor a short transfer is a failure where the system has them. */
        if (kind->fault == SEAM_SHORT || kind->os_errno == EINTR) {
            enum seam_op op = seam->calls[fail_at - 1].op;
            if (kind->fault == SEAM_SHORT || op == SEAM_OPEN || op == SEAM_CREATE ||
                op == SEAM_WRITE || op == SEAM_FSYNC || op == SEAM_SYNCFS || op == SEAM_RENAME ||
                op == SEAM_CLOSE) {
                seam_print(seam);
                fail_msg("%s: call %zu", scenario->name, fail_at);
            }
        }
    }
    /* Nothing is wrong under a final name, and success means that all is there. */
    assert_ok(cairn_local_backend_open(repo, false, &b, &error));
    for (unsigned i = 0; i < 2; i++) {
        name_of(run, i, name);
        int holds = helper_holds(b, name, run, LEN);
        if (status == CAIRN_OK && holds != 1) {
            seam_print(seam);
            fail_msg("%s: success after call %zu failed, but no object", scenario->name, fail_at);
        }
        if (holds)
            assert_ok(cairn_backend_remove(b, name, &error));
    }
    assert_int_equal(helper_count(b, ""), 1);
    assert_ok(cairn_backend_adopt(b, drop_all, NULL, &found, &error));
    helper_commit(b);
    cairn_backend_close(b);
    assert_int_equal(helper_entries(helper_path(repo, "tmp")), 0);
    return reached;
}

static void sweep(const struct scenario *scenario)
{
    size_t calls = 0;
    for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
        size_t at = 1;
        int before = helper_open_files();
        while (run_once(scenario, &kinds[k], at)) {
            at++;
            calls++;
        }
        assert_true(at > 10);
        assert_int_equal(helper_open_files(), before);
    }
    print_message("%s: %zu failures injected\n", scenario->name, calls);
}

static void test_sweep(void **state)
{
    sweep(*state);
}

static int list_any(void *ctx, const char *name, uint64_t size)
{
    (void)name;
    (void)size;
    ++*(int *)ctx;
    return 0;
}

/* A reading call fails, or its answer is right; a list is whole or an error. */
static void test_reading(void **state)
{
    struct cairn_error error = {0};
    struct cairn_backend *b;
    uint8_t *bytes = helper_bytes(1, LEN), part[100];
    (void)state;
    assert_ok(cairn_local_backend_open(repo, false, &b, &error));
    assert_ok(cairn_backend_put(b, "packs/11/x", bytes, LEN, CAIRN_LEVEL_NONE, &error));
    for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
        int before = helper_open_files();
        for (size_t at = 1, more = 1; more; at++) {
            struct cairn_buf buf = CAIRN_BUF_INIT;
            struct cairn_backend *reader;
            uint64_t size = 0;
            int count = 0;
            struct seam *seam = seam_begin(repo);
            seam->fail_at = at;
            seam->fault = kinds[k].fault;
            seam->os_errno = kinds[k].os_errno;
            seam->forever = kinds[k].forever;
            int status = cairn_local_backend_open(repo, true, &reader, &error);
            if (status == CAIRN_OK) {
                if (cairn_backend_get(reader, "packs/11/x", LEN, &buf, &error) == CAIRN_OK) {
                    assert_int_equal(buf.len, LEN);
                    assert_memory_equal(buf.data, bytes, LEN);
                }
                if (cairn_backend_get_range(reader, "packs/11/x", 5, part, 100, &error) == CAIRN_OK)
                    assert_memory_equal(part, bytes + 5, 100);
                if (cairn_backend_size(reader, "packs/11/x", &size, &error) == CAIRN_OK)
                    assert_int_equal(size, LEN);
                if (cairn_backend_list(reader, "", list_any, &count, &error) == CAIRN_OK)
                    assert_int_equal(count, 2);
                cairn_backend_close(reader);
            } else {
                assert_int_not_equal(status, CAIRN_NO_REPOSITORY);
            }
            more = seam->matched >= at;
            seam_end();
            cairn_buf_release(&buf);
        }
        assert_int_equal(helper_open_files(), before);
    }
    assert_ok(cairn_backend_remove(b, "packs/11/x", &error));
    cairn_backend_close(b);
    cairn_free(bytes);
}

struct leftover {
    unsigned offered;
};

static int keep_all(void *ctx, const char *temp_name, uint64_t size, char *name, bool *keep,
                    struct cairn_error *err)
{
    struct leftover *leftover = ctx;
    (void)temp_name;
    (void)err;
    leftover->offered++;
    *keep = true;
    (void)snprintf(name, CAIRN_BACKEND_NAME_MAX + 1, "packs/22/%u", (unsigned)(size / BLOCK));
    return CAIRN_OK;
}

/* Adoption fails at any call: what was not told as kept and done is offered again or given up, and
 * nothing is wrong under a name. */
static void test_adoption(void **state)
{
    struct cairn_error error = {0};
    (void)state;
    for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
        int before = helper_open_files();
        for (size_t at = 1, more = 1; more; at++) {
            struct cairn_backend *b;
            struct leftover leftover = {0};
            bool found = false;
            assert_ok(cairn_local_backend_open(repo, false, &b, &error));
            cairn_local_backend_trust_syncfs(b, true);
            for (unsigned i = 1; i <= 3; i++)
                assert_ok(helper_upload(b, CAIRN_LEVEL_FILESYSTEM, "packs/33/x", i, i * BLOCK,
                                        BLOCK, &error));
            cairn_backend_close(b);
            assert_ok(cairn_local_backend_open(repo, false, &b, &error));
            struct seam *seam = seam_begin(repo);
            seam->fail_at = at;
            seam->fault = kinds[k].fault;
            seam->os_errno = kinds[k].os_errno;
            seam->forever = kinds[k].forever;
            int status = cairn_backend_adopt(b, keep_all, &leftover, &found, &error);
            more = seam->matched >= at;
            seam_end();
            if (status == CAIRN_OK && found && leftover.offered == 3)
                assert_int_equal(helper_count(b, "packs/"), 3);
            assert_ok(cairn_backend_adopt(b, keep_all, &leftover, &found, &error));
            for (unsigned i = 1; i <= 3; i++) {
                char name[32];
                (void)snprintf(name, sizeof(name), "packs/22/%u", i);
                if (helper_holds(b, name, i, (size_t)i * BLOCK))
                    assert_ok(cairn_backend_remove(b, name, &error));
            }
            assert_int_equal(helper_count(b, ""), 1);
            helper_commit(b);
            cairn_backend_close(b);
            assert_int_equal(helper_entries(helper_path(repo, "tmp")), 0);
        }
        assert_int_equal(helper_open_files(), before);
    }
}

static void test_creation(void **state)
{
    struct cairn_error error = {0};
    char *dir = helper_dir("");
    (void)state;
    /* The many alike calls in the middle are left out. */
    for (size_t at = 1, more = 1; more; at = at == 30 ? 260 : at + 1) {
        struct cairn_backend *b = NULL;
        char path[600];
        (void)snprintf(path, sizeof(path), "%s/%zu", dir, at);
        struct seam *seam = seam_begin(dir);
        seam->fail_at = at;
        seam->fault = SEAM_ERRNO;
        seam->os_errno = EIO;
        int status = cairn_local_backend_create(path, &b, &error);
        more = seam->matched >= at;
        if (status != CAIRN_OK)
            assert_null(b);
        cairn_backend_close(b);
        seam_end();
        if (status == CAIRN_OK)
            continue;
        /* What was begun is in nobody's way. */
        assert_ok(cairn_local_backend_create(path, &b, &error));
        cairn_backend_close(b);
    }
    helper_remove(dir);
}

/* Every allocation fails once. */
static void test_allocation(void **state)
{
    struct cairn_error error = {0};
    (void)state;
    for (size_t s = 0; s < sizeof(scenarios) / sizeof(scenarios[0]); s++) {
        for (long n = 0, more = 1; more; n++) {
            struct cairn_backend *b;
            char name[CAIRN_BACKEND_NAME_MAX + 1];
            unsigned run = ++run_number;
            bool found;
            int before = helper_open_files();
            /* The helpers allocate too: only the calls are made under the fault. */
            uint8_t *bytes = helper_bytes(run, LEN);
            struct cairn_upload *upload = NULL;
            void *token;
            int level = scenarios[s].level;
            name_of(run, 0, name);
            cairn_alloc_fail_after(n, 0);
            int status = cairn_local_backend_open(repo, false, &b, &error);
            if (status == CAIRN_OK) {
                if (scenarios[s].put) {
                    status = cairn_backend_put(b, name, bytes, LEN, level, &error);
                } else {
                    status = cairn_backend_upload_open(b, level, &upload, &error);
                    if (status == CAIRN_OK)
                        status = cairn_backend_upload_submit(upload, bytes, LEN, bytes, &error);
                    if (status == CAIRN_OK)
                        status = cairn_backend_upload_reap(upload, &token, &error);
                    if (status == CAIRN_OK)
                        status = cairn_backend_upload_finish(upload, name, &error);
                    else
                        cairn_backend_upload_abort(upload);
                    if (status == CAIRN_OK)
                        status = cairn_backend_publish(b, &level, &error);
                }
                cairn_backend_close(b);
            }
            cairn_alloc_fail_after(-1, 0);
            if (status != CAIRN_OK)
                assert_int_equal(status, CAIRN_NO_MEMORY);
            cairn_free(bytes);
            assert_ok(cairn_local_backend_open(repo, false, &b, &error));
            int holds = helper_holds(b, name, run, LEN);
            assert_true(status != CAIRN_OK || holds == 1);
            if (holds)
                assert_ok(cairn_backend_remove(b, name, &error));
            assert_ok(cairn_backend_adopt(b, drop_all, NULL, &found, &error));
            cairn_backend_close(b);
            assert_int_equal(helper_open_files(), before);
            more = n < 12; /* more than any of these makes */
        }
    }
}

static int set_up_all(void **state)
{
    struct cairn_error error = {0};
    struct cairn_backend *b;
    (void)state;
    repo = helper_dir("");
    assert_ok(cairn_local_backend_create(repo, &b, &error));
    assert_ok(cairn_backend_put(b, "config", "c", 1, CAIRN_LEVEL_NONE, &error));
    cairn_backend_close(b);
    /* Lists are made after each run: most of the 256 directories would only be in the way. */
    for (unsigned i = 0; i < 256; i++) {
        char name[16];
        (void)snprintf(name, sizeof(name), "packs/%02x", i);
        if (i > 1 && i % 0x11 != 0)
            assert_int_equal(rmdir(helper_path(repo, name)), 0);
    }
    return 0;
}

static int tear_down_all(void **state)
{
    (void)state;
    seam_end();
    helper_remove(repo);
    return 0;
}

#define SWEEP(i)                                                                                   \
    {                                                                                              \
        "test_sweep " #i, test_sweep, NULL, NULL, (void *)(uintptr_t)&scenarios[i]                 \
    }

int main(void)
{
    const struct CMUnitTest tests[] = {
        SWEEP(0),
        SWEEP(1),
        SWEEP(2),
        SWEEP(3),
        SWEEP(4),
        SWEEP(5),
        cmocka_unit_test(test_reading),
        cmocka_unit_test(test_adoption),
        cmocka_unit_test(test_creation),
        cmocka_unit_test(test_allocation),
    };
    return cmocka_run_group_tests_name("faults", tests, set_up_all, tear_down_all);
}
