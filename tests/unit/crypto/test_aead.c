/* SPDX-License-Identifier: Apache-2.0
 *
 * Sealing and opening: published vectors (the GCM specification's test cases 13, 14 and 16; RFC
 * 8439, 2.8.2), round trips, and every bit flipped.
 */
#include "../store/test.h"

#include "base/hex.h"
#include "crypto/aead.h"

static const int kinds[] = {CAIRN_AEAD_AES_256_GCM, CAIRN_AEAD_CHACHA20_POLY1305, CAIRN_AEAD_NONE};

static const struct {
    int kind;
    const char *key, *nonce, *aad, *plain, *sealed;
} vectors[] = {
    {CAIRN_AEAD_AES_256_GCM, "0000000000000000000000000000000000000000000000000000000000000000",
     "000000000000000000000000", "", "", "530f8afbc74536b9a963b4f1c4cb738b"},
    {CAIRN_AEAD_AES_256_GCM, "0000000000000000000000000000000000000000000000000000000000000000",
     "000000000000000000000000", "", "00000000000000000000000000000000",
     "cea7403d4d606b6e074ec5d3baf39d18d0d1c8a799996bf0265b98b5d48ab919"},
    {CAIRN_AEAD_AES_256_GCM, "feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308",
     "cafebabefacedbaddecaf888", "feedfacedeadbeeffeedfacedeadbeefabaddad2",
     "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72"
     "1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39",
     "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa"
     "8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f662"
     "76fc6ece0f4e1768cddf8853bb2d551b"},
    {CAIRN_AEAD_CHACHA20_POLY1305,
     "808182838485868788898a8b8c8d8e8f909192939495969798999a9b9c9d9e9f", "070000004041424344454647",
     "50515253c0c1c2c3c4c5c6c7",
     "4c616469657320616e642047656e746c656d656e206f662074686520636c6173"
     "73206f66202739393a204966204920636f756c64206f6666657220796f75206f"
     "6e6c79206f6e652074697020666f7220746865206675747572652c2073756e73"
     "637265656e20776f756c642062652069742e",
     "d31a8d34648e60db7b86afbc53ef7ec2a4aded51296e08fea9e2b5a736ee62d6"
     "3dbea45e8ca9671282fafb69da92728b1a71de0a9e060b2905d6a5b67ecd3b36"
     "92ddbd7f2d778b8c9803aee328091b58fab324e4fad675945585808b4831d7bc"
     "3ff4def08e4b7a9de576d26586cec64b6116"
     "1ae10b594f09e26a7e902ecbd0600691"},
};

static size_t unhex(uint8_t *out, const char *hex)
{
    const size_t len = strlen(hex) / 2;
    assert_true(cairn_hex_decode(out, hex, len));
    return len;
}

static void published_vectors(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
        uint8_t key[32], nonce[12], aad[64], plain[256], sealed[256], out[256];
        struct cairn_aead_ctx *ctx = NULL;
        (void)unhex(key, vectors[i].key);
        (void)unhex(nonce, vectors[i].nonce);
        const size_t aad_len = unhex(aad, vectors[i].aad);
        const size_t len = unhex(plain, vectors[i].plain);
        assert_int_equal(unhex(sealed, vectors[i].sealed), len + 16);
        assert_int_equal(cairn_aead_new(vectors[i].kind, &ctx, NULL), CAIRN_OK);
        assert_int_equal(cairn_aead_seal(ctx, key, nonce, aad, aad_len, plain, len, out, NULL),
                         CAIRN_OK);
        assert_memory_equal(out, sealed, len + 16);
        assert_int_equal(cairn_aead_open(ctx, key, nonce, aad, aad_len, sealed, len, out, NULL),
                         CAIRN_OK);
        assert_memory_equal(out, plain, len);
        cairn_aead_free(ctx);
    }
}

static const uint8_t key[32] = {1, 2, 3}, nonce[12] = {4, 5, 6}, aad[24] = {7, 8, 9};

static void what_is_sealed_opens(void **state)
{
    static const size_t sizes[] = {0, 1, 15, 16, 17, 1023, 4096, 70001, 1 << 20};
    uint8_t *plain = malloc(1 << 20), *sealed = malloc((1 << 20) + 16), *out = malloc(1 << 20);
    (void)state;
    assert_true(plain && sealed && out);
    test_fill(plain, 1 << 20, 3);
    for (size_t i = 0; i < 3 * 9; i++) {
        const size_t len = sizes[i % 9];
        struct cairn_aead_ctx *ctx = NULL;
        assert_int_equal(cairn_aead_new(kinds[i / 9], &ctx, NULL), CAIRN_OK);
        assert_int_equal(cairn_aead_seal(ctx, key, nonce, aad, 24, plain, len, sealed, NULL), 0);
        assert_int_equal(cairn_aead_open(ctx, key, nonce, aad, 24, sealed, len, out, NULL), 0);
        assert_memory_equal(out, plain, len);
        if (len > 16)
            assert_int_equal(memcmp(sealed, plain, len) == 0, kinds[i / 9] == CAIRN_AEAD_NONE);
        /* In place, both ways. */
        memcpy(out, plain, len);
        memset(sealed + len, 0, 16);
        memcpy(sealed, plain, len);
        assert_int_equal(cairn_aead_seal(ctx, key, nonce, aad, 24, sealed, len, sealed, NULL), 0);
        assert_int_equal(cairn_aead_open(ctx, key, nonce, aad, 24, sealed, len, sealed, NULL), 0);
        assert_memory_equal(sealed, plain, len);
        cairn_aead_free(ctx);
    }
    free(plain);
    free(sealed);
    free(out);
}

/* docs/format.md, section 3: the tag where nothing is encrypted. */
static void the_unencrypted_tag_is_keyed_blake3(void **state)
{
    uint8_t sealed[5 + 16], input[12 + 24 + 5];
    struct cairn_aead_ctx *ctx = NULL;
    struct cairn_id wanted;
    (void)state;
    memcpy(input, nonce, 12);
    memcpy(input + 12, aad, 24);
    memcpy(input + 36, "hello", 5);
    cairn_hash_keyed(&wanted, key, input, sizeof(input));
    assert_int_equal(cairn_aead_new(CAIRN_AEAD_NONE, &ctx, NULL), CAIRN_OK);
    assert_int_equal(cairn_aead_seal(ctx, key, nonce, aad, 24, "hello", 5, sealed, NULL), CAIRN_OK);
    assert_memory_equal(sealed, "hello", 5);
    assert_memory_equal(sealed + 5, wanted.bytes, 16);
    cairn_aead_free(ctx);
}

static void flip(uint8_t *bytes, size_t bit)
{
    bytes[bit / 8] = (uint8_t)(bytes[bit / 8] ^ 1u << bit % 8);
}

/* Whatever single bit differs - text, tag, key, nonce or additional data - nothing is returned. */
static void every_flipped_bit_is_refused(void **state)
{
    enum { LEN = 40 };
    uint8_t plain[LEN];
    (void)state;
    test_fill(plain, LEN, 5);
    for (size_t k = 0; k < 3; k++) {
        struct {
            uint8_t sealed[LEN + 16], key[32], nonce[12], aad[24];
        } all;
        uint8_t out[LEN];
        struct cairn_aead_ctx *ctx = NULL;
        memcpy(all.key, key, 32);
        memcpy(all.nonce, nonce, 12);
        memcpy(all.aad, aad, 24);
        assert_int_equal(cairn_aead_new(kinds[k], &ctx, NULL), CAIRN_OK);
        assert_int_equal(cairn_aead_seal(ctx, key, nonce, aad, 24, plain, LEN, all.sealed, NULL),
                         0);
        for (size_t bit = 0; bit < sizeof(all) * 8; bit++) {
            struct cairn_error err;
            flip((uint8_t *)&all, bit);
            memset(out, 0x77, LEN);
            assert_int_equal(
                cairn_aead_open(ctx, all.key, all.nonce, all.aad, 24, all.sealed, LEN, out, &err),
                CAIRN_CORRUPT);
            assert_int_equal(err.status, CAIRN_CORRUPT);
            assert_memory_not_equal(out, plain, LEN);
            flip((uint8_t *)&all, bit);
        }
        /* Additional data of another length, and a shorter text. */
        assert_int_equal(cairn_aead_open(ctx, key, nonce, aad, 23, all.sealed, LEN, out, NULL),
                         CAIRN_CORRUPT);
        assert_int_equal(cairn_aead_open(ctx, key, nonce, aad, 24, all.sealed, LEN - 1, out, NULL),
                         CAIRN_CORRUPT);
        assert_int_equal(cairn_aead_open(ctx, key, nonce, aad, 24, all.sealed, LEN, out, NULL), 0);
        assert_memory_equal(out, plain, LEN); /* refusals leave the context usable */
        cairn_aead_free(ctx);
    }
}

static void other_ciphers_are_unknown(void **state)
{
    struct cairn_aead_ctx *ctx = NULL;
    (void)state;
    assert_int_equal(cairn_aead_new(0, &ctx, NULL), CAIRN_UNSUPPORTED);
    assert_int_equal(cairn_aead_new(3, &ctx, NULL), CAIRN_UNSUPPORTED);
    assert_null(ctx);
    cairn_aead_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(published_vectors),
        cmocka_unit_test(what_is_sealed_opens),
        cmocka_unit_test(the_unencrypted_tag_is_keyed_blake3),
        cmocka_unit_test(every_flipped_bit_is_refused),
        cmocka_unit_test(other_ciphers_are_unknown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
