/* SPDX-License-Identifier: Apache-2.0
 *
 * order_test.c - in which order the local backend asks for durability, at each level.
 */
#include "helpers.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/local.h"
#include "seam.h"

#define LEN ((size_t)4 * BLOCK)

struct fixture {
    char *dir;
    struct cairn_backend *backend;
    struct seam *seam;
};

static int set_up(void **state)
{
    struct cairn_error error = {0};
    struct fixture *f = calloc(1, sizeof(*f));
    f->dir = helper_dir("");
    assert_ok(cairn_local_backend_create(f->dir, &f->backend, &error));
    cairn_local_backend_trust_syncfs(f->backend, true);
    f->seam = seam_begin(f->dir);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    cairn_backend_close(f->backend);
    seam_end();
    helper_remove(f->dir);
    free(f);
    return 0;
}

/* Each of the calls is in the record, in this order; any others may lie between. */
#define assert_order(seam, ...)                                                                    \
    assert_order_of(seam, (const struct seam_call[]){__VA_ARGS__},                                 \
                    sizeof((const struct seam_call[]){__VA_ARGS__}) / sizeof(struct seam_call),    \
                    __LINE__)

static void assert_order_of(const struct seam *seam, const struct seam_call *want, size_t count,
                            int line)
{
    size_t at = 0;
    for (size_t i = 0; i < count; i++) {
        at = seam_find(seam, at, want[i].op, want[i].path[0] ? want[i].path : NULL);
        if (at == seam_none || (want[i].to[0] && strcmp(seam->calls[at].to, want[i].to) != 0)) {
            print_error("line %d: step %zu is missing or out of order\n", line, i + 1);
            seam_print(seam);
            fail();
        }
        at++;
    }
}

static size_t last(const struct seam *seam, enum seam_op op)
{
    size_t at = seam_none;
    for (size_t i = 0; i < seam->count; i++) {
        if (seam->calls[i].op == op)
            at = i;
    }
    return at;
}

/* Nothing is ever made outside tmp, and every name is given by a rename from there. */
static void assert_only_tmp_written(const struct seam *seam)
{
    for (size_t i = 0; i < seam->count; i++) {
        const struct seam_call *call = &seam->calls[i];
        if (call->op == SEAM_CREATE || call->op == SEAM_WRITE || call->op == SEAM_RENAME)
            assert_int_equal(strncmp(call->path, "tmp/", 4), 0);
        assert_true(call->op != SEAM_LINK);
    }
}

static void test_put(void **state)
{
    static const int levels[] = {CAIRN_LEVEL_METADATA, CAIRN_LEVEL_FILESYSTEM, CAIRN_LEVEL_FILE};
    struct fixture *f = *state;
    struct cairn_error error = {0};
    for (unsigned i = 0; i < 3; i++) {
        f->seam->count = 0;
        char name[16], temp[16];
        (void)snprintf(name, sizeof(name), "log/%u", i);
        (void)snprintf(temp, sizeof(temp), "tmp/p%u", i + 1);
        assert_ok(cairn_backend_put(f->backend, name, "entry", 5, levels[i], &error));
        struct seam_call want[] = {{.op = SEAM_CREATE}, {.op = SEAM_WRITE},
                                   {.op = SEAM_FSYNC},  {.op = SEAM_CLOSE},
                                   {.op = SEAM_RENAME}, {.op = SEAM_FSYNC, .path = "log"}};
        for (size_t k = 0; k < 5; k++)
            (void)strcpy(want[k].path, temp);
        (void)strcpy(want[4].to, name);
        assert_order_of(f->seam, want, 6, __LINE__);
        assert_int_equal(seam_count(f->seam, SEAM_FSYNC, NULL), 2);
        assert_only_tmp_written(f->seam);
    }
}

static void test_put_at_none(void **state)
{
    struct fixture *f = *state;
    struct cairn_error error = {0};
    assert_ok(cairn_backend_put(f->backend, "log/0", "entry", 5, CAIRN_LEVEL_NONE, &error));
    assert_order(f->seam, {.op = SEAM_WRITE, .path = "tmp/p1"},
                 {.op = SEAM_RENAME, .path = "tmp/p1", .to = "log/0"});
    assert_int_equal(seam_count(f->seam, SEAM_FSYNC, NULL), 0);
    assert_int_equal(seam_count(f->seam, SEAM_SYNCFS, NULL), 0);
}

static void test_uploads_at_none_and_metadata(void **state)
{
    struct fixture *f = *state;
    struct cairn_error error = {0};
    int level = CAIRN_LEVEL_METADATA;
    assert_ok(helper_upload(f->backend, CAIRN_LEVEL_NONE, "packs/01/a", 1, LEN, BLOCK, &error));
    assert_ok(helper_upload(f->backend, level, "packs/02/b", 2, LEN, BLOCK, &error));
    assert_int_equal(seam_count(f->seam, SEAM_RENAME, NULL), 2);
    assert_ok(cairn_backend_publish(f->backend, &level, &error));
    assert_int_equal(seam_count(f->seam, SEAM_FSYNC, NULL), 0);
    assert_int_equal(seam_count(f->seam, SEAM_SYNCFS, NULL), 0);
    assert_only_tmp_written(f->seam);
}

static void test_uploads_at_file(void **state)
{
    struct fixture *f = *state;
    struct cairn_error error = {0};
    int level = CAIRN_LEVEL_FILE;
    assert_ok(helper_upload(f->backend, level, "packs/01/a", 1, LEN, BLOCK, &error));
    assert_ok(helper_upload(f->backend, level, "packs/02/b", 2, LEN, BLOCK, &error));
    assert_ok(helper_upload(f->backend, level, "packs/01/c", 3, LEN, BLOCK, &error));
    assert_ok(cairn_backend_publish(f->backend, &level, &error));
    static const char *const names[] = {"packs/01/a", "packs/02/b", "packs/01/c"};
    for (unsigned i = 0; i < 3; i++) {
        struct seam_call want[] = {{.op = SEAM_WRITE}, {.op = SEAM_WRITE}, {.op = SEAM_WRITE},
                                   {.op = SEAM_WRITE}, {.op = SEAM_FSYNC}, {.op = SEAM_RENAME},
                                   {.op = SEAM_FSYNC}};
        for (size_t k = 0; k < 6; k++)
            (void)snprintf(want[k].path, sizeof(want[k].path), "tmp/u%u", i + 1);
        (void)strcpy(want[5].to, names[i]);
        (void)snprintf(want[6].path, sizeof(want[6].path), "%.8s", names[i]);
        assert_order_of(f->seam, want, 7, __LINE__);
    }
    assert_int_equal(seam_count(f->seam, SEAM_SYNCFS, NULL), 0);
    assert_int_equal(level, CAIRN_LEVEL_FILE);
    assert_only_tmp_written(f->seam);
}

static void test_uploads_at_filesystem(void **state)
{
    struct fixture *f = *state;
    struct cairn_error error = {0};
    int level = CAIRN_LEVEL_FILESYSTEM;
    assert_ok(helper_upload(f->backend, level, "packs/01/a", 1, LEN, BLOCK, &error));
    assert_ok(helper_upload(f->backend, level, "packs/02/b", 2, LEN, BLOCK, &error));
    assert_ok(helper_upload(f->backend, level, "packs/01/c", 3, LEN, BLOCK, &error));
    assert_int_equal(seam_count(f->seam, SEAM_RENAME, NULL), 0);
    assert_int_equal(seam_count(f->seam, SEAM_FSYNC, NULL), 0);
    assert_int_equal(helper_count(f->backend, "packs/"), 0);
    size_t writes_end = last(f->seam, SEAM_WRITE);
    assert_ok(cairn_backend_publish(f->backend, &level, &error));
    assert_int_equal(level, CAIRN_LEVEL_FILESYSTEM);
    size_t synced = seam_find(f->seam, 0, SEAM_SYNCFS, NULL);
    assert_true(synced != seam_none && synced > writes_end);
    assert_true(last(f->seam, SEAM_WRITE) < synced);
    assert_true(seam_find(f->seam, 0, SEAM_RENAME, NULL) > synced);
    /* The descriptor is older than the first write. */
    assert_string_equal(f->seam->calls[synced].path, "tmp/session");
    assert_int_equal(seam_count(f->seam, SEAM_SYNCFS, NULL), 1);
    assert_int_equal(seam_count(f->seam, SEAM_RENAME, NULL), 3);
    assert_order(f->seam, {.op = SEAM_RENAME, .path = "tmp/u1", .to = "packs/01/a"},
                 {.op = SEAM_FSYNC, .path = "packs/01"});
    assert_order(f->seam, {.op = SEAM_RENAME, .path = "tmp/u3", .to = "packs/01/c"},
                 {.op = SEAM_FSYNC, .path = "packs/01"});
    assert_order(f->seam, {.op = SEAM_RENAME, .path = "tmp/u2", .to = "packs/02/b"},
                 {.op = SEAM_FSYNC, .path = "packs/02"});
    assert_int_equal(seam_count(f->seam, SEAM_FSYNC, "packs/01"), 1);
    assert_int_equal(seam_count(f->seam, SEAM_FSYNC, NULL), 2);
    assert_only_tmp_written(f->seam);
}

static void test_filesystem_without_trust_is_file(void **state)
{
    struct fixture *f = *state;
    struct cairn_error error = {0};
    int level = CAIRN_LEVEL_FILESYSTEM;
    cairn_local_backend_trust_syncfs(f->backend, false);
    assert_ok(helper_upload(f->backend, level, "packs/01/a", 1, LEN, BLOCK, &error));
    assert_ok(cairn_backend_publish(f->backend, &level, &error));
    assert_int_equal(level, CAIRN_LEVEL_FILE);
    assert_int_equal(seam_count(f->seam, SEAM_SYNCFS, NULL), 0);
    assert_order(f->seam, {.op = SEAM_FSYNC, .path = "tmp/u1"},
                 {.op = SEAM_RENAME, .path = "tmp/u1", .to = "packs/01/a"},
                 {.op = SEAM_FSYNC, .path = "packs/01"});
}

/* What is there already, put by somebody who synced nothing, is made as durable as ours. */
static void test_existing_object_is_synced(void **state)
{
    static const int levels[] = {CAIRN_LEVEL_FILE, CAIRN_LEVEL_FILESYSTEM};
    struct fixture *f = *state;
    struct cairn_error error = {0};
    assert_ok(helper_upload(f->backend, CAIRN_LEVEL_NONE, "packs/01/a", 1, LEN, BLOCK, &error));
    for (unsigned i = 0; i < 2; i++) {
        int level = levels[i];
        f->seam->count = 0;
        assert_ok(helper_upload(f->backend, level, "packs/01/a", 1, LEN, BLOCK, &error));
        assert_ok(cairn_backend_publish(f->backend, &level, &error));
        assert_order(f->seam, {.op = SEAM_RENAME, .to = "packs/01/a", .path = ""},
                     {.op = SEAM_FSYNC, .path = "packs/01/a"},
                     {.op = SEAM_FSYNC, .path = "packs/01"});
    }
}

static void test_sync_object(void **state)
{
    struct fixture *f = *state;
    struct cairn_error error = {0};
    assert_ok(helper_upload(f->backend, CAIRN_LEVEL_NONE, "packs/01/a", 1, LEN, BLOCK, &error));
    assert_ok(cairn_backend_sync_object(f->backend, "packs/01/a", &error));
    assert_order(f->seam, {.op = SEAM_FSYNC, .path = "packs/01/a"},
                 {.op = SEAM_FSYNC, .path = "packs/01"});
}

static int keep_all(void *ctx, const char *temp_name, uint64_t size, char *name, bool *keep,
                    struct cairn_error *err)
{
    (void)ctx;
    (void)temp_name;
    (void)size;
    (void)err;
    *keep = true;
    (void)strcpy(name, "packs/01/a");
    return CAIRN_OK;
}

static void test_adopt(void **state)
{
    struct fixture *f = *state;
    struct cairn_error error = {0};
    struct cairn_backend *b;
    bool found = false;
    assert_ok(cairn_backend_put(f->backend, "config", "c", 1, CAIRN_LEVEL_NONE, &error));
    assert_ok(cairn_local_backend_open(f->dir, false, &b, &error));
    cairn_local_backend_trust_syncfs(b, true);
    assert_ok(helper_upload(b, CAIRN_LEVEL_FILESYSTEM, "packs/01/a", 1, LEN, BLOCK, &error));
    cairn_backend_close(b);
    f->seam->count = 0;
    assert_ok(cairn_backend_adopt(f->backend, keep_all, NULL, &found, &error));
    assert_true(found);
    assert_order(f->seam, {.op = SEAM_FSYNC, .path = "tmp/u1"},
                 {.op = SEAM_RENAME, .path = "tmp/u1", .to = "packs/01/a"},
                 {.op = SEAM_FSYNC, .path = "packs/01"});
}

static void test_create(void **state)
{
    struct fixture *f = *state;
    struct cairn_error error = {0};
    struct cairn_backend *b;
    char path[600];
    (void)snprintf(path, sizeof(path), "%s/tmp/new", f->dir);
    f->seam->count = 0;
    assert_ok(cairn_local_backend_create(path, &b, &error));
    assert_order(f->seam, {.op = SEAM_MKDIR, .path = "tmp/new/packs"},
                 {.op = SEAM_MKDIR, .path = "tmp/new/packs/ff"},
                 {.op = SEAM_FSYNC, .path = "tmp/new/packs"}, {.op = SEAM_FSYNC, .path = "tmp/new"},
                 {.op = SEAM_FSYNC, .path = "tmp"});
    cairn_backend_close(b);
}

/* ---- after a sync that failed ---- */

/* No call of any kind syncs the path again after it has failed. */
static void assert_never_synced_again(const struct seam *seam, const char *path)
{
    bool failed = false;
    for (size_t i = 0; i < seam->count; i++) {
        const struct seam_call *call = &seam->calls[i];
        if (call->op != SEAM_FSYNC || strcmp(call->path, path) != 0)
            continue;
        assert_false(failed);
        failed = call->result != 0;
    }
    assert_true(failed);
}

static void test_failed_fsync_of_a_put(void **state)
{
    struct fixture *f = *state;
    struct cairn_error error = {0};
    f->seam->only = SEAM_FSYNC;
    f->seam->fail_at = 1;
    f->seam->fault = SEAM_ERRNO;
    f->seam->os_errno = EIO;
    assert_int_equal(cairn_backend_put(f->backend, "log/0", "x", 1, CAIRN_LEVEL_FILE, &error),
                     CAIRN_IO);
    assert_never_synced_again(f->seam, "tmp/p1");
    assert_int_equal(seam_count(f->seam, SEAM_RENAME, NULL), 0);
    assert_int_equal(seam_count(f->seam, SEAM_UNLINK, "tmp/p1"), 1);
    assert_ok(cairn_backend_put(f->backend, "log/0", "x", 1, CAIRN_LEVEL_FILE, &error));
}

static void test_failed_fsync_of_an_upload(void **state)
{
    struct fixture *f = *state;
    struct cairn_error error = {0};
    struct cairn_upload *upload;
    int level = CAIRN_LEVEL_FILE;
    f->seam->only = SEAM_FSYNC;
    f->seam->fail_at = 1;
    f->seam->fault = SEAM_ERRNO;
    f->seam->os_errno = EIO;
    assert_ok(helper_upload(f->backend, level, "packs/01/a", 1, LEN, BLOCK, &error));
    assert_int_equal(cairn_backend_publish(f->backend, &level, &error), CAIRN_IO);
    assert_int_equal(error.os_errno, EIO);
    assert_never_synced_again(f->seam, "tmp/u1");
    assert_int_equal(seam_count(f->seam, SEAM_UNLINK, "tmp/u1"), 1);
    assert_int_equal(seam_count(f->seam, SEAM_RENAME, NULL), 0);
    /* Nobody can take a later publish for the success of the first. */
    assert_int_equal(cairn_backend_publish(f->backend, &level, &error), CAIRN_IO);
    assert_int_equal(cairn_backend_upload_open(f->backend, level, &upload, &error), CAIRN_IO);
    assert_int_equal(helper_count(f->backend, ""), 0);
}

static void test_failed_syncfs(void **state)
{
    struct fixture *f = *state;
    struct cairn_error error = {0};
    int level = CAIRN_LEVEL_FILESYSTEM;
    f->seam->only = SEAM_SYNCFS;
    f->seam->fail_at = 1;
    f->seam->fault = SEAM_ERRNO;
    f->seam->os_errno = EIO;
    assert_ok(helper_upload(f->backend, level, "packs/01/a", 1, LEN, BLOCK, &error));
    assert_ok(helper_upload(f->backend, level, "packs/02/b", 2, LEN, BLOCK, &error));
    assert_int_equal(cairn_backend_publish(f->backend, &level, &error), CAIRN_IO);
    assert_int_equal(level, CAIRN_LEVEL_FILESYSTEM);
    assert_int_equal(cairn_backend_publish(f->backend, &level, &error), CAIRN_IO);
    assert_int_equal(seam_count(f->seam, SEAM_RENAME, NULL), 0);
    assert_int_equal(seam_count(f->seam, SEAM_SYNCFS, NULL), 0);
    assert_int_equal(seam_count(f->seam, SEAM_UNLINK, "tmp/u1"), 1);
    assert_int_equal(seam_count(f->seam, SEAM_UNLINK, "tmp/u2"), 1);
    assert_int_equal(helper_count(f->backend, ""), 0);
}

/* The directory's sync fails: the object may be there, the publish has failed for good. */
static void test_failed_fsync_of_a_directory(void **state)
{
    struct fixture *f = *state;
    struct cairn_error error = {0};
    int level = CAIRN_LEVEL_FILESYSTEM;
    f->seam->only = SEAM_FSYNC;
    f->seam->fail_at = 1;
    f->seam->fault = SEAM_ERRNO;
    f->seam->os_errno = EIO;
    assert_ok(helper_upload(f->backend, level, "packs/01/a", 1, LEN, BLOCK, &error));
    assert_int_equal(cairn_backend_publish(f->backend, &level, &error), CAIRN_IO);
    assert_never_synced_again(f->seam, "packs/01");
    assert_int_equal(cairn_backend_publish(f->backend, &level, &error), CAIRN_IO);
    assert_never_synced_again(f->seam, "packs/01");
    assert_int_equal(helper_holds(f->backend, "packs/01/a", 1, LEN), 1);
}

/* A rename that fails for want of space can be tried again: the bytes are durable. */
static void test_failed_rename_in_publish(void **state)
{
    struct fixture *f = *state;
    struct cairn_error error = {0};
    int level = CAIRN_LEVEL_FILESYSTEM;
    f->seam->only = SEAM_RENAME;
    f->seam->fail_at = 2;
    f->seam->fault = SEAM_ERRNO;
    f->seam->os_errno = ENOSPC;
    assert_ok(helper_upload(f->backend, level, "packs/01/a", 1, LEN, BLOCK, &error));
    assert_ok(helper_upload(f->backend, level, "packs/01/b", 2, LEN, BLOCK, &error));
    assert_ok(helper_upload(f->backend, level, "packs/02/c", 3, LEN, BLOCK, &error));
    assert_int_equal(cairn_backend_publish(f->backend, &level, &error), CAIRN_NO_SPACE);
    assert_order(f->seam, {.op = SEAM_RENAME, .path = "tmp/u1", .to = "packs/01/a"},
                 {.op = SEAM_RENAME, .path = "tmp/u2", .to = "packs/01/b"},
                 {.op = SEAM_FSYNC, .path = "packs/01"});
    assert_ok(cairn_backend_publish(f->backend, &level, &error));
    assert_int_equal(helper_holds(f->backend, "packs/01/a", 1, LEN), 1);
    assert_int_equal(helper_holds(f->backend, "packs/01/b", 2, LEN), 1);
    assert_int_equal(helper_holds(f->backend, "packs/02/c", 3, LEN), 1);
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_put),
        TEST(test_put_at_none),
        TEST(test_uploads_at_none_and_metadata),
        TEST(test_uploads_at_file),
        TEST(test_uploads_at_filesystem),
        TEST(test_filesystem_without_trust_is_file),
        TEST(test_existing_object_is_synced),
        TEST(test_sync_object),
        TEST(test_adopt),
        TEST(test_create),
        TEST(test_failed_fsync_of_a_put),
        TEST(test_failed_fsync_of_an_upload),
        TEST(test_failed_syncfs),
        TEST(test_failed_fsync_of_a_directory),
        TEST(test_failed_rename_in_publish),
    };
    return cmocka_run_group_tests_name("order", tests, NULL, NULL);
}
