/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/error.h"
#include "base/hex.h"
#include "store/store_internal.h"

int cairn_store_read_log_entry(struct cairn_store *store, uint64_t n, struct cairn_buf *object,
                               struct cairn_error *err)
{
    char name[CAIRN_BACKEND_NAME_MAX + 1];
    cairn_store_log_name(name, n);
    return cairn_backend_get(store->backend, name, CAIRN_LOG_ENTRY_BYTES_MAX, object, err);
}

static struct cairn_log_keys log_keys(struct cairn_store *store)
{
    return (struct cairn_log_keys){&store->identity, &store->keys, store->aead};
}

/* Reads and opens entry n. */
static int open_entry(struct cairn_store *store, uint64_t n, struct cairn_buf *object,
                      struct cairn_buf *plain, struct cairn_log_entry *entry, struct cairn_id *hash,
                      struct cairn_error *err)
{
    int status = cairn_store_read_log_entry(store, n, object, err);
    if (status != CAIRN_OK)
        return status;
    const struct cairn_log_keys keys = log_keys(store);
    cairn_hash(hash, object->data, object->len);
    return cairn_log_entry_open(&keys, n, object->data, object->len, plain, entry, err);
}

/* Applies entries from store->log.next on until one is absent. */
static int replay(struct cairn_store *store, struct cairn_buf *object, struct cairn_buf *plain,
                  struct cairn_error *err)
{
    for (;;) {
        struct cairn_log_entry entry;
        struct cairn_id hash;
        int status = open_entry(store, store->log.next, object, plain, &entry, &hash, err);
        if (status == CAIRN_NOT_FOUND)
            return CAIRN_OK;
        if (status == CAIRN_OK)
            status = cairn_log_state_apply(&store->log, &entry, &hash, &store->keys, err);
        if (status != CAIRN_OK)
            return status;
    }
}

struct last {
    bool any;
    uint64_t n;
};

static int note_last(void *ctx, const char *name, uint64_t size)
{
    struct last *last = ctx;
    uint8_t bytes[8];
    (void)size;
    if (strlen(name) != 20 || !cairn_hex_decode(bytes, name + 4, 8))
        return 0;
    uint64_t n = __builtin_bswap64(cairn_load_u64(bytes));
    if (!last->any || n > last->n)
        last->n = n;
    last->any = true;
    return 0;
}

/* Where replay begins: the listing tells how far the log reached, and that entry names the last
 * checkpoint below it. */
static int first_load(struct cairn_store *store, struct cairn_buf *object, struct cairn_buf *plain,
                      struct cairn_error *err)
{
    struct last last = {false, 0};
    struct cairn_log_entry entry;
    struct cairn_id hash;
    int status = cairn_backend_list(store->backend, "log/", note_last, &last, err);
    if (status != CAIRN_OK)
        return status;
    if (!last.any)
        return cairn_error_set(err, CAIRN_CORRUPT, 0, "the repository's log has no entries");
    uint64_t begin = last.n;
    status = open_entry(store, begin, object, plain, &entry, &hash, err);
    if (status == CAIRN_OK && !entry.is_checkpoint) {
        begin = entry.checkpoint;
        status = open_entry(store, begin, object, plain, &entry, &hash, err);
    }
    if (status == CAIRN_OK)
        status = cairn_log_state_apply(&store->log, &entry, &hash, &store->keys, err);
    if (status == CAIRN_OK)
        status = replay(store, object, plain, err);
    if (status == CAIRN_OK && store->log.next <= last.n)
        status = cairn_error_set(err, CAIRN_CORRUPT, 0,
                                 "log entry %llu is missing, although later ones exist",
                                 (unsigned long long)store->log.next);
    if (status == CAIRN_NOT_FOUND)
        status = cairn_error_set(err, CAIRN_CORRUPT, 0,
                                 "log entry %llu is missing, although later ones exist",
                                 (unsigned long long)begin);
    return status;
}

int cairn_store_load_log(struct cairn_store *store, struct cairn_error *err)
{
    struct cairn_buf object = CAIRN_BUF_INIT, plain = CAIRN_BUF_INIT;
    int status = store->log.has_genesis ? replay(store, &object, &plain, err)
                                        : first_load(store, &object, &plain, err);
    cairn_buf_release(&object);
    cairn_buf_release(&plain);
    return status;
}

/* Seals and puts one entry at log.next and applies it. EXISTS: somebody else wrote it. Entries are
 * durable at every level: half an entry under its name would be a repository that does not open. */
static int put_entry(struct cairn_store *store, const struct cairn_buf *records,
                     struct cairn_error *err)
{
    struct cairn_buf object = CAIRN_BUF_INIT, back = CAIRN_BUF_INIT;
    char name[CAIRN_BACKEND_NAME_MAX + 1];
    const struct cairn_log_keys keys = log_keys(store);
    cairn_store_log_name(name, store->log.next);
    int status = cairn_log_entry_seal(&keys, &store->log, records, &object, err);
    if (status == CAIRN_OK) {
        status = cairn_backend_put(store->backend, name, object.data, object.len,
                                   CAIRN_LEVEL_METADATA, err);
        /* The answer may have been lost on its way: what counts is what is there. */
        if (status == CAIRN_EXISTS &&
            cairn_backend_get(store->backend, name, CAIRN_LOG_ENTRY_BYTES_MAX, &back, NULL) ==
                CAIRN_OK &&
            back.len == object.len && memcmp(back.data, object.data, back.len) == 0)
            status = CAIRN_OK;
    }
    if (status == CAIRN_OK) {
        struct cairn_log_entry entry;
        struct cairn_id hash;
        cairn_hash(&hash, object.data, object.len);
        status = cairn_log_entry_open(&keys, store->log.next, object.data, object.len, &back,
                                      &entry, err);
        if (status == CAIRN_OK)
            status = cairn_log_state_apply(&store->log, &entry, &hash, &store->keys, err);
    }
    cairn_buf_release(&object);
    cairn_buf_release(&back);
    return status;
}

/* A checkpoint is a service to later readers: that somebody else was faster, or the disk is full,
 * does not concern the commit that was just made. */
static void put_checkpoint(struct cairn_store *store)
{
    if (store->log.next - store->log.checkpoint < CAIRN_LOG_CHECKPOINT_EVERY)
        return;
    struct cairn_buf records = CAIRN_BUF_INIT;
    cairn_log_put_checkpoint(&records, &store->log);
    if (!records.failed)
        (void)put_entry(store, &records, NULL);
    cairn_buf_release(&records);
}

int cairn_store_append(struct cairn_store *store, const struct cairn_buf *records,
                       int (*recheck)(void *ctx, struct cairn_error *err), void *ctx,
                       struct cairn_error *err)
{
    for (;;) {
        int status = recheck ? recheck(ctx, err) : CAIRN_OK;
        if (status == CAIRN_OK)
            status = put_entry(store, records, err);
        if (status == CAIRN_OK)
            break;
        if (status != CAIRN_EXISTS)
            return status;
        status = cairn_store_load_log(store, err);
        if (status != CAIRN_OK)
            return status;
    }
    put_checkpoint(store);
    return CAIRN_OK;
}
