/* SPDX-License-Identifier: Apache-2.0
 *
 * conformance_test.c - what every backend must do, run over each of them.
 */
#include "helpers.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backend/fault.h"
#include "backend/local.h"
#include "backend/memory.h"
#include "base/alloc.h"
#include "base/io.h"

#define LOG0 "log/0000000000000000"
#define PACK_A "packs/aa/aa00000000000000000000000000000000000000000000000000000000000000"
#define PACK_B "packs/0b/0b00000000000000000000000000000000000000000000000000000000000000"

struct fixture {
    char *dir; /* NULL: not on disk */
    struct cairn_backend *inner, *backend;
};

static int pass(void *ctx, const char *op, const char *name)
{
    (void)ctx;
    (void)op;
    (void)name;
    return CAIRN_OK;
}

static struct fixture *make_local(const char *base)
{
    struct cairn_error error = {0};
    struct fixture *f = calloc(1, sizeof(*f));
    f->dir = helper_dir(base);
    assert_ok(cairn_local_backend_create(f->dir, &f->backend, &error));
    return f;
}

static int set_up_memory(void **state)
{
    struct cairn_error error = {0};
    struct fixture *f = calloc(1, sizeof(*f));
    assert_ok(cairn_memory_backend_new(&f->backend, &error));
    *state = f;
    return 0;
}

static int set_up_fault(void **state)
{
    struct cairn_error error = {0};
    struct fixture *f = calloc(1, sizeof(*f));
    assert_ok(cairn_memory_backend_new(&f->inner, &error));
    assert_ok(cairn_fault_backend_new(f->inner, pass, NULL, &f->backend, &error));
    *state = f;
    return 0;
}

static int set_up_local(void **state)
{
    *state = make_local("");
    return 0;
}

static int set_up_shm(void **state)
{
    *state = make_local(access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "");
    return 0;
}

static struct cairn_io_ops plain_ops;

/* The same local backend with io_uring out of the way. */
static int set_up_plain(void **state)
{
    plain_ops = *cairn_io_system();
    cairn_io_set(&plain_ops);
    *state = make_local("");
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    cairn_backend_close(f->backend);
    cairn_backend_close(f->inner);
    if (f->dir != NULL)
        helper_remove(f->dir);
    free(f);
    cairn_io_set(NULL);
    return 0;
}

static void test_put_and_get(void **state)
{
    struct cairn_backend *b = ((struct fixture *)*state)->backend;
    struct cairn_error error = {0};
    struct cairn_buf buf = CAIRN_BUF_INIT;
    char part[4];
    uint64_t size = 0;
    assert_int_equal(cairn_backend_get(b, "config", 100, &buf, &error), CAIRN_NOT_FOUND);
    assert_int_equal(error.status, CAIRN_NOT_FOUND);
    assert_int_equal(cairn_backend_size(b, "config", &size, NULL), CAIRN_NOT_FOUND);
    assert_int_equal(cairn_backend_get_range(b, "config", 0, part, 1, NULL), CAIRN_NOT_FOUND);
    assert_int_equal(cairn_backend_get(b, "other/thing", 9, &buf, NULL), CAIRN_NOT_FOUND);
    assert_ok(cairn_backend_put(b, "config", "0123456789", 10, CAIRN_LEVEL_FILE, &error));
    assert_ok(cairn_backend_get(b, "config", 10, &buf, &error));
    assert_int_equal(buf.len, 10);
    assert_memory_equal(buf.data, "0123456789", 10);
    assert_ok(cairn_backend_size(b, "config", &size, &error));
    assert_int_equal(size, 10);
    assert_int_equal(cairn_backend_get(b, "config", 9, &buf, NULL), CAIRN_LIMIT);
    assert_ok(cairn_backend_get_range(b, "config", 6, part, 4, &error));
    assert_memory_equal(part, "6789", 4);
    assert_ok(cairn_backend_get_range(b, "config", 10, part, 0, &error));
    assert_int_equal(cairn_backend_get_range(b, "config", 7, part, 4, NULL), CAIRN_CORRUPT);
    assert_int_equal(cairn_backend_get_range(b, "config", UINT64_MAX, part, 4, NULL),
                     CAIRN_CORRUPT);
    assert_ok(cairn_backend_put(b, LOG0, "", 0, CAIRN_LEVEL_NONE, &error));
    assert_ok(cairn_backend_get(b, LOG0, 0, &buf, &error));
    assert_int_equal(buf.len, 0);
    cairn_buf_release(&buf);
}

static void test_put_keeps_what_exists(void **state)
{
    struct cairn_backend *b = ((struct fixture *)*state)->backend;
    struct cairn_error error = {0};
    struct cairn_buf buf = CAIRN_BUF_INIT;
    assert_ok(cairn_backend_put(b, LOG0, "first", 5, CAIRN_LEVEL_FILE, &error));
    assert_int_equal(cairn_backend_put(b, LOG0, "second", 6, CAIRN_LEVEL_FILE, &error),
                     CAIRN_EXISTS);
    assert_int_equal(error.status, CAIRN_EXISTS);
    assert_ok(cairn_backend_get(b, LOG0, 100, &buf, &error));
    assert_int_equal(buf.len, 5);
    assert_memory_equal(buf.data, "first", 5);
    cairn_buf_release(&buf);
}

static void test_bad_names(void **state)
{
    static const char *const bad[] = {"",
                                      "/",
                                      "a/",
                                      "/a",
                                      "a//b",
                                      "../a",
                                      "a/..",
                                      "a/.b",
                                      "A",
                                      "a b",
                                      "a\n",
                                      "a/b/c/d",
                                      "a\\b",
                                      "keys/\xff",
                                      "a23456789012345678901234567890123456789012345678901234567890"
                                      "12345678901234567890123456789012345678901234567890123456789"
                                      "0123456789"};
    struct cairn_backend *b = ((struct fixture *)*state)->backend;
    struct cairn_buf buf = CAIRN_BUF_INIT;
    uint64_t size;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_int_equal(cairn_backend_put(b, bad[i], "x", 1, 0, NULL), CAIRN_MISUSE);
        assert_int_equal(cairn_backend_get(b, bad[i], 9, &buf, NULL), CAIRN_MISUSE);
        assert_int_equal(cairn_backend_size(b, bad[i], &size, NULL), CAIRN_MISUSE);
        assert_int_equal(cairn_backend_remove(b, bad[i], NULL), CAIRN_MISUSE);
        assert_int_equal(cairn_backend_sync_object(b, bad[i], NULL), CAIRN_MISUSE);
        assert_int_equal(helper_upload(b, CAIRN_LEVEL_NONE, bad[i], 1, BLOCK, BLOCK, NULL),
                         CAIRN_MISUSE);
    }
    assert_int_equal(cairn_backend_list(b, "log", NULL, NULL, NULL), CAIRN_MISUSE);
    assert_int_equal(cairn_backend_list(b, "/", NULL, NULL, NULL), CAIRN_MISUSE);
    assert_int_equal(helper_count(b, ""), 0);
    cairn_buf_release(&buf);
}

struct seen {
    char names[8][CAIRN_BACKEND_NAME_MAX + 1];
    uint64_t sizes[8];
    size_t count;
    int stop_with;
    struct cairn_backend *remove_from;
};

static int note(void *ctx, const char *name, uint64_t size)
{
    struct seen *seen = ctx;
    assert_true(seen->count < 8);
    (void)snprintf(seen->names[seen->count], sizeof(seen->names[0]), "%s", name);
    seen->sizes[seen->count++] = size;
    if (seen->remove_from != NULL)
        assert_int_equal(cairn_backend_remove(seen->remove_from, name, NULL), CAIRN_OK);
    return seen->stop_with;
}

static bool has(const struct seen *seen, const char *name, uint64_t size)
{
    for (size_t i = 0; i < seen->count; i++) {
        if (strcmp(seen->names[i], name) == 0 && seen->sizes[i] == size)
            return true;
    }
    return false;
}

static void test_list_and_remove(void **state)
{
    struct cairn_backend *b = ((struct fixture *)*state)->backend;
    struct cairn_error error = {0};
    struct seen seen = {0};
    assert_int_equal(helper_count(b, ""), 0);
    assert_int_equal(helper_count(b, "packs/"), 0);
    assert_int_equal(helper_count(b, "nothing/"), 0);
    assert_ok(cairn_backend_put(b, "config", "c", 1, CAIRN_LEVEL_NONE, &error));
    assert_ok(cairn_backend_put(b, LOG0, "ll", 2, CAIRN_LEVEL_NONE, &error));
    assert_ok(cairn_backend_put(b, "log/0000000000000001", "lll", 3, CAIRN_LEVEL_NONE, &error));
    assert_ok(cairn_backend_put(b, PACK_A, "aaaa", 4, CAIRN_LEVEL_NONE, &error));
    assert_ok(cairn_backend_put(b, PACK_B, "bbbbb", 5, CAIRN_LEVEL_NONE, &error));
    assert_ok(cairn_backend_list(b, "", note, &seen, &error));
    assert_int_equal(seen.count, 5);
    assert_true(has(&seen, "config", 1) && has(&seen, LOG0, 2) && has(&seen, PACK_A, 4) &&
                has(&seen, PACK_B, 5) && has(&seen, "log/0000000000000001", 3));
    seen = (struct seen){.count = 0};
    assert_ok(cairn_backend_list(b, "packs/", note, &seen, &error));
    assert_int_equal(seen.count, 2);
    assert_true(has(&seen, PACK_A, 4) && has(&seen, PACK_B, 5));
    seen = (struct seen){.count = 0};
    assert_ok(cairn_backend_list(b, "packs/0b/", note, &seen, &error));
    assert_int_equal(seen.count, 1);
    assert_true(has(&seen, PACK_B, 5));
    seen = (struct seen){.stop_with = CAIRN_CANCELLED};
    assert_int_equal(cairn_backend_list(b, "log/", note, &seen, &error), CAIRN_CANCELLED);
    assert_int_equal(seen.count, 1);
    seen = (struct seen){.remove_from = b};
    assert_ok(cairn_backend_list(b, "log/", note, &seen, &error));
    assert_int_equal(seen.count, 2);
    assert_int_equal(helper_count(b, "log/"), 0);
    assert_int_equal(helper_count(b, ""), 3);
    assert_int_equal(cairn_backend_remove(b, LOG0, &error), CAIRN_NOT_FOUND);
    assert_ok(cairn_backend_put(b, LOG0, "again", 5, CAIRN_LEVEL_NONE, &error));
}

static void test_remove_while_reading(void **state)
{
    struct cairn_backend *b = ((struct fixture *)*state)->backend;
    struct cairn_error error = {0};
    char part[2];
    assert_ok(cairn_backend_put(b, PACK_A, "aaaa", 4, CAIRN_LEVEL_NONE, &error));
    assert_ok(cairn_backend_get_range(b, PACK_A, 0, part, 2, &error));
    assert_ok(cairn_backend_remove(b, PACK_A, &error));
    assert_int_equal(cairn_backend_get_range(b, PACK_A, 0, part, 2, &error), CAIRN_NOT_FOUND);
    assert_ok(cairn_backend_put(b, PACK_A, "bbbb", 4, CAIRN_LEVEL_NONE, &error));
    assert_ok(cairn_backend_get_range(b, PACK_A, 0, part, 2, &error));
    assert_memory_equal(part, "bb", 2);
}

static const int levels[] = {CAIRN_LEVEL_NONE, CAIRN_LEVEL_METADATA, CAIRN_LEVEL_FILESYSTEM,
                             CAIRN_LEVEL_FILE};

static void test_uploads_of_every_size(void **state)
{
    static const size_t sizes[] = {0, 1, 4095, 4096, 4097, 65536, 300000, 2u << 20};
    struct cairn_backend *b = ((struct fixture *)*state)->backend;
    struct cairn_error error = {0};
    char name[CAIRN_BACKEND_NAME_MAX + 1];
    for (size_t l = 0; l < 4; l++) {
        for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
            int level = levels[l];
            unsigned seed = (unsigned)(l * 100 + i);
            (void)snprintf(name, sizeof(name), "packs/%02x/%064x", seed, seed);
            assert_ok(helper_upload(b, level, name, seed, sizes[i], 16384, &error));
            if (level <= CAIRN_LEVEL_METADATA)
                assert_int_equal(helper_holds(b, name, seed, sizes[i]), 1);
            if (i % 2 == 0)
                continue; /* two uploads to a publish */
            assert_ok(cairn_backend_publish(b, &level, &error));
            assert_true(level == levels[l] ||
                        (levels[l] == CAIRN_LEVEL_FILESYSTEM && level == CAIRN_LEVEL_FILE));
            assert_int_equal(helper_holds(b, name, seed, sizes[i]), 1);
            assert_ok(cairn_backend_sync_object(b, name, &error));
        }
    }
    assert_int_equal(helper_count(b, "packs/"), 32);
}

static void test_upload_of_an_existing_name(void **state)
{
    struct cairn_backend *b = ((struct fixture *)*state)->backend;
    struct cairn_error error = {0};
    for (size_t l = 0; l < 4; l++) {
        int level = levels[l];
        assert_ok(helper_upload(b, level, PACK_A, 7, 3 * BLOCK, BLOCK, &error));
        assert_ok(helper_upload(b, level, PACK_A, 7, 3 * BLOCK, BLOCK, &error));
        assert_ok(cairn_backend_publish(b, &level, &error));
        assert_int_equal(helper_holds(b, PACK_A, 7, 3 * BLOCK), 1);
    }
    assert_int_equal(helper_count(b, ""), 1);
}

static void test_levels_mixed(void **state)
{
    struct cairn_backend *b = ((struct fixture *)*state)->backend;
    struct cairn_error error = {0};
    char name[CAIRN_BACKEND_NAME_MAX + 1];
    int level = CAIRN_LEVEL_FILESYSTEM;
    for (unsigned i = 0; i < 40; i++) {
        (void)snprintf(name, sizeof(name), "packs/%02x/%064x", i % 5, i);
        assert_ok(helper_upload(b, levels[i % 4], name, i, BLOCK * (1 + i % 7), BLOCK, &error));
    }
    assert_ok(cairn_backend_publish(b, &level, &error));
    for (unsigned i = 0; i < 40; i++) {
        (void)snprintf(name, sizeof(name), "packs/%02x/%064x", i % 5, i);
        assert_int_equal(helper_holds(b, name, i, BLOCK * (1 + i % 7)), 1);
    }
    assert_ok(cairn_backend_publish(b, &level, &error));
}

static void test_aborted_upload(void **state)
{
    struct cairn_backend *b = ((struct fixture *)*state)->backend;
    struct cairn_error error = {0};
    struct cairn_upload *upload;
    uint8_t *bytes = helper_bytes(1, 8 * BLOCK);
    int level = CAIRN_LEVEL_FILESYSTEM;
    for (size_t l = 0; l < 4; l++) {
        assert_ok(cairn_backend_upload_open(b, levels[l], &upload, &error));
        for (size_t i = 0; i < 8; i++)
            assert_ok(cairn_backend_upload_submit(upload, bytes + i * BLOCK, BLOCK, bytes, &error));
        cairn_backend_upload_abort(upload);
    }
    cairn_backend_upload_abort(NULL);
    assert_ok(cairn_backend_publish(b, &level, &error));
    assert_int_equal(helper_count(b, ""), 0);
    cairn_free(bytes);
}

static void test_upload_misuse(void **state)
{
    struct cairn_backend *b = ((struct fixture *)*state)->backend;
    struct cairn_error error = {0};
    struct cairn_upload *upload;
    uint8_t *bytes = helper_bytes(1, 2 * BLOCK);
    void *token;
    /* Not reaped. */
    assert_ok(cairn_backend_upload_open(b, CAIRN_LEVEL_NONE, &upload, &error));
    assert_ok(cairn_backend_upload_submit(upload, bytes, BLOCK, bytes, &error));
    assert_int_equal(cairn_backend_upload_finish(upload, PACK_A, &error), CAIRN_MISUSE);
    /* A piece behind the last one, an empty one, one without token. */
    assert_ok(cairn_backend_upload_open(b, CAIRN_LEVEL_NONE, &upload, &error));
    assert_int_equal(cairn_backend_upload_submit(upload, bytes, 0, bytes, NULL), CAIRN_MISUSE);
    assert_int_equal(cairn_backend_upload_submit(upload, bytes, 1, NULL, NULL), CAIRN_MISUSE);
    assert_ok(cairn_backend_upload_submit(upload, bytes, 100, bytes, &error));
    assert_int_equal(cairn_backend_upload_submit(upload, bytes, BLOCK, bytes, &error),
                     CAIRN_MISUSE);
    assert_ok(cairn_backend_upload_reap(upload, &token, &error));
    assert_ptr_equal(token, bytes);
    assert_ok(cairn_backend_upload_finish(upload, PACK_A, &error));
    assert_int_equal(helper_holds(b, PACK_A, 1, 100), 1);
    assert_int_equal(helper_count(b, ""), 1);
    cairn_free(bytes);
}

static void test_interleaved_uploads(void **state)
{
    struct cairn_backend *b = ((struct fixture *)*state)->backend;
    struct cairn_error error = {0};
    struct cairn_upload *one, *two;
    uint8_t *a = helper_bytes(1, 4 * BLOCK), *c = helper_bytes(2, 4 * BLOCK);
    void *token;
    int level = CAIRN_LEVEL_FILE;
    assert_ok(cairn_backend_upload_open(b, level, &one, &error));
    assert_ok(cairn_backend_upload_open(b, level, &two, &error));
    for (size_t i = 0; i < 4; i++) {
        assert_ok(cairn_backend_upload_submit(one, a + i * BLOCK, BLOCK, a + i * BLOCK, &error));
        assert_ok(cairn_backend_upload_submit(two, c + i * BLOCK, BLOCK, c + i * BLOCK, &error));
    }
    for (size_t i = 0; i < 4; i++) {
        assert_ok(cairn_backend_upload_reap(two, &token, &error));
        assert_in_range((uintptr_t)token, (uintptr_t)c, (uintptr_t)c + 3 * BLOCK);
        assert_ok(cairn_backend_upload_reap(one, &token, &error));
        assert_in_range((uintptr_t)token, (uintptr_t)a, (uintptr_t)a + 3 * BLOCK);
    }
    assert_ok(cairn_backend_upload_finish(two, PACK_B, &error));
    assert_ok(cairn_backend_upload_finish(one, PACK_A, &error));
    assert_ok(cairn_backend_publish(b, &level, &error));
    assert_int_equal(helper_holds(b, PACK_A, 1, 4 * BLOCK), 1);
    assert_int_equal(helper_holds(b, PACK_B, 2, 4 * BLOCK), 1);
    cairn_free(a);
    cairn_free(c);
}

static int never(void *ctx, const char *temp_name, uint64_t size, char *name, bool *keep,
                 struct cairn_error *err)
{
    (void)ctx;
    (void)temp_name;
    (void)size;
    (void)name;
    (void)keep;
    (void)err;
    fail_msg("nothing was left behind");
    return CAIRN_OK;
}

static void test_small_things(void **state)
{
    struct cairn_backend *b = ((struct fixture *)*state)->backend;
    struct cairn_error error = {0};
    bool found = false;
    assert_ok(cairn_backend_adopt(b, never, NULL, &found, &error));
    assert_int_equal(cairn_backend_sync_object(b, PACK_A, &error), CAIRN_NOT_FOUND);
    assert_true(cairn_backend_free_space(b) > 0);
    assert_non_null(b->ops->kind);
    cairn_backend_close(NULL);
}

#define RACERS 4
#define ROUNDS 40

struct racer {
    struct cairn_backend *backend;
    unsigned me;
    int won[ROUNDS];
    int bad;
};

static void *race(void *ctx)
{
    struct racer *racer = ctx;
    char name[32];
    uint32_t content[64];
    for (size_t i = 0; i < 64; i++)
        content[i] = racer->me;
    for (unsigned i = 0; i < ROUNDS; i++) {
        (void)snprintf(name, sizeof(name), "log/%016x", i);
        int status = cairn_backend_put(racer->backend, name, content, sizeof(content),
                                       CAIRN_LEVEL_NONE, NULL);
        racer->won[i] = status == CAIRN_OK;
        racer->bad += status != CAIRN_OK && status != CAIRN_EXISTS;
        racer->bad += cairn_backend_get_range(racer->backend, name, 4, &content[0], 4, NULL) != 0;
        content[0] = racer->me;
    }
    return NULL;
}

static void test_put_race_of_threads(void **state)
{
    struct cairn_backend *b = ((struct fixture *)*state)->backend;
    struct racer racers[RACERS];
    pthread_t threads[RACERS];
    char name[32];
    uint32_t content[64];
    memset(racers, 0, sizeof(racers));
    for (unsigned i = 0; i < RACERS; i++) {
        racers[i].backend = b;
        racers[i].me = i;
        assert_int_equal(pthread_create(&threads[i], NULL, race, &racers[i]), 0);
    }
    for (unsigned i = 0; i < RACERS; i++)
        pthread_join(threads[i], NULL);
    for (unsigned i = 0; i < ROUNDS; i++) {
        unsigned wins = 0, winner = 0;
        for (unsigned r = 0; r < RACERS; r++) {
            assert_int_equal(racers[r].bad, 0);
            wins += (unsigned)racers[r].won[i];
            if (racers[r].won[i])
                winner = r;
        }
        assert_int_equal(wins, 1);
        (void)snprintf(name, sizeof(name), "log/%016x", i);
        assert_int_equal(cairn_backend_get_range(b, name, 0, content, sizeof(content), NULL), 0);
        for (size_t k = 0; k < 64; k++)
            assert_int_equal(content[k], winner);
    }
}

struct uploader {
    struct cairn_backend *backend;
    unsigned me;
    int bad;
};

/* Without the helpers, which may end the test only in its own thread. */
static void *upload_many(void *ctx)
{
    struct uploader *u = ctx;
    char name[CAIRN_BACKEND_NAME_MAX + 1];
    for (unsigned i = 0; i < 12; i++) {
        struct cairn_upload *upload;
        int level = levels[i % 4];
        void *token;
        uint8_t *bytes = cairn_alloc_aligned(BLOCK, BLOCK);
        memset(bytes, (int)(u->me * 16 + i), BLOCK);
        (void)snprintf(name, sizeof(name), "packs/%02x/%064x", i, u->me * 16 + i);
        int status = cairn_backend_upload_open(u->backend, level, &upload, NULL);
        if (status == CAIRN_OK) {
            u->bad += cairn_backend_upload_submit(upload, bytes, BLOCK, bytes, NULL) != 0;
            u->bad += cairn_backend_upload_reap(upload, &token, NULL) != 0;
            u->bad += cairn_backend_upload_finish(upload, name, NULL) != 0;
        }
        u->bad += status != CAIRN_OK;
        u->bad += i % 3 == 2 && cairn_backend_publish(u->backend, &level, NULL) != 0;
        cairn_free(bytes);
    }
    return NULL;
}

static void test_uploads_of_threads(void **state)
{
    struct cairn_backend *b = ((struct fixture *)*state)->backend;
    struct uploader uploaders[RACERS];
    pthread_t threads[RACERS];
    char name[CAIRN_BACKEND_NAME_MAX + 1];
    for (unsigned i = 0; i < RACERS; i++) {
        uploaders[i] = (struct uploader){.backend = b, .me = i};
        assert_int_equal(pthread_create(&threads[i], NULL, upload_many, &uploaders[i]), 0);
    }
    for (unsigned i = 0; i < RACERS; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(uploaders[i].bad, 0);
    }
    for (unsigned i = 0; i < RACERS * 12; i++) {
        uint8_t bytes[BLOCK];
        unsigned me = i / 12, n = i % 12;
        (void)snprintf(name, sizeof(name), "packs/%02x/%064x", n, me * 16 + n);
        assert_int_equal(cairn_backend_get_range(b, name, 0, bytes, BLOCK, NULL), 0);
        for (size_t k = 0; k < BLOCK; k++)
            assert_int_equal(bytes[k], me * 16 + n);
    }
    assert_int_equal(helper_count(b, "packs/"), RACERS * 12);
}

#define TESTS(setup)                                                                               \
    {                                                                                              \
        cmocka_unit_test_setup_teardown(test_put_and_get, setup, tear_down),                       \
            cmocka_unit_test_setup_teardown(test_put_keeps_what_exists, setup, tear_down),         \
            cmocka_unit_test_setup_teardown(test_bad_names, setup, tear_down),                     \
            cmocka_unit_test_setup_teardown(test_list_and_remove, setup, tear_down),               \
            cmocka_unit_test_setup_teardown(test_remove_while_reading, setup, tear_down),          \
            cmocka_unit_test_setup_teardown(test_uploads_of_every_size, setup, tear_down),         \
            cmocka_unit_test_setup_teardown(test_upload_of_an_existing_name, setup, tear_down),    \
            cmocka_unit_test_setup_teardown(test_levels_mixed, setup, tear_down),                  \
            cmocka_unit_test_setup_teardown(test_aborted_upload, setup, tear_down),                \
            cmocka_unit_test_setup_teardown(test_upload_misuse, setup, tear_down),                 \
            cmocka_unit_test_setup_teardown(test_interleaved_uploads, setup, tear_down),           \
            cmocka_unit_test_setup_teardown(test_small_things, setup, tear_down),                  \
            cmocka_unit_test_setup_teardown(test_put_race_of_threads, setup, tear_down),           \
            cmocka_unit_test_setup_teardown(test_uploads_of_threads, setup, tear_down),            \
    }

int main(void)
{
    const struct CMUnitTest memory[] = TESTS(set_up_memory);
    const struct CMUnitTest fault[] = TESTS(set_up_fault);
    const struct CMUnitTest local[] = TESTS(set_up_local);
    const struct CMUnitTest plain[] = TESTS(set_up_plain);
    const struct CMUnitTest shm[] = TESTS(set_up_shm);
    int before = helper_open_files();
    int failures = cmocka_run_group_tests_name("memory", memory, NULL, NULL);
    failures += cmocka_run_group_tests_name("fault", fault, NULL, NULL);
    failures += cmocka_run_group_tests_name("local", local, NULL, NULL);
    failures += cmocka_run_group_tests_name("local without io_uring", plain, NULL, NULL);
    failures += cmocka_run_group_tests_name("local in memory", shm, NULL, NULL);
    if (helper_open_files() != before) {
        (void)fprintf(stderr, "descriptors leaked: %d before, %d after\n", before,
                      helper_open_files());
        failures++;
    }
    return failures != 0;
}
