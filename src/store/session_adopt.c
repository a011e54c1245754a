/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/error.h"
#include "base/hex.h"
#include "store/session_internal.h"

struct adoption {
    struct cairn_session *session;
    struct cairn_fetcher *fetcher;
};

/* A verified pack that no segment lists becomes part of this session. */
static int take(struct adoption *a, const struct cairn_id *name, uint64_t size, int type,
                struct cairn_pack_contents *contents, struct cairn_error *err)
{
    const struct cairn_log_pack record = {
        .name = *name, .length = size, .type = (uint8_t)type, .level = CAIRN_LEVEL_FILE};
    int status = cairn_session_add_closed(a->session, &record, contents, true, err);
    cairn_pack_contents_release(contents);
    return status;
}

/* An upload that a dead session left under a temporary name. What does not verify is dropped. */
static int consider_upload(void *ctx, const char *temp_name, uint64_t size, char *name, bool *keep,
                           struct cairn_error *err)
{
    struct adoption *a = ctx;
    struct cairn_pack_contents contents = {0};
    struct cairn_id id;
    int type = 0;
    *keep = false;
    int status = cairn_fetcher_verify_pack(a->fetcher, temp_name, size, NULL, true, &id, &contents,
                                           &type, NULL);
    if (status == CAIRN_NO_MEMORY || status == CAIRN_CANCELLED)
        return cairn_error_set(err, status, 0, "while looking at what an interrupted backup left");
    if (status != CAIRN_OK)
        return CAIRN_OK;
    if (cairn_index_has_pack(&a->session->store->index, &id)) {
        cairn_pack_contents_release(&contents);
        return CAIRN_OK;
    }
    status = take(a, &id, size, type, &contents, err);
    if (status == CAIRN_OK) {
        cairn_store_pack_name(name, &id);
        *keep = true;
    }
    return status;
}

/* A pack under its final name that no commit lists. */
static int consider_pack(void *ctx, const char *name, uint64_t size)
{
    struct adoption *a = ctx;
    struct cairn_store *store = a->session->store;
    struct cairn_pack_contents contents = {0};
    struct cairn_id id;
    const char *hex = strrchr(name, '/');
    int type = 0;
    if (hex == NULL || strlen(hex + 1) != 64 || !cairn_hex_decode(id.bytes, hex + 1, 32) ||
        cairn_index_has_pack(&store->index, &id))
        return 0;
    int status =
        cairn_fetcher_verify_pack(a->fetcher, name, size, &id, true, NULL, &contents, &type, NULL);
    if (status != CAIRN_OK)
        return 0;
    if (cairn_backend_sync_object(store->backend, name, NULL) != CAIRN_OK) {
        cairn_pack_contents_release(&contents);
        return 0;
    }
    return take(a, &id, size, type, &contents, NULL);
}

int cairn_session_adopt(struct cairn_session *session, struct cairn_error *err)
{
    struct adoption a = {.session = session};
    bool found = false;
    int status = cairn_fetcher_new(session->store, 0, &a.fetcher, err);
    if (status == CAIRN_OK)
        status = cairn_backend_adopt(session->store->backend, consider_upload, &a, &found, err);
    if (status == CAIRN_OK && found)
        status = cairn_backend_list(session->store->backend, "packs/", consider_pack, &a, err);
    cairn_fetcher_free(a.fetcher);
    return status;
}
