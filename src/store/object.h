/* SPDX-License-Identifier: Apache-2.0
 *
 * object.h - the header that every stored object begins with, and sealing (docs/format.md, 3).
 */
#ifndef CAIRN_STORE_OBJECT_H
#define CAIRN_STORE_OBJECT_H

#include <stddef.h>
#include <stdint.h>

#include <cairn/cairn.h>

#include "crypto/aead.h"
#include "crypto/keys.h"

#define CAIRN_HEADER_BYTES 128
#define CAIRN_FORMAT_VERSION 1

enum cairn_object_type {
    CAIRN_OBJECT_CONFIG = 1,
    CAIRN_OBJECT_KEY_SLOT = 2,
    CAIRN_OBJECT_DATA_PACK = 3,
    CAIRN_OBJECT_METADATA_PACK = 4,
    CAIRN_OBJECT_OBJECT_PACK = 5,
    CAIRN_OBJECT_SEGMENT = 6,
    CAIRN_OBJECT_LOG_ENTRY = 7
};

enum cairn_hash_id { CAIRN_HASH_KEYED = 1, CAIRN_HASH_PLAIN = 2 };

enum cairn_domain {
    CAIRN_DOMAIN_FRAME = 0,
    CAIRN_DOMAIN_FOOTER = 1,
    CAIRN_DOMAIN_LOG = 2,
    CAIRN_DOMAIN_SEGMENT = 3
};

/* What is the same in every object of one repository. */
struct cairn_identity {
    uint8_t repository[16];
    uint32_t epoch;
    int aead; /* enum cairn_aead */
    int hash; /* enum cairn_hash_id */
};

/* Writes a fresh header with a random salt. CAIRN_IO: no random bytes. */
int cairn_header_make(uint8_t out[CAIRN_HEADER_BYTES], int type, const struct cairn_identity *id,
                      struct cairn_error *err);

/* Checks that len bytes begin with a header of this type that belongs to the repository `id`.
 * CORRUPT: no header, another type, or (UNTRUSTED) another repository or cipher; UNSUPPORTED: a
 * newer format or unknown incompatible features. what names the object in messages. */
int cairn_header_check(const uint8_t *bytes, size_t len, int type, const struct cairn_identity *id,
                       const char *what, struct cairn_error *err);

/* Reads the identity from a config object. CORRUPT, UNSUPPORTED as above. *read_only: there are
 * unknown read-only-compatible features. */
int cairn_header_identity(const uint8_t *bytes, size_t len, struct cairn_identity *out,
                          bool *read_only, struct cairn_error *err);

/* The key of one object: from the purpose key of its type and its header. */
void cairn_object_key(uint8_t out[CAIRN_KEY_BYTES], const struct cairn_keys *keys, int type,
                      const uint8_t header[CAIRN_HEADER_BYTES]);

/* Names a sealed piece. */
struct cairn_piece {
    uint32_t domain; /* enum cairn_domain */
    uint32_t codec;
    uint64_t counter;
    uint64_t plain_len; /* after decompression */
};

/* Seals len bytes (compressed already if piece->codec says so) to out (len + 16 bytes). in may be
 * out. */
int cairn_piece_seal(struct cairn_aead_ctx *aead, const uint8_t key[CAIRN_KEY_BYTES],
                     const struct cairn_piece *piece, const void *in, size_t len, uint8_t *out,
                     struct cairn_error *err);

/* Opens stored_len bytes (tag included) to out (stored_len - 16 bytes). CORRUPT. */
int cairn_piece_open(struct cairn_aead_ctx *aead, const uint8_t key[CAIRN_KEY_BYTES],
                     const struct cairn_piece *piece, const uint8_t *in, size_t stored_len,
                     void *out, struct cairn_error *err);

#endif
