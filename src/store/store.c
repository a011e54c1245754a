/* SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"
#include "crypto/hash.h"
#include "store/store_internal.h"

void cairn_store_close(struct cairn_store *store)
{
    if (store == NULL)
        return;
    cairn_backend_close(store->backend);
    cairn_aead_free(store->aead);
    cairn_log_state_release(&store->log);
    cairn_index_release(&store->index);
    cairn_id_set_release(&store->loaded);
    cairn_free(store->location);
    cairn_free(store->cache_dir);
    cairn_free(store->state_dir);
    cairn_wipe(&store->keys, sizeof(store->keys));
    cairn_free(store);
}

const struct cairn_identity *cairn_store_identity(const struct cairn_store *store)
{
    return &store->identity;
}

const struct cairn_keys *cairn_store_keys(const struct cairn_store *store)
{
    return &store->keys;
}

const struct cairn_log_state *cairn_store_log(const struct cairn_store *store)
{
    return &store->log;
}

struct cairn_index *cairn_store_index(struct cairn_store *store)
{
    return &store->index;
}

struct cairn_backend *cairn_store_backend(struct cairn_store *store)
{
    return store->backend;
}

double cairn_store_key_seconds(const struct cairn_store *store)
{
    return store->key_seconds;
}

void cairn_store_cancel(struct cairn_store *store)
{
    atomic_store(&store->cancelled, true);
}

bool cairn_store_is_cancelled(const struct cairn_store *store)
{
    return atomic_load_explicit(&store->cancelled, memory_order_relaxed);
}

void cairn_store_chunk_id(const struct cairn_store *store, enum cairn_kind kind, const void *data,
                          size_t len, struct cairn_id *out)
{
    if (kind == CAIRN_KIND_METADATA)
        cairn_hash_keyed(out, store->keys.metadata_id, data, len);
    else if (store->identity.hash == CAIRN_HASH_PLAIN)
        cairn_hash(out, data, len);
    else
        cairn_hash_keyed(out, store->keys.data_id, data, len);
}
