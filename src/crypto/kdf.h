/* SPDX-License-Identifier: Apache-2.0
 *
 * kdf.h - Argon2id (RFC 9106): a password becomes a key.
 */
#ifndef CAIRN_CRYPTO_KDF_H
#define CAIRN_CRYPTO_KDF_H

#include <stdint.h>

#include <cairn/cairn.h>

#include "crypto/hash.h"

/* Costs. RFC 9106's second recommended choice is the default and the floor. */
#define CAIRN_KDF_MEMORY_KIB_DEFAULT 65536u
#define CAIRN_KDF_MEMORY_KIB_MAX 4194304u
#define CAIRN_KDF_PASSES_DEFAULT 3u
#define CAIRN_KDF_PASSES_MAX 64u
#define CAIRN_KDF_LANES_DEFAULT 4u
#define CAIRN_KDF_LANES_MAX 64u

struct cairn_kdf_cost {
    uint32_t memory_kib;
    uint32_t passes;
    uint32_t lanes;
};

/* Derives a key from len bytes of password. The memory it takes (cost->memory_kib) is freed before
 * it returns. LIMIT: costs below the floor or above the ceiling (docs/format.md, section 5);
 * NO_MEMORY. */
int cairn_kdf_argon2id(uint8_t out[CAIRN_KEY_BYTES], const void *password, size_t len,
                       const uint8_t salt[32], const struct cairn_kdf_cost *cost,
                       struct cairn_error *err);

#endif
