/* SPDX-License-Identifier: Apache-2.0
 *
 * The compressor: round trips, what does not shrink, what is damaged or lies, and the probe.
 */
#include "../store/test.h"

#include <zstd.h>

#include "codec/codec.h"

#define DATA_BYTES ((size_t)4 << 20)

static struct cairn_codec *codec;
static uint8_t *data, *packed, *out;
static size_t packed_cap;

static int setup(void **state)
{
    (void)state;
    packed_cap = cairn_codec_bound(DATA_BYTES);
    data = malloc(DATA_BYTES);
    packed = malloc(packed_cap);
    out = malloc(DATA_BYTES + 1);
    return data && packed && out ? cairn_codec_new(&codec, NULL) : -1;
}

static int teardown(void **state)
{
    (void)state;
    free(data);
    free(packed);
    free(out);
    cairn_codec_free(codec);
    cairn_codec_free(NULL);
    return 0;
}

/* Something like text: words of a small vocabulary. */
static void fill_text(uint8_t *to, size_t len, uint64_t seed)
{
    static const char *const words[] = {"chunk ", "pack ",     "tree ", "snapshot ", "\n",
                                        "the ",   "index ",    "of ",   "a ",        "backup ",
                                        "is ",    "verified ", "and ",  "restored "};
    uint64_t random = seed * 77 + 1;
    for (size_t at = 0; at < len;) {
        const char *word = words[test_random(&random) % 14];
        const size_t n = strlen(word) < len - at ? strlen(word) : len - at;
        memcpy(to + at, word, n);
        at += n;
    }
}

static size_t pack(int level, size_t len)
{
    size_t packed_len = 0;
    struct cairn_error err;
    const int status =
        cairn_codec_compress(codec, level, data, len, packed, packed_cap, &packed_len, &err);
    if (status != CAIRN_OK)
        fail_msg("level %d, %zu bytes: %s", level, len, err.message);
    return packed_len;
}

static void what_is_compressed_comes_back(void **state)
{
    static const int levels[] = {1, 3, 9, 16, 19, 3};
    static const size_t sizes[] = {300, 4096, 65536, 131073, 1 << 20, 3000000};
    (void)state;
    fill_text(data, DATA_BYTES, 1);
    for (size_t i = 0; i < 36; i++) {
        const size_t len = sizes[i % 6];
        if (levels[i / 6] > 15 && len > 131073)
            continue; /* slow, and nothing new */
        const size_t packed_len = pack(levels[i / 6], len);
        assert_in_range(packed_len, 1, len - len / 32);
        out[len] = 0x77;
        memset(out, 0, len);
        assert_int_equal(cairn_codec_decompress(codec, packed, packed_len, out, len, NULL),
                         CAIRN_OK);
        assert_memory_equal(out, data, len);
        assert_int_equal(out[len], 0x77);
    }
}

static void what_does_not_shrink_gives_nothing(void **state)
{
    static const size_t sizes[] = {1, 2, 31, 32, 100, 4096, 65536, 1 << 20};
    (void)state;
    test_fill(data, DATA_BYTES, 9);
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
        assert_int_equal(pack(3, sizes[i]), 0);
    /* Too little room for the result is the same as no gain. */
    size_t packed_len = 99;
    assert_int_equal(cairn_codec_compress(codec, 3, data, 65536, packed, 1000, &packed_len, NULL),
                     CAIRN_OK);
    assert_int_equal(packed_len, 0);
    /* A gain of less than 1/32 is none. */
    memset(data, 0, 65536 / 40);
    assert_int_equal(pack(3, 65536), 0);
    memset(data, 0, 65536 / 20);
    assert_true(pack(3, 65536) > 0);
}

static void the_plain_length_must_be_right(void **state)
{
    static const size_t wrong[] = {0, 1, 4095, 99999, 100001, 200000};
    (void)state;
    fill_text(data, 100000, 2);
    const size_t packed_len = pack(3, 100000);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        uint8_t *exact = malloc(wrong[i] ? wrong[i] : 1); /* a sanitizer sees its end */
        assert_non_null(exact);
        assert_int_equal(cairn_codec_decompress(codec, packed, packed_len, exact, wrong[i], NULL),
                         CAIRN_CORRUPT);
        free(exact);
    }
}

/* 16 MiB of zeros in a few kilobytes do not get further than the room for them. */
static void a_bomb_is_refused(void **state)
{
    const size_t len = (size_t)16 << 20, cap = ZSTD_compressBound(len);
    uint8_t *zeros = calloc(1, len), *bomb = malloc(cap), *room = malloc(1000);
    (void)state;
    assert_true(zeros && bomb && room);
    const size_t bomb_len = ZSTD_compress(bomb, cap, zeros, len, 3);
    assert_false(ZSTD_isError(bomb_len));
    assert_true(bomb_len < 10000);
    assert_int_equal(cairn_codec_decompress(codec, bomb, bomb_len, room, 1000, NULL),
                     CAIRN_CORRUPT);
    /* The same where the frame does not say how long it is. */
    ZSTD_CCtx *c = ZSTD_createCCtx();
    ZSTD_inBuffer in = {zeros, len, 0};
    ZSTD_outBuffer to = {bomb, cap, 0};
    assert_non_null(c);
    assert_false(ZSTD_isError(ZSTD_compressStream2(c, &to, &in, ZSTD_e_continue)));
    assert_int_equal(ZSTD_compressStream2(c, &to, &in, ZSTD_e_end), 0);
    assert_true(ZSTD_getFrameContentSize(bomb, to.pos) == ZSTD_CONTENTSIZE_UNKNOWN);
    assert_int_equal(cairn_codec_decompress(codec, bomb, to.pos, room, 1000, NULL), CAIRN_CORRUPT);
    ZSTD_freeCCtx(c);
    free(zeros);
    free(bomb);
    free(room);
}

static void every_truncation_is_refused(void **state)
{
    (void)state;
    fill_text(data, 20000, 3);
    const size_t packed_len = pack(3, 20000);
    for (size_t len = 0; len < packed_len; len++) {
        uint8_t *exact = malloc(len ? len : 1);
        assert_non_null(exact);
        memcpy(exact, packed, len);
        assert_int_equal(cairn_codec_decompress(codec, exact, len, out, 20000, NULL),
                         CAIRN_CORRUPT);
        free(exact);
    }
    assert_int_equal(cairn_codec_decompress(codec, packed, packed_len, out, 20000, NULL), CAIRN_OK);
}

/* docs/format.md, section 3: one frame, nothing before or behind it, a window of at most 8 MiB. */
static void only_one_plain_frame_is_taken(void **state)
{
    static const uint8_t skippable[] = {0x50, 0x2a, 0x4d, 0x18, 4, 0, 0, 0, 1, 2, 3, 4};
    uint8_t *joined;
    size_t half, whole;
    (void)state;
    fill_text(data, 20000, 4);
    joined = malloc(2 * packed_cap);
    assert_non_null(joined);
    half = pack(3, 10000);
    memcpy(joined, packed, half);
    memmove(data, data + 10000, 10000);
    whole = half + pack(3, 10000);
    memcpy(joined + half, packed, whole - half);
    assert_int_equal(cairn_codec_decompress(codec, joined, whole, out, 20000, NULL), CAIRN_CORRUPT);
    memcpy(joined + half, skippable, sizeof(skippable));
    assert_int_equal(cairn_codec_decompress(codec, joined, half + 12, out, 10000, NULL),
                     CAIRN_CORRUPT);
    memmove(joined + 12, joined, half);
    memcpy(joined, skippable, sizeof(skippable));
    assert_int_equal(cairn_codec_decompress(codec, joined, half + 12, out, 10000, NULL),
                     CAIRN_CORRUPT);
    assert_int_equal(cairn_codec_decompress(codec, joined, 12, out, 0, NULL), CAIRN_CORRUPT);
    free(joined);
}

static void windows_are_bounded(void **state)
{
    ZSTD_CCtx *c = ZSTD_createCCtx();
    (void)state;
    assert_non_null(c);
    fill_text(data, 20000, 5);
    for (int log = 20; log <= 27; log++) {
        ZSTD_inBuffer in = {data, 20000, 0};
        ZSTD_outBuffer to = {packed, packed_cap, 0};
        assert_false(ZSTD_isError(ZSTD_CCtx_setParameter(c, ZSTD_c_windowLog, log)));
        assert_false(ZSTD_isError(ZSTD_compressStream2(c, &to, &in, ZSTD_e_continue)));
        assert_int_equal(ZSTD_compressStream2(c, &to, &in, ZSTD_e_end), 0);
        assert_int_equal(cairn_codec_decompress(codec, packed, to.pos, out, 20000, NULL),
                         log <= CAIRN_CODEC_WINDOW_LOG_MAX ? CAIRN_OK : CAIRN_CORRUPT);
    }
    ZSTD_freeCCtx(c);
}

static void the_probe_knows_text_from_noise(void **state)
{
    (void)state;
    for (size_t len = 256 << 10; len <= DATA_BYTES; len *= 2) {
        for (uint64_t seed = 1; seed < 5; seed++) {
            test_fill(data, len, seed);
            assert_false(cairn_codec_is_compressible(codec, data, len));
            assert_false(cairn_codec_is_compressible(codec, data, len)); /* the same again */
            /* A tail (or head) of text is worth compressing, whatever comes before it. */
            fill_text(data + len / 2, len - len / 2, seed);
            assert_true(cairn_codec_is_compressible(codec, data, len));
            fill_text(data, len / 2, seed);
            assert_true(cairn_codec_is_compressible(codec, data, len));
        }
        memset(data, 0, len);
        assert_true(cairn_codec_is_compressible(codec, data, len));
    }
}

static void small_input_is_tried_for_real(void **state)
{
    (void)state;
    test_fill(data, 100000, 3);
    assert_true(cairn_codec_is_compressible(codec, data, 100000));
    assert_true(cairn_codec_is_compressible(codec, data, 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_compressed_comes_back),
        cmocka_unit_test(what_does_not_shrink_gives_nothing),
        cmocka_unit_test(the_plain_length_must_be_right),
        cmocka_unit_test(a_bomb_is_refused),
        cmocka_unit_test(every_truncation_is_refused),
        cmocka_unit_test(only_one_plain_frame_is_taken),
        cmocka_unit_test(windows_are_bounded),
        cmocka_unit_test(the_probe_knows_text_from_noise),
        cmocka_unit_test(small_input_is_tried_for_real),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
