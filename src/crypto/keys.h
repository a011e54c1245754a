/* SPDX-License-Identifier: Apache-2.0
 *
 * keys.h - the root key of a repository and the keys derived from it (docs/format.md, section 3).
 */
#ifndef CAIRN_CRYPTO_KEYS_H
#define CAIRN_CRYPTO_KEYS_H

#include <stdint.h>

#include "crypto/hash.h"

/* One key for each purpose, so that a client can later hold some of them and not the others. */
struct cairn_keys {
    uint8_t data[CAIRN_KEY_BYTES];
    uint8_t metadata[CAIRN_KEY_BYTES];
    uint8_t index[CAIRN_KEY_BYTES];
    uint8_t log[CAIRN_KEY_BYTES];
    uint8_t data_id[CAIRN_KEY_BYTES];
    uint8_t metadata_id[CAIRN_KEY_BYTES];
    uint8_t snapshot_id[CAIRN_KEY_BYTES];
    uint8_t directory_split[CAIRN_KEY_BYTES];
    uint8_t chunker[CAIRN_KEY_BYTES];
};

/* Derives all keys. Any thread; nothing fails. The caller wipes both when done. */
void cairn_keys_derive(struct cairn_keys *keys, const uint8_t root[CAIRN_KEY_BYTES],
                       const uint8_t repository[16], uint32_t epoch);

#endif
