/* SPDX-License-Identifier: Apache-2.0
 *
 * Key slots and key files: the right secret opens, everything else is refused.
 */
#include "../store/test.h"

#include "crypto/slot.h"

enum { AT_LABEL_LENGTH = 264, LABEL = 266 };

static uint8_t header[128], root[32], key_file[32];

static int setup(void **state)
{
    (void)state;
    test_fill(header, sizeof(header), 1);
    test_fill(root, sizeof(root), 2);
    test_fill(key_file, sizeof(key_file), 3);
    return 0;
}

static struct cairn_buf make_key_slot(int aead)
{
    const struct cairn_slot slot = {
        .kind = CAIRN_SLOT_KEY_FILE, .created = 1234567890, .label = "a label"};
    struct cairn_buf out = CAIRN_BUF_INIT;
    assert_int_equal(cairn_slot_make(header, &slot, aead, key_file, 32, root, &out, NULL),
                     CAIRN_OK);
    assert_int_equal(out.len, LABEL + 7);
    assert_memory_equal(out.data, header, 128);
    return out;
}

static void the_right_key_file_opens(void **state)
{
    static const int kinds[] = {CAIRN_AEAD_AES_256_GCM, CAIRN_AEAD_CHACHA20_POLY1305};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct cairn_buf slot = make_key_slot(kinds[i]);
        struct cairn_slot seen;
        uint8_t out[32];
        assert_int_equal(cairn_slot_parse(slot.data, slot.len, &seen, NULL), CAIRN_OK);
        assert_int_equal(seen.kind, CAIRN_SLOT_KEY_FILE);
        assert_true(seen.created == 1234567890);
        assert_string_equal(seen.label, "a label");
        assert_int_equal(cairn_slot_open(slot.data, slot.len, kinds[i], key_file, 32, out, NULL),
                         CAIRN_OK);
        assert_memory_equal(out, root, 32);
        /* Another cipher's slot does not open, and neither does another key. */
        assert_int_equal(
            cairn_slot_open(slot.data, slot.len, kinds[1 - i], key_file, 32, out, NULL),
            CAIRN_CORRUPT);
        for (size_t bit = 0; bit < 256; bit++) {
            uint8_t wrong[32];
            memcpy(wrong, key_file, 32);
            wrong[bit / 8] = (uint8_t)(wrong[bit / 8] ^ 1u << bit % 8);
            memset(out, 0x77, 32);
            assert_int_equal(cairn_slot_open(slot.data, slot.len, kinds[i], wrong, 32, out, NULL),
                             CAIRN_AUTH);
            assert_int_equal(out[0] & out[31], 0x77);
        }
        assert_int_equal(cairn_slot_open(slot.data, slot.len, kinds[i], key_file, 31, out, NULL),
                         CAIRN_MISUSE);
        cairn_buf_release(&slot);
    }
}

static void the_right_password_opens(void **state)
{
    const struct cairn_slot slot = {
        .kind = CAIRN_SLOT_PASSWORD, .cost = {65536, 3, 4}, .created = -1, .label = ""};
    struct cairn_buf made = CAIRN_BUF_INIT;
    struct cairn_slot seen;
    uint8_t out[32] = {0};
    (void)state;
    assert_int_equal(
        cairn_slot_make(header, &slot, CAIRN_AEAD_AES_256_GCM, "secret", 6, root, &made, NULL),
        CAIRN_OK);
    assert_int_equal(cairn_slot_parse(made.data, made.len, &seen, NULL), CAIRN_OK);
    assert_int_equal(seen.kind, CAIRN_SLOT_PASSWORD);
    assert_int_equal(seen.cost.memory_kib, 65536);
    assert_int_equal(seen.cost.passes, 3);
    assert_int_equal(seen.cost.lanes, 4);
    assert_true(seen.created == -1);
    assert_string_equal(seen.label, "");
    assert_int_equal(cairn_slot_open(made.data, made.len, 1, "secret", 6, out, NULL), CAIRN_OK);
    assert_memory_equal(out, root, 32);
    assert_int_equal(cairn_slot_open(made.data, made.len, 1, "Secret", 6, out, NULL), CAIRN_AUTH);
    assert_int_equal(cairn_slot_open(made.data, made.len, 1, "secret\n", 7, out, NULL), CAIRN_AUTH);
    made.data[150] ^= 1; /* the derivation's salt */
    assert_int_equal(cairn_slot_open(made.data, made.len, 1, "secret", 6, out, NULL), CAIRN_AUTH);
    made.data[150] ^= 1;
    made.data[135] = 0xff; /* memory: refused before anything is derived */
    assert_int_equal(cairn_slot_open(made.data, made.len, 1, "secret", 6, out, NULL), CAIRN_LIMIT);
    cairn_buf_release(&made);
}

static void every_flipped_bit_is_refused(void **state)
{
    struct cairn_buf slot = make_key_slot(CAIRN_AEAD_AES_256_GCM);
    uint8_t out[32];
    (void)state;
    for (size_t bit = 0; bit < slot.len * 8; bit++) {
        slot.data[bit / 8] = (uint8_t)(slot.data[bit / 8] ^ 1u << bit % 8);
        memset(out, 0x77, 32);
        int status = cairn_slot_open(slot.data, slot.len, 1, key_file, 32, out, NULL);
        /* The label is for people: the object's name, its hash, is what vouches for it. */
        if (bit / 8 >= LABEL)
            assert_int_equal(status, CAIRN_OK);
        else
            assert_true(status == CAIRN_AUTH || status == CAIRN_CORRUPT ||
                        status == CAIRN_UNSUPPORTED);
        if (status != CAIRN_OK)
            assert_int_equal(out[0] & out[31], 0x77);
        slot.data[bit / 8] = (uint8_t)(slot.data[bit / 8] ^ 1u << bit % 8);
    }
    cairn_buf_release(&slot);
}

static void every_other_length_is_refused(void **state)
{
    struct cairn_buf slot = make_key_slot(CAIRN_AEAD_AES_256_GCM);
    struct cairn_slot seen = {.kind = 77};
    uint8_t out[32];
    (void)state;
    for (size_t len = 0; len < slot.len; len++) {
        uint8_t *exact = malloc(len ? len : 1);
        assert_non_null(exact);
        memcpy(exact, slot.data, len);
        assert_int_equal(cairn_slot_parse(exact, len, &seen, NULL), CAIRN_CORRUPT);
        assert_int_equal(cairn_slot_open(exact, len, 1, key_file, 32, out, NULL), CAIRN_CORRUPT);
        free(exact);
    }
    assert_int_equal(seen.kind, 77);
    cairn_buf_put_u8(&slot, 0);
    assert_int_equal(cairn_slot_parse(slot.data, slot.len, &seen, NULL), CAIRN_CORRUPT);
    /* A label of 256 bytes, all of them there. */
    cairn_store_u16(slot.data + AT_LABEL_LENGTH, 256);
    cairn_buf_put_zero(&slot, 256);
    slot.len = LABEL + 256;
    assert_int_equal(cairn_slot_parse(slot.data, slot.len, &seen, NULL), CAIRN_CORRUPT);
    cairn_store_u16(slot.data + AT_LABEL_LENGTH, 255);
    slot.len = LABEL + 255;
    assert_int_equal(cairn_slot_parse(slot.data, slot.len, &seen, NULL), CAIRN_OK);
    cairn_buf_release(&slot);
}

static void other_kinds_are_unknown(void **state)
{
    static const uint16_t wrong[][2] = {{0, 0}, {1, 0}, {1, 2}, {2, 1}, {3, 0}, {3, 1}, {257, 1}};
    struct cairn_buf slot = make_key_slot(CAIRN_AEAD_AES_256_GCM);
    struct cairn_slot seen;
    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        cairn_store_u16(slot.data + 128, wrong[i][0]);
        cairn_store_u16(slot.data + 130, wrong[i][1]);
        assert_int_equal(cairn_slot_parse(slot.data, slot.len, &seen, NULL), CAIRN_UNSUPPORTED);
    }
    cairn_buf_release(&slot);
}

static void key_files_are_text(void **state)
{
    char text[CAIRN_KEY_FILE_BYTES + 1] = {0};
    uint8_t key[32];
    (void)state;
    cairn_key_file_format(text, key_file);
    assert_int_equal(strlen(text), CAIRN_KEY_FILE_BYTES);
    assert_memory_equal(text, "cairn key file 1\n", 17);
    assert_int_equal(cairn_key_file_parse(text, CAIRN_KEY_FILE_BYTES, key, NULL), CAIRN_OK);
    assert_memory_equal(key, key_file, 32);
    for (size_t len = 0; len <= sizeof(text); len++) {
        if (len != CAIRN_KEY_FILE_BYTES)
            assert_int_equal(cairn_key_file_parse(text, len, key, NULL), CAIRN_CORRUPT);
    }
    /* Upper-case digits are digits; no other change is allowed. */
    for (size_t at = 0; at < CAIRN_KEY_FILE_BYTES; at++) {
        const char before = text[at];
        for (int c = 0; c < 256; c++) {
            const bool is_digit =
                at >= 17 && at < 81 &&
                ((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'));
            text[at] = (char)c;
            assert_int_equal(cairn_key_file_parse(text, CAIRN_KEY_FILE_BYTES, key, NULL),
                             is_digit || (char)c == before ? CAIRN_OK : CAIRN_CORRUPT);
        }
        text[at] = before;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_right_key_file_opens),
        cmocka_unit_test(the_right_password_opens),
        cmocka_unit_test(every_flipped_bit_is_refused),
        cmocka_unit_test(every_other_length_is_refused),
        cmocka_unit_test(other_kinds_are_unknown),
        cmocka_unit_test(key_files_are_text),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
