/* SPDX-License-Identifier: Apache-2.0 */
#include "crypto/kdf.h"

#include <argon2.h>

#include "base/error.h"

int cairn_kdf_argon2id(uint8_t out[CAIRN_KEY_BYTES], const void *password, size_t len,
                       const uint8_t salt[32], const struct cairn_kdf_cost *cost,
                       struct cairn_error *err)
{
    if (cost->memory_kib < CAIRN_KDF_MEMORY_KIB_DEFAULT ||
        cost->memory_kib > CAIRN_KDF_MEMORY_KIB_MAX || cost->passes < 1 ||
        (cost->passes < CAIRN_KDF_PASSES_DEFAULT && cost->memory_kib < 2097152u) ||
        cost->passes > CAIRN_KDF_PASSES_MAX || cost->lanes < 1 || cost->lanes > CAIRN_KDF_LANES_MAX)
        return cairn_error_set(err, CAIRN_LIMIT, 0,
                               "a key slot asks for a derivation of %u KiB, %u passes, %u lanes, "
                               "outside what is allowed",
                               cost->memory_kib, cost->passes, cost->lanes);
    int code = argon2id_hash_raw(cost->passes, cost->memory_kib, cost->lanes, password, len, salt,
                                 32, out, CAIRN_KEY_BYTES);
    if (code == ARGON2_MEMORY_ALLOCATION_ERROR)
        return cairn_error_no_memory(err, "the key derivation");
    if (code != ARGON2_OK)
        return cairn_error_set(err, CAIRN_IO, 0, "the key derivation failed: %s",
                               argon2_error_message(code));
    return CAIRN_OK;
}
