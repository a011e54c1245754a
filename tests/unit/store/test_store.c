/* SPDX-License-Identifier: Apache-2.0
 *
 * A repository over the memory backend: round trips with every cipher, deduplication, several
 * sessions, checkpoints, and every bit of every object flipped.
 */
#include "test.h"

#include "backend/memory.h"
#include "base/alloc.h"
#include "store/store.h"

static const uint8_t key_file_key[32] = {1, 2, 3};
static const struct cairn_credentials credentials = {.key_file_key = key_file_key};

static struct cairn_store *make(int aead, struct cairn_backend **backend)
{
    struct cairn_store_options options = {.credentials = &credentials};
    const struct cairn_store_init init = {
        .aead = aead, .chunker = CAIRN_CHUNKER_DYNAMIC, .chunk_avg = 1 << 20};
    struct cairn_store *store = NULL;
    struct cairn_error err = {0};
    assert_int_equal(cairn_memory_backend_new(&options.backend, &err), CAIRN_OK);
    *backend = options.backend;
    int status = cairn_store_init(&options, &init, &store, &err);
    if (status != CAIRN_OK)
        fail_msg("%s", err.message);
    return store;
}

/* Opens a copy of everything that is in a backend. */
static int reopen(struct cairn_backend *backend, struct cairn_store **store,
                  struct cairn_error *err)
{
    struct cairn_store_options options = {.credentials = &credentials};
    assert_int_equal(cairn_memory_backend_clone(backend, &options.backend, err), CAIRN_OK);
    return cairn_store_open(&options, store, err);
}

#define CONTENTS 40

/* Sizes from 1 byte to 3 MiB; every third compresses. */
static size_t content(size_t i, uint8_t *out)
{
    static const size_t sizes[] = {1,      100,    129,    4096,    70000,
                                   131072, 131073, 300000, 1 << 20, 3 << 20};
    size_t len = sizes[i % 10] + i / 10;
    test_fill(out, len, i + 1);
    if (i % 3 == 0)
        memset(out, 'a' + (int)(i % 26), len / 2 + 1);
    return len;
}

static struct cairn_id put_all(struct cairn_store *store, struct cairn_id ids[CONTENTS], int level,
                               struct cairn_session_stats *stats)
{
    struct cairn_session_options options = {.level = level};
    struct cairn_session *session = NULL;
    struct cairn_lane *lane = NULL, *metadata = NULL;
    struct cairn_error err = {0};
    struct cairn_id snapshot, id;
    static uint8_t buffer[4 << 20];
    int held;
    assert_int_equal(cairn_session_open(store, &options, &session, &err), CAIRN_OK);
    assert_int_equal(cairn_lane_new(session, CAIRN_KIND_DATA, 4 << 20, &lane, &err), CAIRN_OK);
    assert_int_equal(cairn_lane_new(session, CAIRN_KIND_METADATA, 4 << 20, &metadata, &err),
                     CAIRN_OK);
    for (size_t i = 0; i < CONTENTS; i++) {
        size_t len = content(i, buffer);
        assert_int_equal(cairn_lane_put(lane, buffer, len, &ids[i], NULL, &err), CAIRN_OK);
        assert_true(cairn_session_has(session, &ids[i]));
    }
    assert_int_equal(cairn_lane_put(metadata, "tree", 4, &id, NULL, &err), CAIRN_OK);
    int status = cairn_session_commit(session, "manifest", 8, &snapshot, &held, stats, &err);
    if (status != CAIRN_OK)
        fail_msg("%s", err.message);
    return snapshot;
}

static void expect_all(struct cairn_store *store, const struct cairn_id ids[CONTENTS])
{
    static uint8_t buffer[4 << 20];
    struct cairn_fetcher *fetcher = NULL;
    struct cairn_error err = {0};
    assert_int_equal(cairn_fetcher_new(store, 1 << 20, &fetcher, &err), CAIRN_OK);
    for (size_t round = 0; round < 2; round++) {
        for (size_t i = 0; i < CONTENTS; i++) {
            struct cairn_slice data;
            size_t len = content(i, buffer);
            int status = cairn_fetcher_get(fetcher, CAIRN_KIND_DATA, &ids[i], &data, &err);
            if (status != CAIRN_OK)
                fail_msg("content %zu: %s", i, err.message);
            assert_int_equal(data.len, len);
            assert_memory_equal(data.data, buffer, len);
        }
    }
    cairn_fetcher_free(fetcher);
}

static void what_is_put_is_got(void **state)
{
    const int ciphers[] = {CAIRN_AEAD_AES_256_GCM, CAIRN_AEAD_CHACHA20_POLY1305, CAIRN_AEAD_NONE};
    (void)state;
    for (size_t c = 0; c < 3; c++) {
        struct cairn_backend *backend;
        struct cairn_store *store = make(ciphers[c], &backend), *again = NULL;
        struct cairn_id ids[CONTENTS];
        struct cairn_session_stats stats;
        struct cairn_error err = {0};
        (void)put_all(store, ids, CAIRN_LEVEL_FILESYSTEM, &stats);
        assert_int_equal(stats.packs, 2);
        expect_all(store, ids);
        int status = reopen(backend, &again, &err);
        if (status != CAIRN_OK)
            fail_msg("%s", err.message);
        assert_int_equal(cairn_store_log(again)->snapshot_count, 1);
        expect_all(again, ids);
        /* The same content again stores nothing. */
        (void)put_all(again, ids, CAIRN_LEVEL_FILESYSTEM, &stats);
        assert_int_equal(stats.bytes_stored, 0);
        cairn_store_close(again);
        cairn_store_close(store);
    }
}

static void a_wrong_key_is_refused(void **state)
{
    struct cairn_backend *backend;
    struct cairn_store *store = make(CAIRN_AEAD_AES_256_GCM, &backend), *again = NULL;
    const uint8_t other[32] = {9};
    const struct cairn_credentials wrong = {.key_file_key = other};
    struct cairn_store_options options = {.credentials = &wrong};
    struct cairn_error err = {0};
    (void)state;
    assert_int_equal(cairn_memory_backend_clone(backend, &options.backend, &err), CAIRN_OK);
    assert_int_equal(cairn_store_open(&options, &again, &err), CAIRN_AUTH);
    cairn_store_close(store);
}

/* Two handles on one repository commit in turn; each sees the other's work. */
static void the_log_orders_two_writers(void **state)
{
    struct cairn_backend *backend;
    struct cairn_store *store = make(CAIRN_AEAD_AES_256_GCM, &backend);
    struct cairn_id ids[CONTENTS];
    struct cairn_session_stats stats;
    (void)state;
    for (int i = 0; i < 5; i++)
        (void)put_all(store, ids, CAIRN_LEVEL_NONE, &stats);
    /* Equal manifests are one snapshot. */
    assert_int_equal(cairn_store_log(store)->snapshot_count, 1);
    assert_int_equal(cairn_store_log(store)->next, 6);
    /* Committed at level none: weak, until a commit at a higher level raised them. */
    assert_int_equal(cairn_store_log(store)->weak_count, 2);
    (void)put_all(store, ids, CAIRN_LEVEL_FILE, &stats);
    assert_int_equal(cairn_store_log(store)->weak_count, 0);
    cairn_store_close(store);
}

static void a_checkpoint_carries_the_state(void **state)
{
    struct cairn_backend *backend;
    struct cairn_store *store = make(CAIRN_AEAD_NONE, &backend), *again = NULL;
    struct cairn_error err = {0};
    struct cairn_id ids[CONTENTS];
    struct cairn_session_stats stats;
    (void)state;
    (void)put_all(store, ids, CAIRN_LEVEL_NONE, &stats);
    for (uint32_t i = 0; i < CAIRN_LOG_CHECKPOINT_EVERY + 20; i++) {
        struct cairn_session_options options = {.level = CAIRN_LEVEL_NONE};
        struct cairn_session *session = NULL;
        struct cairn_id snapshot;
        int held;
        assert_int_equal(cairn_session_open(store, &options, &session, &err), CAIRN_OK);
        assert_int_equal(
            cairn_session_commit(session, &i, sizeof(i), &snapshot, &held, &stats, &err), CAIRN_OK);
    }
    assert_true(cairn_store_log(store)->checkpoint > 0);
    assert_int_equal(reopen(backend, &again, &err), CAIRN_OK);
    assert_int_equal(cairn_store_log(again)->snapshot_count,
                     cairn_store_log(store)->snapshot_count);
    assert_int_equal(cairn_store_log(again)->weak_count, 2);
    assert_int_equal(cairn_store_log(again)->next, cairn_store_log(store)->next);
    expect_all(again, ids);
    cairn_store_close(again);
    cairn_store_close(store);
}

struct flip {
    struct cairn_backend *backend;
    const struct cairn_id *ids;
    size_t undetected;
};

/* Opens the damaged repository and reads and verifies everything. true: the damage was noticed. */
static bool is_noticed(struct cairn_backend *backend, const struct cairn_id ids[CONTENTS])
{
    static uint8_t buffer[4 << 20];
    struct cairn_store *store = NULL;
    struct cairn_fetcher *fetcher = NULL;
    bool noticed = false;
    if (reopen(backend, &store, NULL) != CAIRN_OK)
        return true;
    assert_int_equal(cairn_fetcher_new(store, 0, &fetcher, NULL), CAIRN_OK);
    for (size_t i = 0; i < CONTENTS; i += 7) {
        struct cairn_slice data;
        int status = cairn_fetcher_get(fetcher, CAIRN_KIND_DATA, &ids[i], &data, NULL);
        if (status == CAIRN_OK) {
            size_t len = content(i, buffer);
            assert_int_equal(data.len, len);
            assert_memory_equal(data.data, buffer, len);
        }
    }
    const struct cairn_index *index = cairn_store_index(store);
    for (size_t r = 0; r < index->count && !noticed; r++) {
        for (size_t p = 0; p < index->runs[r]->pack_count && !noticed; p++) {
            struct cairn_run_pack pack;
            char name[CAIRN_BACKEND_NAME_MAX + 1];
            cairn_run_pack_at(index->runs[r], p, &pack);
            cairn_store_pack_name(name, &pack.name);
            noticed = cairn_fetcher_verify_pack(fetcher, name, pack.length, &pack.name, true, NULL,
                                                NULL, NULL, NULL) != CAIRN_OK;
        }
    }
    cairn_fetcher_free(fetcher);
    cairn_store_close(store);
    return noticed;
}

static int flip_object(void *ctx, const char *name, uint64_t size)
{
    struct flip *f = ctx;
    struct cairn_buf object = CAIRN_BUF_INIT;
    uint64_t step = size * 8 / 40 | 1;
    assert_int_equal(cairn_backend_get(f->backend, name, SIZE_MAX, &object, NULL), CAIRN_OK);
    for (uint64_t bit = 0; bit < size * 8; bit += bit < 1100 ? 37 : step) {
        struct cairn_backend *copy = NULL;
        assert_int_equal(cairn_memory_backend_clone(f->backend, &copy, NULL), CAIRN_OK);
        object.data[bit / 8] = (uint8_t)(object.data[bit / 8] ^ 1u << bit % 8);
        assert_int_equal(cairn_memory_backend_set(copy, name, object.data, object.len, NULL),
                         CAIRN_OK);
        object.data[bit / 8] = (uint8_t)(object.data[bit / 8] ^ 1u << bit % 8);
        if (!is_noticed(copy, f->ids)) {
            printf("bit %llu of %s is not noticed\n", (unsigned long long)bit, name);
            f->undetected++;
        }
        cairn_backend_close(copy);
    }
    cairn_buf_release(&object);
    return 0;
}

static void every_flipped_bit_is_noticed(void **state)
{
    struct cairn_backend *backend;
    struct cairn_store *store = make(CAIRN_AEAD_AES_256_GCM, &backend);
    struct cairn_id ids[CONTENTS];
    struct cairn_session_stats stats;
    (void)state;
    (void)put_all(store, ids, CAIRN_LEVEL_FILE, &stats);
    struct flip f = {.backend = backend, .ids = ids};
    struct cairn_backend *copy = NULL;
    assert_int_equal(cairn_memory_backend_clone(backend, &copy, NULL), CAIRN_OK);
    assert_int_equal(cairn_backend_list(copy, "", flip_object, &f, NULL), 0);
    cairn_backend_close(copy);
    assert_int_equal(f.undetected, 0);
    cairn_store_close(store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_put_is_got),
        cmocka_unit_test(a_wrong_key_is_refused),
        cmocka_unit_test(the_log_orders_two_writers),
        cmocka_unit_test(a_checkpoint_carries_the_state),
        cmocka_unit_test(every_flipped_bit_is_noticed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
