/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/hex.h"
#include "crypto/slot.h"
#include "store/store_internal.h"

int cairn_store_add_slot(struct cairn_store *store, int kind, const void *secret, size_t len,
                         const uint8_t root[CAIRN_KEY_BYTES], struct cairn_id *name,
                         struct cairn_error *err)
{
    uint8_t header[CAIRN_HEADER_BYTES];
    char hex[65], object_name[CAIRN_BACKEND_NAME_MAX + 1];
    struct cairn_buf object = CAIRN_BUF_INIT;
    struct cairn_slot slot = {
        .kind = kind,
        .cost = {CAIRN_KDF_MEMORY_KIB_DEFAULT, CAIRN_KDF_PASSES_DEFAULT, CAIRN_KDF_LANES_DEFAULT},
        .created = cairn_clock_wall_ns() / 1000000000,
    };
    int status = cairn_header_make(header, CAIRN_OBJECT_KEY_SLOT, &store->identity, err);
    if (status == CAIRN_OK)
        status =
            cairn_slot_make(header, &slot, store->identity.aead, secret, len, root, &object, err);
    if (status == CAIRN_OK) {
        struct cairn_id id;
        cairn_hash(&id, object.data, object.len);
        cairn_hex_encode(hex, id.bytes, sizeof(id.bytes));
        (void)snprintf(object_name, sizeof(object_name), "keys/%s", hex);
        status = cairn_backend_put(store->backend, object_name, object.data, object.len,
                                   CAIRN_LEVEL_FILE, err);
        if (status == CAIRN_OK)
            *name = id;
    }
    cairn_buf_release(&object);
    return status;
}

/* One attempt over all slots. */
struct attempt {
    struct cairn_store *store;
    const struct cairn_credentials *credentials;
    struct cairn_buf names; /* names of slot objects, NUL-terminated */
    uint8_t root[CAIRN_KEY_BYTES];
    char password[1024];
    size_t password_len;
    bool asked, opened;
    unsigned slots, damaged, password_slots, key_file_slots;
};

static int note_name(void *ctx, const char *name, uint64_t size)
{
    struct attempt *a = ctx;
    (void)size;
    cairn_buf_put(&a->names, name, strlen(name) + 1);
    return 0;
}

/* Reads one slot and tries what there is. AUTH and damage are counted, not returned: another slot
 * may open. */
static int try_slot(struct attempt *a, const char *name, int kind, struct cairn_error *err)
{
    struct cairn_store *store = a->store;
    struct cairn_buf object = CAIRN_BUF_INIT;
    struct cairn_slot slot;
    struct cairn_id hash;
    char hex[65];
    int status = cairn_backend_get(store->backend, name, CAIRN_SLOT_BYTES_MAX, &object, err);
    if (status == CAIRN_OK) {
        cairn_hash(&hash, object.data, object.len);
        cairn_hex_encode(hex, hash.bytes, sizeof(hash.bytes));
        if (strcmp(name + strlen("keys/"), hex) != 0)
            status = cairn_error_set(err, CAIRN_CORRUPT, 0, "the key slot %s is damaged", name);
    }
    if (status == CAIRN_OK)
        status = cairn_header_check(object.data, object.len, CAIRN_OBJECT_KEY_SLOT,
                                    &store->identity, name, err);
    if (status == CAIRN_OK)
        status = cairn_slot_parse(object.data, object.len, &slot, err);
    if (status != CAIRN_OK) {
        a->damaged += kind == CAIRN_SLOT_KEY_FILE; /* both passes meet it: count it in one */
        bool is_damage = status == CAIRN_CORRUPT || status == CAIRN_UNTRUSTED ||
                         status == CAIRN_UNSUPPORTED || status == CAIRN_LIMIT ||
                         status == CAIRN_NOT_FOUND;
        status = is_damage ? CAIRN_OK : status;
    } else if (slot.kind == kind && kind == CAIRN_SLOT_KEY_FILE) {
        a->key_file_slots++;
        if (a->credentials->key_file_key)
            status = cairn_slot_open(object.data, object.len, store->identity.aead,
                                     a->credentials->key_file_key, CAIRN_KEY_BYTES, a->root, err);
        a->opened = a->credentials->key_file_key && status == CAIRN_OK;
    } else if (slot.kind == kind) {
        a->password_slots++;
        if (a->credentials->password && !a->asked) {
            a->asked = true;
            status = a->credentials->password(a->credentials->password_ctx, a->password,
                                              sizeof(a->password), &a->password_len);
            if (status != CAIRN_OK)
                status = cairn_error_set(err, CAIRN_AUTH, 0, "no password was given");
        }
        if (status == CAIRN_OK && a->asked) {
            uint64_t begin = cairn_clock_monotonic_ns();
            status = cairn_slot_open(object.data, object.len, store->identity.aead, a->password,
                                     a->password_len, a->root, err);
            store->key_seconds += (double)(cairn_clock_monotonic_ns() - begin) / 1e9;
            a->opened = status == CAIRN_OK;
        }
    }
    cairn_buf_release(&object);
    if (a->opened)
        store->slot = hash;
    return status == CAIRN_AUTH && a->password_len > 0           ? CAIRN_OK
           : status == CAIRN_AUTH && kind == CAIRN_SLOT_KEY_FILE ? CAIRN_OK
                                                                 : status;
}

static int refuse(const struct attempt *a, struct cairn_error *err)
{
    const char *where = a->store->location;
    if (a->damaged > 0 && a->password_slots + a->key_file_slots == 0)
        return cairn_error_set(err, CAIRN_CORRUPT, 0, "every key slot of %s is damaged", where);
    if (a->password_slots + a->key_file_slots == 0)
        return cairn_error_set(err, CAIRN_CORRUPT, 0, "%s has no key slots", where);
    if (!a->asked && a->credentials->key_file_key == NULL)
        return cairn_error_set(err, CAIRN_AUTH, 0, "%s needs a %s", where,
                               a->password_slots ? "password: set CAIRN_PASSWORD or --password-file"
                                                 : "key file: give it with --key-file");
    if (!a->asked)
        return cairn_error_set(err, CAIRN_AUTH, 0, "the key file does not open %s", where);
    return cairn_error_set(err, CAIRN_AUTH, 0,
                           a->password_slots ? "wrong password for %s" : "no password opens %s",
                           where);
}

int cairn_store_unlock(struct cairn_store *store, const struct cairn_credentials *credentials,
                       struct cairn_error *err)
{
    static const struct cairn_credentials nothing;
    struct attempt a = {.store = store, .credentials = credentials ? credentials : &nothing};
    int status = CAIRN_OK;
    if (store->identity.aead != CAIRN_AEAD_NONE) {
        status = cairn_backend_list(store->backend, "keys/", note_name, &a, err);
        if (status == CAIRN_OK)
            status = cairn_buf_check(&a.names, "the key slots", err);
        /* Key files first: trying one costs nothing, and then no password is asked for. */
        for (int kind = CAIRN_SLOT_KEY_FILE; status == CAIRN_OK && kind >= CAIRN_SLOT_PASSWORD;
             kind--) {
            for (size_t at = 0; status == CAIRN_OK && !a.opened && at < a.names.len;) {
                const char *name = (const char *)a.names.data + at;
                status = try_slot(&a, name, kind, err);
                at += strlen(name) + 1;
            }
        }
        if (status == CAIRN_OK && !a.opened)
            status = refuse(&a, err);
    }
    if (status == CAIRN_OK)
        cairn_keys_derive(&store->keys, a.root, store->identity.repository, store->identity.epoch);
    cairn_wipe(a.root, sizeof(a.root));
    cairn_wipe(a.password, sizeof(a.password));
    cairn_buf_release(&a.names);
    return status;
}
