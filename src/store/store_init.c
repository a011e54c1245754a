/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/random.h"
#include "crypto/slot.h"
#include "store/store_internal.h"

/* Makes a slot for each secret that the credentials offer. */
static int add_slots(struct cairn_store *store, const struct cairn_credentials *credentials,
                     const uint8_t root[CAIRN_KEY_BYTES], struct cairn_buf *records,
                     struct cairn_error *err)
{
    struct cairn_id name;
    int status = CAIRN_OK;
    uint8_t record[33] = {1};
    if (credentials->key_file_key == NULL && credentials->password == NULL)
        return cairn_error_set(err, CAIRN_MISUSE, 0,
                               "an encrypted repository needs a password or a key file");
    if (credentials->key_file_key) {
        status = cairn_store_add_slot(store, CAIRN_SLOT_KEY_FILE, credentials->key_file_key,
                                      CAIRN_KEY_BYTES, root, &name, err);
        memcpy(record + 1, name.bytes, 32);
        if (status == CAIRN_OK)
            cairn_log_put_bytes(records, CAIRN_LOG_KEY, record, sizeof(record));
    }
    if (status == CAIRN_OK && credentials->password) {
        char password[1024];
        size_t len = 0;
        status = credentials->password(credentials->password_ctx, password, sizeof(password), &len);
        if (status != CAIRN_OK)
            return cairn_error_set(err, status, 0, "no password was given");
        if (len == 0)
            status = cairn_error_set(err, CAIRN_MISUSE, 0, "the password is empty");
        else
            status =
                cairn_store_add_slot(store, CAIRN_SLOT_PASSWORD, password, len, root, &name, err);
        cairn_wipe(password, sizeof(password));
        memcpy(record + 1, name.bytes, 32);
        if (status == CAIRN_OK)
            cairn_log_put_bytes(records, CAIRN_LOG_KEY, record, sizeof(record));
    }
    return status;
}

static int check_init(const struct cairn_store_init *init, struct cairn_error *err)
{
    bool is_power = init->chunk_avg && (init->chunk_avg & (init->chunk_avg - 1)) == 0;
    if (!is_power || init->chunk_avg < 65536 || init->chunk_avg > 4u << 20)
        return cairn_error_set(err, CAIRN_MISUSE, 0,
                               "the chunk size must be a power of two from 64K to 4M");
    if (init->chunker != CAIRN_CHUNKER_FIXED && init->chunker != CAIRN_CHUNKER_DYNAMIC)
        return cairn_error_set(err, CAIRN_MISUSE, 0, "there is no chunker %d", init->chunker);
    return CAIRN_OK;
}

/* Writes config last: until it is there, nothing at this place is a repository. */
static int create(struct cairn_store *store, const struct cairn_store_options *options,
                  const struct cairn_store_init *init, struct cairn_error *err)
{
    uint8_t root[CAIRN_KEY_BYTES] = {0}, config[CAIRN_HEADER_BYTES];
    struct cairn_buf records = CAIRN_BUF_INIT, slots = CAIRN_BUF_INIT;
    bool is_fixed = init->chunker == CAIRN_CHUNKER_FIXED;
    struct cairn_genesis genesis = {
        .chunker = (uint16_t)init->chunker,
        .chunk_avg = init->chunk_avg,
        .chunk_min = is_fixed ? init->chunk_avg : init->chunk_avg / 4,
        .chunk_max = is_fixed ? init->chunk_avg : init->chunk_avg * 4,
        .level = (uint8_t)(init->level ? init->level : CAIRN_LEVEL_FILESYSTEM),
    };
    struct cairn_identity *id = &store->identity;
    id->epoch = 1;
    id->aead = init->aead;
    id->hash = init->aead == CAIRN_AEAD_NONE ? CAIRN_HASH_PLAIN : CAIRN_HASH_KEYED;
    int status = cairn_random_bytes(id->repository, sizeof(id->repository), err);
    if (status == CAIRN_OK && id->aead != CAIRN_AEAD_NONE)
        status = cairn_random_bytes(root, sizeof(root), err);
    if (status == CAIRN_OK)
        status = cairn_header_make(config, CAIRN_OBJECT_CONFIG, id, err);
    if (status == CAIRN_OK)
        status = cairn_aead_new(id->aead, &store->aead, err);
    if (status == CAIRN_OK && id->aead != CAIRN_AEAD_NONE)
        status = add_slots(store, options->credentials, root, &slots, err);
    if (status == CAIRN_OK) {
        cairn_keys_derive(&store->keys, root, id->repository, id->epoch);
        cairn_hash(&genesis.config, config, sizeof(config));
        cairn_log_put_genesis(&records, &genesis);
        cairn_buf_put(&records, slots.data, slots.len);
        status = cairn_buf_check(&records, "a log entry", err);
    }
    if (status == CAIRN_OK)
        status = cairn_store_append(store, &records, NULL, NULL, err);
    if (status == CAIRN_OK)
        status = cairn_backend_put(store->backend, "config", config, sizeof(config),
                                   CAIRN_LEVEL_FILE, err);
    cairn_wipe(root, sizeof(root));
    cairn_buf_release(&records);
    cairn_buf_release(&slots);
    return status;
}

int cairn_store_init(const struct cairn_store_options *options, const struct cairn_store_init *init,
                     struct cairn_store **out, struct cairn_error *err)
{
    struct cairn_store *store = NULL;
    uint64_t size;
    int status = cairn_store_make(options, &store, err);
    if (status != CAIRN_OK)
        return status;
    status = check_init(init, err);
    if (status == CAIRN_OK) {
        status = cairn_backend_size(store->backend, "config", &size, err);
        if (status == CAIRN_OK)
            status = cairn_error_set(err, CAIRN_EXISTS, 0, "there is a repository at %s already",
                                     store->location);
        else if (status == CAIRN_NOT_FOUND)
            status = create(store, options, init, err);
    }
    if (status == CAIRN_OK)
        (void)cairn_pin_write(store, NULL);
    if (status == CAIRN_OK)
        *out = store;
    else
        cairn_store_close(store);
    return status;
}
