/* SPDX-License-Identifier: Apache-2.0 */
#include "store/object.h"

#include <string.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/random.h"

static const uint8_t magic[8] = {0x63, 0x61, 0x69, 0x72, 0x6e, 0x0d, 0x0a, 0x1a};

enum {
    AT_TYPE = 8,
    AT_VERSION = 10,
    AT_LENGTH = 12,
    AT_READ_ONLY = 24,
    AT_INCOMPATIBLE = 32,
    AT_REPOSITORY = 40,
    AT_EPOCH = 56,
    AT_AEAD = 60,
    AT_HASH = 62,
    AT_SALT = 64,
    AT_SIGNER = 96
};

int cairn_header_make(uint8_t out[CAIRN_HEADER_BYTES], int type, const struct cairn_identity *id,
                      struct cairn_error *err)
{
    uint8_t salt[32];
    int status = cairn_random_bytes(salt, sizeof(salt), err);
    if (status != CAIRN_OK)
        return status;
    memset(out, 0, CAIRN_HEADER_BYTES);
    memcpy(out, magic, sizeof(magic));
    cairn_store_u16(out + AT_TYPE, (uint16_t)type);
    cairn_store_u16(out + AT_VERSION, CAIRN_FORMAT_VERSION);
    cairn_store_u32(out + AT_LENGTH, CAIRN_HEADER_BYTES);
    memcpy(out + AT_REPOSITORY, id->repository, sizeof(id->repository));
    cairn_store_u32(out + AT_EPOCH, id->epoch);
    cairn_store_u16(out + AT_AEAD, (uint16_t)id->aead);
    cairn_store_u16(out + AT_HASH, (uint16_t)id->hash);
    memcpy(out + AT_SALT, salt, sizeof(salt));
    return CAIRN_OK;
}

/* What holds for every object of format 1, whoever it belongs to. */
static int check_common(const uint8_t *bytes, size_t len, int type, const char *what,
                        struct cairn_error *err)
{
    if (len < CAIRN_HEADER_BYTES || memcmp(bytes, magic, sizeof(magic)) != 0)
        return cairn_error_set(err, CAIRN_CORRUPT, 0, "%s does not begin as a cairn object does",
                               what);
    if (cairn_load_u16(bytes + AT_VERSION) != CAIRN_FORMAT_VERSION)
        return cairn_error_set(err, CAIRN_UNSUPPORTED, 0,
                               "%s has format version %u; this cairn knows version %d: use a newer "
                               "cairn",
                               what, cairn_load_u16(bytes + AT_VERSION), CAIRN_FORMAT_VERSION);
    if (cairn_load_u64(bytes + AT_INCOMPATIBLE) != 0)
        return cairn_error_set(err, CAIRN_UNSUPPORTED, 0,
                               "%s uses features that this cairn does not know: use a newer cairn",
                               what);
    if (cairn_load_u16(bytes + AT_TYPE) != type)
        return cairn_error_set(err, CAIRN_CORRUPT, 0, "%s is an object of another type", what);
    if (cairn_load_u32(bytes + AT_LENGTH) != CAIRN_HEADER_BYTES)
        return cairn_error_set(err, CAIRN_CORRUPT, 0, "%s has a damaged header", what);
    for (size_t i = AT_SIGNER; i < CAIRN_HEADER_BYTES; i++) {
        if (bytes[i] != 0)
            return cairn_error_set(err, CAIRN_UNSUPPORTED, 0,
                                   "%s has reserved fields in use: use a newer cairn", what);
    }
    return CAIRN_OK;
}

int cairn_header_check(const uint8_t *bytes, size_t len, int type, const struct cairn_identity *id,
                       const char *what, struct cairn_error *err)
{
    int status = check_common(bytes, len, type, what, err);
    if (status != CAIRN_OK)
        return status;
    if (memcmp(bytes + AT_REPOSITORY, id->repository, sizeof(id->repository)) != 0 ||
        cairn_load_u32(bytes + AT_EPOCH) != id->epoch ||
        cairn_load_u16(bytes + AT_AEAD) != id->aead || cairn_load_u16(bytes + AT_HASH) != id->hash)
        return cairn_error_set(err, CAIRN_UNTRUSTED, 0,
                               "%s belongs to another repository or another cipher", what);
    return CAIRN_OK;
}

int cairn_header_identity(const uint8_t *bytes, size_t len, struct cairn_identity *out,
                          bool *read_only, struct cairn_error *err)
{
    int status = check_common(bytes, len, CAIRN_OBJECT_CONFIG, "the object config", err);
    if (status != CAIRN_OK)
        return status;
    struct cairn_identity id;
    memcpy(id.repository, bytes + AT_REPOSITORY, sizeof(id.repository));
    id.epoch = cairn_load_u32(bytes + AT_EPOCH);
    id.aead = cairn_load_u16(bytes + AT_AEAD);
    id.hash = cairn_load_u16(bytes + AT_HASH);
    bool is_known = id.aead == CAIRN_AEAD_AES_256_GCM || id.aead == CAIRN_AEAD_CHACHA20_POLY1305 ||
                    id.aead == CAIRN_AEAD_NONE;
    if (!is_known || len != CAIRN_HEADER_BYTES ||
        id.hash != (id.aead == CAIRN_AEAD_NONE ? CAIRN_HASH_PLAIN : CAIRN_HASH_KEYED))
        return cairn_error_set(err, CAIRN_CORRUPT, 0, "the object config is damaged");
    *out = id;
    *read_only = cairn_load_u64(bytes + AT_READ_ONLY) != 0;
    return CAIRN_OK;
}

void cairn_object_key(uint8_t out[CAIRN_KEY_BYTES], const struct cairn_keys *keys, int type,
                      const uint8_t header[CAIRN_HEADER_BYTES])
{
    const uint8_t *purpose = type == CAIRN_OBJECT_METADATA_PACK ? keys->metadata
                             : type == CAIRN_OBJECT_SEGMENT     ? keys->index
                             : type == CAIRN_OBJECT_LOG_ENTRY   ? keys->log
                                                                : keys->data;
    struct cairn_id key;
    cairn_hash_keyed(&key, purpose, header, CAIRN_HEADER_BYTES);
    memcpy(out, key.bytes, CAIRN_KEY_BYTES);
}

static void nonce_and_aad(const struct cairn_piece *piece, uint8_t nonce[CAIRN_AEAD_NONCE_BYTES],
                          uint8_t aad[24])
{
    cairn_store_u64(nonce, piece->counter);
    cairn_store_u32(nonce + 8, piece->domain);
    cairn_store_u32(aad, piece->domain);
    cairn_store_u32(aad + 4, piece->codec);
    cairn_store_u64(aad + 8, piece->counter);
    cairn_store_u64(aad + 16, piece->plain_len);
}

int cairn_piece_seal(struct cairn_aead_ctx *aead, const uint8_t key[CAIRN_KEY_BYTES],
                     const struct cairn_piece *piece, const void *in, size_t len, uint8_t *out,
                     struct cairn_error *err)
{
    uint8_t nonce[CAIRN_AEAD_NONCE_BYTES], aad[24];
    nonce_and_aad(piece, nonce, aad);
    return cairn_aead_seal(aead, key, nonce, aad, sizeof(aad), in, len, out, err);
}

int cairn_piece_open(struct cairn_aead_ctx *aead, const uint8_t key[CAIRN_KEY_BYTES],
                     const struct cairn_piece *piece, const uint8_t *in, size_t stored_len,
                     void *out, struct cairn_error *err)
{
    uint8_t nonce[CAIRN_AEAD_NONCE_BYTES], aad[24];
    if (stored_len < CAIRN_AEAD_TAG_BYTES)
        return cairn_error_set(err, CAIRN_CORRUPT, 0, "a sealed piece is too short");
    nonce_and_aad(piece, nonce, aad);
    return cairn_aead_open(aead, key, nonce, aad, sizeof(aad), in,
                           stored_len - CAIRN_AEAD_TAG_BYTES, out, err);
}
