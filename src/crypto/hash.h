/* SPDX-License-Identifier: Apache-2.0
 *
 * hash.h - BLAKE3: plain, keyed and as key derivation. Any thread; nothing here fails.
 */
#ifndef CAIRN_CRYPTO_HASH_H
#define CAIRN_CRYPTO_HASH_H

#include <blake3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cairn/cairn.h>

#define CAIRN_KEY_BYTES 32

/* BLAKE3 of len bytes. */
void cairn_hash(struct cairn_id *out, const void *data, size_t len);

/* Keyed BLAKE3 of len bytes. */
void cairn_hash_keyed(struct cairn_id *out, const uint8_t key[CAIRN_KEY_BYTES], const void *data,
                      size_t len);

/* BLAKE3's key derivation: out = DERIVE(context, material). */
void cairn_hash_derive(uint8_t out[CAIRN_KEY_BYTES], const char *context, const void *material,
                       size_t len);

/* A hash whose input comes in pieces. One thread at a time. */
struct cairn_hasher {
    blake3_hasher state;
};

/* Begins; key may be NULL for the plain hash. */
void cairn_hasher_init(struct cairn_hasher *hasher, const uint8_t *key);

/* Adds len bytes. */
void cairn_hasher_update(struct cairn_hasher *hasher, const void *data, size_t len);

/* The hash of all that was added; more may be added afterwards. */
void cairn_hasher_final(const struct cairn_hasher *hasher, struct cairn_id *out);

/* Whether two ids are equal; in constant time. */
bool cairn_id_is_equal(const struct cairn_id *a, const struct cairn_id *b);

/* Whether all bytes are zero. */
bool cairn_id_is_zero(const struct cairn_id *id);

#endif
