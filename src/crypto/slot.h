/* SPDX-License-Identifier: Apache-2.0
 *
 * slot.h - key slots: the root key, wrapped by a password or a key file (docs/format.md, section
 * 5).
 */
#ifndef CAIRN_CRYPTO_SLOT_H
#define CAIRN_CRYPTO_SLOT_H

#include <stddef.h>
#include <stdint.h>

#include <cairn/cairn.h>

#include "base/buffer.h"
#include "crypto/hash.h"
#include "crypto/kdf.h"

enum cairn_slot_kind { CAIRN_SLOT_PASSWORD = 1, CAIRN_SLOT_KEY_FILE = 2 };

#define CAIRN_SLOT_HEADER_BYTES 128
#define CAIRN_SLOT_BYTES_MAX (266 + 255)

/* The fields of a slot that can be read without a secret. */
struct cairn_slot {
    int kind; /* enum cairn_slot_kind */
    struct cairn_kdf_cost cost;
    int64_t created; /* seconds since 1970 */
    char label[256]; /* NUL-terminated */
};

/* Parses len bytes of a whole slot object (its header was checked). CORRUPT, UNSUPPORTED. */
int cairn_slot_parse(const uint8_t *bytes, size_t len, struct cairn_slot *out,
                     struct cairn_error *err);

/* Builds a slot. header: the object's 128 header bytes; secret: the password (kind PASSWORD) or the
 * 32 bytes of a key file; aead: enum cairn_aead. out receives the whole object. */
int cairn_slot_make(const uint8_t header[CAIRN_SLOT_HEADER_BYTES], const struct cairn_slot *slot,
                    int aead, const void *secret, size_t secret_len,
                    const uint8_t root[CAIRN_KEY_BYTES], struct cairn_buf *out,
                    struct cairn_error *err);

/* Opens a slot with a secret. AUTH: this is not its secret; CORRUPT; LIMIT (costs out of range).
 * Takes the derivation's time and memory for a password slot. */
int cairn_slot_open(const uint8_t *bytes, size_t len, int aead, const void *secret,
                    size_t secret_len, uint8_t root[CAIRN_KEY_BYTES], struct cairn_error *err);

/* Reads a key file's text. CORRUPT: it is not one. */
int cairn_key_file_parse(const char *text, size_t len, uint8_t key[CAIRN_KEY_BYTES],
                         struct cairn_error *err);

/* Writes a key file's text (CAIRN_KEY_FILE_BYTES bytes, no NUL) to out. */
#define CAIRN_KEY_FILE_BYTES (17 + 65)
void cairn_key_file_format(char out[CAIRN_KEY_FILE_BYTES], const uint8_t key[CAIRN_KEY_BYTES]);

#endif
