/* SPDX-License-Identifier: Apache-2.0 */
#include "crypto/aead.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"

struct cairn_aead_ctx {
    int kind;
    EVP_CIPHER *cipher; /* NULL for CAIRN_AEAD_NONE */
    EVP_CIPHER_CTX *evp;
};

int cairn_aead_new(int kind, struct cairn_aead_ctx **out, struct cairn_error *err)
{
    const char *name = kind == CAIRN_AEAD_AES_256_GCM         ? "AES-256-GCM"
                       : kind == CAIRN_AEAD_CHACHA20_POLY1305 ? "ChaCha20-Poly1305"
                                                              : NULL;
    if (name == NULL && kind != CAIRN_AEAD_NONE)
        return cairn_error_set(err, CAIRN_UNSUPPORTED, 0, "cipher %d is unknown to this version",
                               kind);
    struct cairn_aead_ctx *ctx = cairn_alloc_zero(1, sizeof(*ctx));
    if (ctx == NULL)
        return cairn_error_no_memory(err, "a cipher");
    ctx->kind = kind;
    if (name) {
        ctx->cipher = EVP_CIPHER_fetch(NULL, name, NULL);
        ctx->evp = EVP_CIPHER_CTX_new();
        if (ctx->cipher == NULL || ctx->evp == NULL) {
            int status = ctx->cipher ? cairn_error_no_memory(err, "a cipher")
                                     : cairn_error_set(err, CAIRN_UNSUPPORTED, 0,
                                                       "this system's OpenSSL offers no %s", name);
            cairn_aead_free(ctx);
            return status;
        }
    }
    *out = ctx;
    return CAIRN_OK;
}

void cairn_aead_free(struct cairn_aead_ctx *ctx)
{
    if (ctx == NULL)
        return;
    EVP_CIPHER_CTX_free(ctx->evp);
    EVP_CIPHER_free(ctx->cipher);
    cairn_free(ctx);
}

/* The tag of an unencrypted piece (docs/format.md, section 3). */
static void checksum(uint8_t tag[CAIRN_AEAD_TAG_BYTES], const uint8_t *key, const uint8_t *nonce,
                     const void *aad, size_t aad_len, const void *data, size_t len)
{
    struct cairn_hasher hasher;
    struct cairn_id id;
    cairn_hasher_init(&hasher, key);
    cairn_hasher_update(&hasher, nonce, CAIRN_AEAD_NONCE_BYTES);
    cairn_hasher_update(&hasher, aad, aad_len);
    cairn_hasher_update(&hasher, data, len);
    cairn_hasher_final(&hasher, &id);
    memcpy(tag, id.bytes, CAIRN_AEAD_TAG_BYTES);
}

int cairn_aead_seal(struct cairn_aead_ctx *ctx, const uint8_t key[CAIRN_KEY_BYTES],
                    const uint8_t nonce[CAIRN_AEAD_NONCE_BYTES], const void *aad, size_t aad_len,
                    const void *in, size_t len, uint8_t *out, struct cairn_error *err)
{
    if (len > 1u << 30 || aad_len > 1u << 20)
        return cairn_error_set(err, CAIRN_LIMIT, 0, "%zu bytes are too many to seal at once", len);
    if (ctx->kind == CAIRN_AEAD_NONE) {
        if (len > 0 && out != in)
            memmove(out, in, len);
        checksum(out + len, key, nonce, aad, aad_len, out, len);
        return CAIRN_OK;
    }
    int n = 0;
    if (EVP_EncryptInit_ex2(ctx->evp, ctx->cipher, key, nonce, NULL) != 1 ||
        (aad_len > 0 && EVP_EncryptUpdate(ctx->evp, NULL, &n, aad, (int)aad_len) != 1) ||
        (len > 0 && EVP_EncryptUpdate(ctx->evp, out, &n, in, (int)len) != 1) ||
        EVP_EncryptFinal_ex(ctx->evp, out + len, &n) != 1 ||
        EVP_CIPHER_CTX_ctrl(ctx->evp, EVP_CTRL_AEAD_GET_TAG, CAIRN_AEAD_TAG_BYTES, out + len) != 1)
        return cairn_error_set(err, CAIRN_IO, 0, "OpenSSL could not encrypt %zu bytes", len);
    return CAIRN_OK;
}

int cairn_aead_open(struct cairn_aead_ctx *ctx, const uint8_t key[CAIRN_KEY_BYTES],
                    const uint8_t nonce[CAIRN_AEAD_NONCE_BYTES], const void *aad, size_t aad_len,
                    const uint8_t *in, size_t len, void *out, struct cairn_error *err)
{
    if (len > 1u << 30 || aad_len > 1u << 20)
        return cairn_error_set(err, CAIRN_LIMIT, 0, "%zu bytes are too many to open at once", len);
    uint8_t tag[CAIRN_AEAD_TAG_BYTES];
    if (ctx->kind == CAIRN_AEAD_NONE) {
        checksum(tag, key, nonce, aad, aad_len, in, len);
        if (CRYPTO_memcmp(tag, in + len, sizeof(tag)) != 0)
            return cairn_error_set(err, CAIRN_CORRUPT, 0, "the checksum does not fit");
        if (len > 0 && out != in)
            memmove(out, in, len);
        return CAIRN_OK;
    }
    memcpy(tag, in + len, sizeof(tag));
    int n = 0;
    if (EVP_DecryptInit_ex2(ctx->evp, ctx->cipher, key, nonce, NULL) != 1 ||
        (aad_len > 0 && EVP_DecryptUpdate(ctx->evp, NULL, &n, aad, (int)aad_len) != 1) ||
        (len > 0 && EVP_DecryptUpdate(ctx->evp, out, &n, in, (int)len) != 1) ||
        EVP_CIPHER_CTX_ctrl(ctx->evp, EVP_CTRL_AEAD_SET_TAG, CAIRN_AEAD_TAG_BYTES, tag) != 1 ||
        EVP_DecryptFinal_ex(ctx->evp, (uint8_t *)out + len, &n) != 1) {
        OPENSSL_cleanse(out, len);
        return cairn_error_set(err, CAIRN_CORRUPT, 0, "the authentication tag does not fit");
    }
    return CAIRN_OK;
}
