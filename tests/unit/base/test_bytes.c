/* SPDX-License-Identifier: Apache-2.0
 *
 * Bytes in and out: the buffer, varints, the bounds-checked reader, hexadecimal digits.
 */
#include "../store/test.h"

#include "base/buffer.h"
#include "base/hex.h"
#include "base/reader.h"

static const uint64_t numbers[] = {
    0,       1,          127,        128,        16383,      16384,          (1u << 21) - 1,
    1 << 21, UINT32_MAX, 1ull << 35, 1ull << 62, 1ull << 63, UINT64_MAX - 1, UINT64_MAX};
#define NUMBERS (sizeof(numbers) / sizeof(numbers[0]))

static void varints_come_back(void **state)
{
    (void)state;
    for (size_t i = 0; i < NUMBERS; i++) {
        uint8_t bytes[10];
        struct cairn_reader r;
        size_t len = cairn_varint_encode(bytes, numbers[i]);
        assert_int_equal(len, cairn_varint_size(numbers[i]));
        cairn_reader_init(&r, bytes, len);
        assert_true(cairn_reader_varint(&r) == numbers[i]);
        assert_true(cairn_reader_is_done(&r));
        for (size_t cut = 0; cut < len; cut++) {
            cairn_reader_init(&r, bytes, cut);
            assert_true(cairn_reader_varint(&r) == 0);
            assert_true(r.failed);
        }
    }
}

static void varints_have_one_form(void **state)
{
    static const struct {
        uint8_t bytes[12];
        size_t len;
    } wrong[] = {
        {{0x80, 0x00}, 2},
        {{0xff, 0x00}, 2},
        {{0x80, 0x80, 0x00}, 3},
        {{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x00}, 10},
        {{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02}, 10},
        {{0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x81, 0x01}, 11},
        {{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01}, 11},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct cairn_reader r;
        cairn_reader_init(&r, wrong[i].bytes, wrong[i].len);
        assert_true(cairn_reader_varint(&r) == 0);
        assert_true(r.failed);
    }
}

static void signed_numbers_come_back(void **state)
{
    static const int64_t values[] = {0, -1, 1, -64, 64, INT32_MIN, INT64_MAX, INT64_MIN};
    (void)state;
    assert_true(cairn_zigzag(-1) == 1 && cairn_zigzag(1) == 2);
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        struct cairn_buf buf = CAIRN_BUF_INIT;
        struct cairn_reader r;
        cairn_buf_put_svarint(&buf, values[i]);
        cairn_reader_init(&r, buf.data, buf.len);
        assert_true(cairn_reader_svarint(&r) == values[i]);
        assert_true(cairn_reader_is_done(&r));
        cairn_buf_release(&buf);
    }
}

/* One of everything that a reader reads. */
static void put_all(struct cairn_buf *buf)
{
    cairn_buf_put_u8(buf, 0xa1);
    cairn_buf_put_u16(buf, 0xb1b2);
    cairn_buf_put_u32(buf, 0xc1c2c3c4);
    cairn_buf_put_u64(buf, 0xd1d2d3d4d5d6d7d8);
    cairn_buf_put_varint(buf, 300);
    cairn_buf_put_svarint(buf, -300);
    cairn_buf_put_bytes(buf, "bytes", 5);
    cairn_buf_put(buf, "copy", 4);
    cairn_buf_put_zero(buf, 3);
}

struct all {
    uint8_t u8;
    uint16_t u16;
    uint32_t u32;
    uint64_t u64, varint;
    int64_t svarint;
    struct cairn_slice bytes, tail;
    char copy[4];
};

static void get_all(struct cairn_reader *r, struct all *a)
{
    a->u8 = cairn_reader_u8(r);
    a->u16 = cairn_reader_u16(r);
    a->u32 = cairn_reader_u32(r);
    a->u64 = cairn_reader_u64(r);
    a->varint = cairn_reader_varint(r);
    a->svarint = cairn_reader_svarint(r);
    a->bytes = cairn_reader_bytes(r);
    cairn_reader_copy(r, a->copy, 4);
    a->tail = cairn_reader_take(r, 3);
}

static void what_is_put_is_read(void **state)
{
    struct cairn_buf buf = CAIRN_BUF_INIT;
    struct cairn_reader r;
    struct all a;
    (void)state;
    put_all(&buf);
    assert_int_equal(buf.data[1], 0xb2); /* little-endian */
    assert_int_equal(buf.data[3], 0xc4);
    assert_int_equal(cairn_buf_check(&buf, "a test", NULL), CAIRN_OK);
    cairn_reader_init(&r, buf.data, buf.len);
    get_all(&r, &a);
    assert_true(cairn_reader_is_done(&r));
    assert_true(a.u8 == 0xa1 && a.u16 == 0xb1b2 && a.u32 == 0xc1c2c3c4);
    assert_true(a.u64 == 0xd1d2d3d4d5d6d7d8 && a.varint == 300 && a.svarint == -300);
    assert_int_equal(a.bytes.len, 5);
    assert_memory_equal(a.bytes.data, "bytes", 5);
    assert_memory_equal(a.copy, "copy", 4);
    assert_memory_equal(a.tail.data, "\0\0\0", 3);
    cairn_buf_release(&buf);
}

/* At every length but the whole: it fails, what did not come is zero, and it stays failed. */
static void every_truncation_is_noticed(void **state)
{
    struct cairn_buf buf = CAIRN_BUF_INIT;
    (void)state;
    put_all(&buf);
    for (size_t len = 0; len < buf.len; len++) {
        uint8_t *exact = malloc(len ? len : 1); /* so that a sanitizer sees the end */
        struct cairn_reader r;
        struct all a;
        assert_non_null(exact);
        memcpy(exact, buf.data, len);
        cairn_reader_init(&r, exact, len);
        memset(&a, 0x55, sizeof(a));
        get_all(&r, &a);
        assert_true(r.failed);
        assert_false(cairn_reader_is_done(&r));
        assert_int_equal(cairn_reader_left(&r), 0);
        assert_int_equal(a.tail.len, 0);
        if (len < buf.len - 3)
            assert_memory_equal(a.copy, "\0\0\0\0", 4);
        assert_true(cairn_reader_u64(&r) == 0 && cairn_reader_varint(&r) == 0);
        assert_int_equal(cairn_reader_take(&r, 0).len, 0);
        assert_true(r.failed);
        free(exact);
    }
    cairn_buf_release(&buf);
}

static void lengths_beyond_the_end_fail(void **state)
{
    static const uint64_t lengths[] = {2, 1000, UINT32_MAX, INT64_MAX, UINT64_MAX};
    (void)state;
    for (size_t i = 0; i < 5; i++) {
        struct cairn_buf buf = CAIRN_BUF_INIT;
        struct cairn_reader r;
        cairn_buf_put_varint(&buf, lengths[i]);
        cairn_buf_put_u8(&buf, 7);
        cairn_reader_init(&r, buf.data, buf.len);
        assert_int_equal(cairn_reader_bytes(&r).len, 0);
        assert_true(r.failed);
        cairn_reader_init(&r, buf.data, buf.len);
        assert_int_equal(cairn_reader_take(&r, SIZE_MAX).len, 0);
        assert_true(r.failed);
        cairn_buf_release(&buf);
    }
}

static void nothing_may_be_read_from_nothing(void **state)
{
    struct cairn_reader r;
    (void)state;
    cairn_reader_init(&r, NULL, 0);
    assert_true(cairn_reader_is_done(&r));
    assert_int_equal(cairn_reader_take(&r, 0).len, 0);
    assert_false(r.failed);
    assert_int_equal(cairn_reader_u8(&r), 0);
    assert_true(r.failed);
}

static void buffers_grow_and_are_reused(void **state)
{
    struct cairn_buf buf = CAIRN_BUF_INIT;
    (void)state;
    for (uint32_t i = 0; i < 100000; i++)
        cairn_buf_put_u32(&buf, i);
    assert_int_equal(buf.len, 400000);
    for (uint32_t i = 0; i < 100000; i += 997)
        assert_int_equal(cairn_load_u32(buf.data + 4 * i), i);
    const size_t cap = buf.cap;
    cairn_buf_clear(&buf);
    assert_int_equal(buf.len, 0);
    assert_int_equal(buf.cap, cap);
    cairn_buf_put(&buf, NULL, 0);
    assert_int_equal(buf.len, 0);
    assert_false(cairn_buf_reserve(&buf, SIZE_MAX));
    cairn_buf_put_u8(&buf, 1);
    assert_int_equal(buf.len, 0); /* failures stick */
    assert_int_equal(cairn_buf_check(&buf, "a test", NULL), CAIRN_NO_MEMORY);
    cairn_buf_clear(&buf);
    cairn_buf_put_u8(&buf, 1);
    assert_int_equal(buf.len, 1);
    cairn_buf_release(&buf);
    assert_null(buf.data);
}

static void hex_comes_back(void **state)
{
    uint8_t bytes[256], back[256];
    char text[513];
    (void)state;
    for (size_t i = 0; i < 256; i++)
        bytes[i] = (uint8_t)i;
    cairn_hex_encode(text, bytes, 256);
    assert_int_equal(strlen(text), 512);
    assert_memory_equal(text + 2 * 0x9f, "9fa0", 4);
    assert_true(cairn_hex_decode(back, text, 256));
    assert_memory_equal(back, bytes, 256);
    for (char *c = text; *c; c++)
        *c = *c >= 'a' ? (char)(*c - 32) : *c;
    assert_true(cairn_hex_decode(back, text, 256));
    assert_memory_equal(back, bytes, 256);
    for (int c = 0; c < 256; c++) {
        const char pair[2] = {'0', (char)c};
        const bool is_digit =
            (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
        assert_int_equal(cairn_hex_decode(back, pair, 1), is_digit);
        const char mirrored[2] = {(char)c, '0'};
        assert_int_equal(cairn_hex_decode(back, mirrored, 1), is_digit);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(varints_come_back),
        cmocka_unit_test(varints_have_one_form),
        cmocka_unit_test(signed_numbers_come_back),
        cmocka_unit_test(what_is_put_is_read),
        cmocka_unit_test(every_truncation_is_noticed),
        cmocka_unit_test(lengths_beyond_the_end_fail),
        cmocka_unit_test(nothing_may_be_read_from_nothing),
        cmocka_unit_test(buffers_grow_and_are_reused),
        cmocka_unit_test(hex_comes_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
