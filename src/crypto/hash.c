/* SPDX-License-Identifier: Apache-2.0 */
#include "crypto/hash.h"

#include <openssl/crypto.h>

void cairn_hash(struct cairn_id *out, const void *data, size_t len)
{
    blake3_hasher state;
    blake3_hasher_init(&state);
    blake3_hasher_update(&state, data, len);
    blake3_hasher_finalize(&state, out->bytes, sizeof(out->bytes));
}

void cairn_hash_keyed(struct cairn_id *out, const uint8_t key[CAIRN_KEY_BYTES], const void *data,
                      size_t len)
{
    blake3_hasher state;
    blake3_hasher_init_keyed(&state, key);
    blake3_hasher_update(&state, data, len);
    blake3_hasher_finalize(&state, out->bytes, sizeof(out->bytes));
}

void cairn_hash_derive(uint8_t out[CAIRN_KEY_BYTES], const char *context, const void *material,
                       size_t len)
{
    blake3_hasher state;
    blake3_hasher_init_derive_key(&state, context);
    blake3_hasher_update(&state, material, len);
    blake3_hasher_finalize(&state, out, CAIRN_KEY_BYTES);
    OPENSSL_cleanse(&state, sizeof(state));
}

void cairn_hasher_init(struct cairn_hasher *hasher, const uint8_t *key)
{
    if (key)
        blake3_hasher_init_keyed(&hasher->state, key);
    else
        blake3_hasher_init(&hasher->state);
}

void cairn_hasher_update(struct cairn_hasher *hasher, const void *data, size_t len)
{
    blake3_hasher_update(&hasher->state, data, len);
}

void cairn_hasher_final(const struct cairn_hasher *hasher, struct cairn_id *out)
{
    blake3_hasher_finalize(&hasher->state, out->bytes, sizeof(out->bytes));
}

bool cairn_id_is_equal(const struct cairn_id *a, const struct cairn_id *b)
{
    return CRYPTO_memcmp(a->bytes, b->bytes, sizeof(a->bytes)) == 0;
}

bool cairn_id_is_zero(const struct cairn_id *id)
{
    static const struct cairn_id zero;
    return cairn_id_is_equal(id, &zero);
}
