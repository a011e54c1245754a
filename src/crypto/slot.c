/* SPDX-License-Identifier: Apache-2.0 */
#include "crypto/slot.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/random.h"
#include "base/reader.h"
#include "crypto/aead.h"

enum {
    AT_SALT = 144,
    AT_COMMITMENT = 184,
    AT_WRAPPED = 216,
    AT_LABEL = 264,
    WRAPPED_BYTES = CAIRN_KEY_BYTES + CAIRN_AEAD_TAG_BYTES
};

int cairn_slot_parse(const uint8_t *bytes, size_t len, struct cairn_slot *out,
                     struct cairn_error *err)
{
    struct cairn_reader reader;
    cairn_reader_init(&reader, bytes, len);
    (void)cairn_reader_take(&reader, CAIRN_SLOT_HEADER_BYTES);
    struct cairn_slot slot = {0};
    slot.kind = cairn_reader_u16(&reader);
    int derivation = cairn_reader_u16(&reader);
    slot.cost.memory_kib = cairn_reader_u32(&reader);
    slot.cost.passes = cairn_reader_u32(&reader);
    slot.cost.lanes = cairn_reader_u32(&reader);
    (void)cairn_reader_take(&reader, 32);
    slot.created = (int64_t)cairn_reader_u64(&reader);
    (void)cairn_reader_take(&reader, AT_LABEL - AT_COMMITMENT);
    size_t label_len = cairn_reader_u16(&reader);
    if (label_len > sizeof(slot.label) - 1)
        return cairn_error_set(err, CAIRN_CORRUPT, 0, "a key slot's label is too long");
    cairn_reader_copy(&reader, slot.label, label_len);
    if (!cairn_reader_is_done(&reader))
        return cairn_error_set(err, CAIRN_CORRUPT, 0, "a key slot has the wrong length");
    if ((slot.kind != CAIRN_SLOT_PASSWORD || derivation != 1) &&
        (slot.kind != CAIRN_SLOT_KEY_FILE || derivation != 0))
        return cairn_error_set(err, CAIRN_UNSUPPORTED, 0,
                               "a key slot of kind %d, derivation %d is unknown to this version",
                               slot.kind, derivation);
    *out = slot;
    return CAIRN_OK;
}

/* Derives commitment and wrap key from the slot's first 184 bytes and the secret. */
static int derive(const uint8_t *bytes, const struct cairn_slot *slot, const void *secret,
                  size_t secret_len, uint8_t commitment[32], uint8_t wrap[CAIRN_KEY_BYTES],
                  struct cairn_error *err)
{
    uint8_t material[CAIRN_KEY_BYTES + AT_COMMITMENT];
    if (slot->kind == CAIRN_SLOT_PASSWORD) {
        int status =
            cairn_kdf_argon2id(material, secret, secret_len, bytes + AT_SALT, &slot->cost, err);
        if (status != CAIRN_OK)
            return status;
    } else {
        if (secret_len != CAIRN_KEY_BYTES)
            return cairn_error_set(err, CAIRN_MISUSE, 0, "a key file's key has 32 bytes");
        memcpy(material, secret, CAIRN_KEY_BYTES);
    }
    memcpy(material + CAIRN_KEY_BYTES, bytes, AT_COMMITMENT);
    cairn_hash_derive(commitment, "cairn 2026 format 1 slot commitment", material,
                      sizeof(material));
    cairn_hash_derive(wrap, "cairn 2026 format 1 slot wrap", material, sizeof(material));
    cairn_wipe(material, sizeof(material));
    return CAIRN_OK;
}

int cairn_slot_make(const uint8_t header[CAIRN_SLOT_HEADER_BYTES], const struct cairn_slot *slot,
                    int aead, const void *secret, size_t secret_len,
                    const uint8_t root[CAIRN_KEY_BYTES], struct cairn_buf *out,
                    struct cairn_error *err)
{
    uint8_t salt[32], commitment[32], wrap[CAIRN_KEY_BYTES], wrapped[WRAPPED_BYTES];
    static const uint8_t nonce[CAIRN_AEAD_NONCE_BYTES];
    bool is_password = slot->kind == CAIRN_SLOT_PASSWORD;
    struct cairn_aead_ctx *ctx = NULL;
    struct cairn_buf buf = CAIRN_BUF_INIT;
    int status = cairn_random_bytes(salt, sizeof(salt), err);
    if (status != CAIRN_OK)
        return status;
    cairn_buf_put(&buf, header, CAIRN_SLOT_HEADER_BYTES);
    cairn_buf_put_u16(&buf, (uint16_t)slot->kind);
    cairn_buf_put_u16(&buf, is_password ? 1 : 0);
    cairn_buf_put_u32(&buf, is_password ? slot->cost.memory_kib : 0);
    cairn_buf_put_u32(&buf, is_password ? slot->cost.passes : 0);
    cairn_buf_put_u32(&buf, is_password ? slot->cost.lanes : 0);
    cairn_buf_put(&buf, salt, sizeof(salt));
    cairn_buf_put_u64(&buf, (uint64_t)slot->created);
    status = cairn_buf_check(&buf, "a key slot", err);
    if (status == CAIRN_OK)
        status = derive(buf.data, slot, secret, secret_len, commitment, wrap, err);
    if (status == CAIRN_OK)
        status = cairn_aead_new(aead, &ctx, err);
    if (status == CAIRN_OK)
        status = cairn_aead_seal(ctx, wrap, nonce, NULL, 0, root, CAIRN_KEY_BYTES, wrapped, err);
    if (status == CAIRN_OK) {
        size_t label_len = strlen(slot->label);
        cairn_buf_put(&buf, commitment, sizeof(commitment));
        cairn_buf_put(&buf, wrapped, sizeof(wrapped));
        cairn_buf_put_u16(&buf, (uint16_t)label_len);
        cairn_buf_put(&buf, slot->label, label_len);
        status = cairn_buf_check(&buf, "a key slot", err);
    }
    if (status == CAIRN_OK) {
        cairn_buf_release(out);
        *out = buf;
    } else {
        cairn_buf_release(&buf);
    }
    cairn_aead_free(ctx);
    cairn_wipe(wrap, sizeof(wrap));
    return status;
}

int cairn_slot_open(const uint8_t *bytes, size_t len, int aead, const void *secret,
                    size_t secret_len, uint8_t root[CAIRN_KEY_BYTES], struct cairn_error *err)
{
    static const uint8_t nonce[CAIRN_AEAD_NONCE_BYTES];
    uint8_t wrap[CAIRN_KEY_BYTES], opened[CAIRN_KEY_BYTES];
    struct cairn_id want, have;
    struct cairn_slot slot;
    int status = cairn_slot_parse(bytes, len, &slot, err);
    if (status != CAIRN_OK)
        return status;
    status = derive(bytes, &slot, secret, secret_len, have.bytes, wrap, err);
    if (status != CAIRN_OK)
        return status;
    memcpy(want.bytes, bytes + AT_COMMITMENT, sizeof(want.bytes));
    struct cairn_aead_ctx *ctx = NULL;
    if (!cairn_id_is_equal(&want, &have))
        status = cairn_error_set(err, CAIRN_AUTH, 0, "the key slot does not open");
    if (status == CAIRN_OK)
        status = cairn_aead_new(aead, &ctx, err);
    if (status == CAIRN_OK)
        status = cairn_aead_open(ctx, wrap, nonce, NULL, 0, bytes + AT_WRAPPED, CAIRN_KEY_BYTES,
                                 opened, err);
    if (status == CAIRN_OK)
        memcpy(root, opened, CAIRN_KEY_BYTES);
    cairn_aead_free(ctx);
    cairn_wipe(wrap, sizeof(wrap));
    cairn_wipe(opened, sizeof(opened));
    return status;
}
