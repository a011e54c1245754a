/* SPDX-License-Identifier: Apache-2.0 */
#include "helpers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "source/mounts.h"
#include "source/patterns.h"

static struct cairn_patterns *list_of(const char *lines)
{
    struct cairn_patterns *p;
    struct cairn_error err = {0};
    assert_int_equal(cairn_patterns_new(&p, NULL), CAIRN_OK);
    if (cairn_patterns_add_lines(p, lines, strlen(lines), "list", &err) != CAIRN_OK)
        fail_msg("%s", err.message);
    return p;
}

/* The verdict on one path, itself; a slash at its end: a directory. */
static int verdict(const char *lines, const char *path, size_t base)
{
    struct cairn_patterns *p = list_of(lines);
    size_t len = strlen(path);
    bool is_directory = path[len - 1] == '/';
    int v = cairn_patterns_match(p, path, len - is_directory, base, is_directory);
    cairn_patterns_free(p);
    return v;
}

static void test_matches(void **state)
{
    (void)state;
    static const struct {
        const char *lines, *path;
        bool is_match;
    } cases[] = {
        {"foo", "foo", true},
        {"foo", "a/b/foo", true},
        {"foo", "foo/b", false},
        {"foo", "afoo", false},
        {"foo/", "a/foo", false},
        {"foo/", "a/foo/", true},
        {"/foo", "foo", true},
        {"/foo", "a/foo", false},
        {"a/foo", "a/foo", true},
        {"a/foo", "b/a/foo", false},
        {"./a//foo", "a/foo", true},
        {"*.o", "x/y.o", true},
        {"*.o", ".o", true},
        {"*", ".hidden", true},
        {"a*b", "a/b", false},
        {"a*c", "abbbc", true},
        {"a*b*c", "axbxbxc", true},
        {"a*b*c", "axbxbx", false},
        {"a?c", "abc", true},
        {"a?c", "ac", false},
        {"[a-c]x", "bx", true},
        {"[a-c]x", "dx", false},
        {"[!a-c]x", "dx", true},
        {"[^a-c]x", "bx", false},
        {"[]]x", "]x", true},
        {"[!]]x", "]x", false},
        {"[a-]x", "-x", true},
        {"[[:digit:]]x", "5x", true},
        {"[[:digit:]-]x", "-x", true},
        {"[\\]]x", "]x", true},
        {"[\\a-\\c]x", "bx", true},
        {"\\*", "*", true},
        {"\\*", "a", false},
        {"\\!x", "!x", true},
        {"\\#x", "#x", true},
        {"#x", "#x", false},
        {"x ", "x", true},
        {"x\\ ", "x ", true},
        {"x\\ ", "x", false},
        {"x\r", "x", true},
        {"**/foo", "foo", true},
        {"**/foo", "a/b/foo", true},
        {"a/**", "a/", false},
        {"a/**", "a/b/c", true},
        {"a/**/b", "a/b", true},
        {"a/**/b", "a/x/y/b", true},
        {"a/**/b", "a/x/y/c", false},
        {"a/**/b/**/c", "a/b/x/b/y/c", true},
        {"a**b", "axxb", true},
        {"a**b", "a/b", false},
        {"**", "a/b", true},
        {"/**", "a", true},
        {"/*", "a/b", false},
        {"/a\\/b", "a/b", true},
        {"\xff\xfe*", "\xff\xfe.txt", true},
        {"foo\n!foo", "foo", false},
        {"!foo\nfoo", "foo", true},
        {"*\n!*.c", "x.c", false},
        {"*\n!*.c", "x.h", true},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        if ((verdict(cases[i].lines, cases[i].path, 0) == CAIRN_PATTERN_MATCH) != cases[i].is_match)
            fail_msg("\"%s\" on \"%s\"", cases[i].lines, cases[i].path);
    }
    assert_int_equal(verdict("*\n!a", "a", 0), CAIRN_PATTERN_NEGATED);
}

/* Anchored patterns match from either of two places, and only from those. */
static void test_base(void **state)
{
    (void)state;
    assert_int_equal(verdict("/foo", "home/u/foo", 7), CAIRN_PATTERN_MATCH);
    assert_int_equal(verdict("/home/u/foo", "home/u/foo", 7), CAIRN_PATTERN_MATCH);
    assert_int_equal(verdict("/u/foo", "home/u/foo", 7), CAIRN_PATTERN_NONE);
    assert_int_equal(verdict("u/*", "home/u/foo", 5), CAIRN_PATTERN_MATCH);
    assert_int_equal(verdict("/foo", "home/u/x/foo", 7), CAIRN_PATTERN_NONE);
}

static void test_malformed(void **state)
{
    (void)state;
    static const char *const bad[] = {"[",          "a[b",        "[a/b]", "[]", "[!]", "[z-a]",
                                      "[[:nope:]]", "[[:alpha:]", "a\\",   "/",  "!",   "!/",
                                      "..",         "a/../b",     "",      ".",  "//",  "./"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        struct cairn_error err = {0};
        struct cairn_patterns *p = list_of("good");
        int status = cairn_patterns_add(p, bad[i], strlen(bad[i]), "here", &err);
        if (status != CAIRN_MISUSE)
            fail_msg("\"%s\": %d", bad[i], status);
        assert_non_null(strstr(err.message, "here"));
        assert_int_equal(cairn_patterns_get_count(p), 1);
        assert_int_equal(cairn_patterns_match(p, "good", 4, 0, false), CAIRN_PATTERN_MATCH);
        cairn_patterns_free(p);
    }
    struct cairn_error err = {0};
    struct cairn_patterns *p = list_of("good");
    assert_int_equal(cairn_patterns_add(p, "a\0b", 3, "here", &err), CAIRN_MISUSE);
    char *large = calloc(1, CAIRN_PATTERN_BYTES_MAX + 2);
    assert_non_null(large);
    memset(large, 'a', CAIRN_PATTERN_BYTES_MAX + 1);
    assert_int_equal(cairn_patterns_add(p, large, CAIRN_PATTERN_BYTES_MAX + 1, "here", &err),
                     CAIRN_LIMIT);
    assert_int_equal(cairn_patterns_add(p, large, CAIRN_PATTERN_BYTES_MAX, "here", &err), CAIRN_OK);
    free(large);
    assert_int_equal(cairn_patterns_add_lines(p, "ok\n\n# c\n[\n", 10, "file", &err), CAIRN_MISUSE);
    assert_non_null(strstr(err.message, "file, line 4"));
    cairn_patterns_free(p);
}

/* Stars that would take for ever with a backtracking of each. */
static void test_cost(void **state)
{
    (void)state;
    char pattern[2001], name[4001], path[4001];
    for (size_t i = 0; i < 2000; i++)
        pattern[i] = i % 2 ? '*' : 'a';
    pattern[2000] = '\0';
    pattern[1998] = 'b';
    memset(name, 'a', 4000);
    name[4000] = '\0';
    assert_int_equal(verdict(pattern, name, 0), CAIRN_PATTERN_NONE);
    size_t n = 0;
    for (size_t i = 0; i < 300; i++) {
        memcpy(pattern + n, i % 2 ? "a/" : "**/", i % 2 ? 2 : 3);
        n += i % 2 ? 2 : 3;
    }
    memcpy(pattern + n, "b", 2);
    for (size_t i = 0; i < 4000; i++)
        path[i] = i % 2 ? '/' : 'a';
    path[3999] = '\0';
    assert_int_equal(verdict(pattern, path, 0), CAIRN_PATTERN_NONE);
}

static void test_no_memory(void **state)
{
    (void)state;
    bool is_done = false;
    for (long n = 0; !is_done; n++) {
        struct cairn_patterns *p = NULL;
        cairn_alloc_fail_after(n, 0);
        int status = cairn_patterns_new(&p, NULL);
        for (int i = 0; i < 40 && status == CAIRN_OK; i++)
            status = cairn_patterns_add(p, "/some/**/pattern", 16, "here", NULL);
        cairn_alloc_fail_after(-1, 0);
        is_done = status == CAIRN_OK;
        if (!is_done)
            assert_int_equal(status, CAIRN_NO_MEMORY);
        cairn_patterns_free(p);
    }
}

static void test_mounts(void **state)
{
    (void)state;
    static const char text[] =
        "24 29 0:22 / /proc rw,relatime shared:12 - proc proc rw\n"
        "25 29 0:23 / /sys rw shared:7 master:1 - sysfs sysfs rw\n"
        "29 1 254:1 / / rw - ext4 /dev/vda rw\n"
        "30 29 0:50 / /a\\040b rw - fuse.cairn cairn rw\n"
        "31 29 0:51 / /t rw - tmpfs tmpfs rw\n"
        "malformed\n32 29 0:99999999999 / /x rw - proc proc rw\n33 29 0:5 / /x rw proc\n"
        "34 29 0:52 / /end rw - proc";
    struct cairn_mounts mounts = CAIRN_MOUNTS_INIT;
    assert_int_equal(cairn_mounts_parse(&mounts, text, strlen(text), NULL), CAIRN_OK);
    assert_int_equal(mounts.count, 4);
    assert_true(cairn_mounts_has(&mounts, 22) && cairn_mounts_has(&mounts, 23) &&
                cairn_mounts_has(&mounts, 50) && cairn_mounts_has(&mounts, 52));
    assert_false(cairn_mounts_has(&mounts, (uint64_t)254 << 32 | 1));
    cairn_mounts_release(&mounts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_matches),   cmocka_unit_test(test_base),
        cmocka_unit_test(test_malformed), cmocka_unit_test(test_cost),
        cmocka_unit_test(test_no_memory), cmocka_unit_test(test_mounts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
