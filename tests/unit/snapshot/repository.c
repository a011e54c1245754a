/* SPDX-License-Identifier: Apache-2.0 */
#include "repository.h"

#include "backend/memory.h"

static const uint8_t key_file_key[32] = {1, 2, 3};
static const struct cairn_credentials credentials = {.key_file_key = key_file_key};

void repository_begin(struct repository *r)
{
    struct cairn_store_options options = {.credentials = &credentials};
    const struct cairn_store_init init = {
        .aead = CAIRN_AEAD_AES_256_GCM, .chunker = CAIRN_CHUNKER_DYNAMIC, .chunk_avg = 1 << 20};
    const struct cairn_session_options session = {.level = CAIRN_LEVEL_NONE};
    struct cairn_error err = {0};
    *r = (struct repository){0};
    assert_int_equal(cairn_memory_backend_new(&options.backend, &err), CAIRN_OK);
    int status = cairn_store_init(&options, &init, &r->store, &err);
    if (status == CAIRN_OK)
        status = cairn_session_open(r->store, &session, &r->session, &err);
    if (status == CAIRN_OK)
        status = cairn_lane_new(r->session, CAIRN_KIND_METADATA, 1 << 20, &r->lane, &err);
    if (status != CAIRN_OK)
        fail_msg("%s", err.message);
}

void repository_commit(struct repository *r)
{
    struct cairn_session_stats stats;
    struct cairn_error err = {0};
    struct cairn_id snapshot;
    int level;
    int status = cairn_session_commit(r->session, "manifest", 8, &snapshot, &level, &stats, &err);
    r->session = NULL;
    r->lane = NULL;
    if (status == CAIRN_OK)
        status = cairn_fetcher_new(r->store, 8 << 20, &r->fetcher, &err);
    if (status != CAIRN_OK)
        fail_msg("%s", err.message);
}

void repository_end(struct repository *r)
{
    cairn_session_abort(r->session);
    cairn_fetcher_free(r->fetcher);
    cairn_store_close(r->store);
}

struct cairn_id repository_put(struct repository *r, const void *bytes, size_t len)
{
    struct cairn_id id;
    assert_int_equal(cairn_lane_put(r->lane, bytes, len, &id, NULL, NULL), CAIRN_OK);
    return id;
}

uint64_t repository_new_bytes(struct repository *r)
{
    struct cairn_session_stats stats;
    cairn_session_get_stats(r->session, &stats);
    return stats.metadata_new;
}
