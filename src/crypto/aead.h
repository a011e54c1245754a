/* SPDX-License-Identifier: Apache-2.0
 *
 * aead.h - authenticated encryption, and its unencrypted counterpart that only authenticates.
 */
#ifndef CAIRN_CRYPTO_AEAD_H
#define CAIRN_CRYPTO_AEAD_H

#include <stddef.h>
#include <stdint.h>

#include <cairn/cairn.h>

#include "crypto/hash.h"

#define CAIRN_AEAD_TAG_BYTES 16
#define CAIRN_AEAD_NONCE_BYTES 12

/* A cipher with its working memory, reused from call to call. One thread at a time. */
struct cairn_aead_ctx;

/* kind: enum cairn_aead, not DEFAULT. UNSUPPORTED: no such cipher; NO_MEMORY. */
int cairn_aead_new(int kind, struct cairn_aead_ctx **out, struct cairn_error *err);

/* Frees and wipes; NULL is allowed. */
void cairn_aead_free(struct cairn_aead_ctx *ctx);

/* Seals len bytes (at most 1 GiB) to out: len bytes of ciphertext, then the tag. in may be out.
 * A (key, nonce) pair must never seal two different texts. */
int cairn_aead_seal(struct cairn_aead_ctx *ctx, const uint8_t key[CAIRN_KEY_BYTES],
                    const uint8_t nonce[CAIRN_AEAD_NONCE_BYTES], const void *aad, size_t aad_len,
                    const void *in, size_t len, uint8_t *out, struct cairn_error *err);

/* Opens len bytes of ciphertext with the tag behind them (len + 16 bytes at in) to out (len bytes;
 * may be in). CORRUPT: the tag does not fit; out then holds nothing of use and has been wiped. */
int cairn_aead_open(struct cairn_aead_ctx *ctx, const uint8_t key[CAIRN_KEY_BYTES],
                    const uint8_t nonce[CAIRN_AEAD_NONCE_BYTES], const void *aad, size_t aad_len,
                    const uint8_t *in, size_t len, void *out, struct cairn_error *err);

#endif
