/* SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"
#include "base/error.h"
#include "store/store_internal.h"

int cairn_store_read_config(struct cairn_store *store, struct cairn_id *hash,
                            struct cairn_error *err)
{
    struct cairn_buf config = CAIRN_BUF_INIT;
    int status = cairn_backend_get(store->backend, "config", 4096, &config, err);
    if (status == CAIRN_NOT_FOUND)
        status = cairn_error_set(err, CAIRN_NO_REPOSITORY, 0,
                                 "there is no repository at %s; `cairn init` makes one",
                                 store->location);
    if (status == CAIRN_OK)
        status = cairn_header_identity(config.data, config.len, &store->identity, &store->read_only,
                                       err);
    if (status == CAIRN_OK)
        cairn_hash(hash, config.data, config.len);
    cairn_buf_release(&config);
    return status;
}

int cairn_store_make(const struct cairn_store_options *options, struct cairn_store **out,
                     struct cairn_error *err)
{
    struct cairn_store *store = cairn_alloc_zero(1, sizeof(*store));
    if (store == NULL) {
        cairn_backend_close(options->backend);
        return cairn_error_no_memory(err, "a repository");
    }
    store->backend = options->backend;
    cairn_index_init(&store->index);
    store->location = cairn_strdup(options->location ? options->location : "(memory)");
    store->cache_dir = cairn_strdup(options->cache_dir);
    store->state_dir = cairn_strdup(options->state_dir);
    if (store->location == NULL || (options->cache_dir && store->cache_dir == NULL) ||
        (options->state_dir && store->state_dir == NULL)) {
        cairn_store_close(store);
        return cairn_error_no_memory(err, "a repository");
    }
    *out = store;
    return CAIRN_OK;
}

/* A removed slot that somebody put back opens the key, but it is not to be used. */
static int check_slot(const struct cairn_store *store, struct cairn_error *err)
{
    for (size_t i = 0; i < store->log.removed_slot_count; i++) {
        if (cairn_id_is_equal(&store->log.removed_slots[i], &store->slot))
            return cairn_error_set(err, CAIRN_AUTH, 0,
                                   "this key slot of %s was removed and has been put back: use "
                                   "another password or key file",
                                   store->location);
    }
    return CAIRN_OK;
}

int cairn_store_open(const struct cairn_store_options *options, struct cairn_store **out,
                     struct cairn_error *err)
{
    struct cairn_store *store = NULL;
    struct cairn_id config;
    int status = cairn_store_make(options, &store, err);
    if (status != CAIRN_OK)
        return status;
    status = cairn_store_read_config(store, &config, err);
    /* Before the password is asked for: a store that turned encryption off shall not get it. */
    if (status == CAIRN_OK)
        status = cairn_pin_check_config(store, err);
    if (status == CAIRN_OK)
        status = cairn_store_unlock(store, options->credentials, err);
    if (status == CAIRN_OK)
        status = cairn_aead_new(store->identity.aead, &store->aead, err);
    if (status == CAIRN_OK)
        status = cairn_store_load_log(store, err);
    if (status == CAIRN_OK && !cairn_id_is_equal(&config, &store->log.genesis.config))
        status = cairn_error_set(
            err, CAIRN_UNTRUSTED, 0,
            "the object config of %s is not the one the repository was made with", store->location);
    if (status == CAIRN_OK)
        status = check_slot(store, err);
    if (status == CAIRN_OK)
        status = cairn_pin_check(store, err);
    if (status == CAIRN_OK)
        status = cairn_store_load_index(store, err);
    if (status == CAIRN_OK)
        (void)cairn_pin_write(store, NULL);
    if (status == CAIRN_OK)
        *out = store;
    else
        cairn_store_close(store);
    return status;
}
