/* SPDX-License-Identifier: Apache-2.0
 *
 * What people type and read: sizes, levels, and messages that are safe to print.
 */
#include "../store/test.h"

#include <errno.h>

#include "base/error.h"
#include "base/names.h"

static void sizes_are_read(void **state)
{
    static const struct {
        const char *word;
        uint64_t bytes;
    } right[] = {
        {"0", 0},
        {"123", 123},
        {"007", 7},
        {"64K", 65536},
        {"64k", 65536},
        {"64KiB", 65536},
        {"64kb", 65536},
        {"12B", 12},
        {"3M", 3u << 20},
        {"2G", 2ull << 30},
        {"1T", 1ull << 40},
        {"18446744073709551615", UINT64_MAX},
        {"16777215T", 16777215ull << 40},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(right) / sizeof(right[0]); i++) {
        uint64_t bytes = 99;
        if (!cairn_size_parse(right[i].word, &bytes) || bytes != right[i].bytes)
            fail_msg("%s gives %llu", right[i].word, (unsigned long long)bytes);
    }
}

static void other_words_are_no_sizes(void **state)
{
    static const char *const wrong[] = {"",
                                        "K",
                                        "-1",
                                        "+1",
                                        " 1",
                                        "1 ",
                                        "1.5M",
                                        "1KK",
                                        "1iB",
                                        "1Ki ",
                                        "1BB",
                                        "1P",
                                        "0x10",
                                        "1e3",
                                        "1\xc3\xa9",
                                        "18446744073709551616",
                                        "18014398509481984K",
                                        "16777216T",
                                        "99999999999999999999"};
    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        uint64_t bytes = 99;
        if (cairn_size_parse(wrong[i], &bytes))
            fail_msg("\"%s\" was taken for a size", wrong[i]);
        assert_true(bytes == 99);
    }
}

static void levels_have_names(void **state)
{
    int level = 0;
    (void)state;
    for (int i = CAIRN_LEVEL_NONE; i <= CAIRN_LEVEL_FILE; i++) {
        assert_true(cairn_level_parse(cairn_level_name(i), &level));
        assert_int_equal(level, i);
    }
    level = 77;
    assert_false(cairn_level_parse("", &level));
    assert_false(cairn_level_parse("default", &level));
    assert_false(cairn_level_parse("files", &level));
    assert_int_equal(level, 77);
    assert_string_equal(cairn_level_name(0), "default");
    assert_string_equal(cairn_level_name(-1), "default");
    assert_string_equal(cairn_level_name(5), "default");
}

static void expect_escaped(const char *bytes, size_t len, const char *wanted)
{
    char out[256];
    cairn_escape(out, sizeof(out), bytes, len);
    assert_string_equal(out, wanted);
}

#define ESCAPED(literal, wanted) expect_escaped(literal, sizeof(literal) - 1, wanted)

static void names_are_escaped(void **state)
{
    (void)state;
    ESCAPED("plain name.txt", "plain name.txt");
    ESCAPED("back\\slash", "back\\x5cslash");
    ESCAPED("a\nb\tc\x1b[2J\x7f", "a\\x0ab\\x09c\\x1b[2J\\x7f");
    ESCAPED("nul\0inside", "nul\\x00inside");
    ESCAPED("\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80");
    ESCAPED("\xc2\x80\xc2\x9b\xc2\x9f", "\\xc2\\x80\\xc2\\x9b\\xc2\\x9f"); /* C1 controls */
    ESCAPED("\xc2\xa0", "\xc2\xa0");
    ESCAPED("\x9b", "\\x9b");
    ESCAPED("\xc0\xaf\xc1\x81", "\\xc0\\xaf\\xc1\\x81"); /* overlong */
    ESCAPED("\xe0\x9f\xbf", "\\xe0\\x9f\\xbf");
    ESCAPED("\xf0\x8f\xbf\xbf", "\\xf0\\x8f\\xbf\\xbf");
    ESCAPED("\xed\xa0\x80", "\\xed\\xa0\\x80");          /* a surrogate */
    ESCAPED("\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"); /* above U+10FFFF */
    ESCAPED("\xf5\x80\x80\x80", "\\xf5\\x80\\x80\\x80");
    ESCAPED("cut\xe2\x82", "cut\\xe2\\x82");
    ESCAPED("\xe2\x28\xa1", "\\xe2(\\xa1");
}

static void escapes_are_cut_whole(void **state)
{
    static const char name[] = "ab\n\xe2\x82\xac";
    (void)state;
    for (size_t cap = 0; cap < 16; cap++) {
        char out[17];
        memset(out, '#', sizeof(out));
        cairn_escape(out, cap, name, sizeof(name) - 1);
        const char *wanted = cap == 0   ? "#"
                             : cap < 2  ? ""
                             : cap < 3  ? "a"
                             : cap < 7  ? "ab"
                             : cap < 10 ? "ab\\x0a"
                                        : "ab\\x0a\xe2\x82\xac";
        out[16] = '\0';
        if (cap == 0)
            assert_int_equal(out[0], '#');
        else
            assert_string_equal(out, wanted);
        assert_int_equal(out[cap], cap < 16 ? '#' : '\0');
    }
}

static void messages_are_one_clean_line(void **state)
{
    struct cairn_error err;
    char long_text[3000];
    (void)state;
    errno = 77;
    assert_int_equal(cairn_error_set(&err, CAIRN_IO, EACCES, "open \"%s\"", "a\nb\x1b\xff"),
                     CAIRN_IO);
    assert_int_equal(errno, 77);
    assert_int_equal(err.status, CAIRN_IO);
    assert_int_equal(err.os_errno, EACCES);
    assert_string_equal(err.message, "open \"a?b??\": Permission denied");
    cairn_error_prefix(&err, "reading %s: ", "x\ty");
    assert_string_equal(err.message, "reading x?y: open \"a?b??\": Permission denied");
    memset(long_text, 'x', sizeof(long_text) - 1);
    long_text[sizeof(long_text) - 1] = '\0';
    (void)cairn_error_set(&err, CAIRN_IO, EIO, "%s", long_text);
    assert_int_equal(strlen(err.message), sizeof(err.message) - 1);
    cairn_error_prefix(&err, "%s", long_text);
    assert_int_equal(strlen(err.message), sizeof(err.message) - 1);
    assert_int_equal(cairn_error_set(NULL, CAIRN_LIMIT, 0, "nobody listens"), CAIRN_LIMIT);
    cairn_error_prefix(NULL, "nobody listens");
}

static void system_errors_have_a_status(void **state)
{
    static const struct {
        int number, status;
    } pairs[] = {{ENOSPC, CAIRN_NO_SPACE}, {EDQUOT, CAIRN_NO_SPACE},  {ENOENT, CAIRN_NOT_FOUND},
                 {EEXIST, CAIRN_EXISTS},   {ENOMEM, CAIRN_NO_MEMORY}, {EAGAIN, CAIRN_BUSY},
                 {EBUSY, CAIRN_BUSY},      {EIO, CAIRN_IO},           {EROFS, CAIRN_IO}};
    struct cairn_error err;
    (void)state;
    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
        assert_int_equal(cairn_status_from_errno(pairs[i].number), pairs[i].status);
        assert_int_equal(cairn_error_system(&err, pairs[i].number, "a call"), pairs[i].status);
        assert_int_equal(err.status, pairs[i].status);
    }
    for (int status = CAIRN_NO_REPOSITORY; status <= 0; status++)
        assert_string_not_equal(cairn_status_name(status), "UNKNOWN");
    assert_string_equal(cairn_status_name(1), "UNKNOWN");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_are_read),
        cmocka_unit_test(other_words_are_no_sizes),
        cmocka_unit_test(levels_have_names),
        cmocka_unit_test(names_are_escaped),
        cmocka_unit_test(escapes_are_cut_whole),
        cmocka_unit_test(messages_are_one_clean_line),
        cmocka_unit_test(system_errors_have_a_status),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
