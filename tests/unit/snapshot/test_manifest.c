/* SPDX-License-Identifier: Apache-2.0
 *
 * Manifests: everything comes back; what docs/format.md, section 10, does not allow is refused.
 */
#include "../store/test.h"

#include "base/alloc.h"
#include "snapshot/manifest.h"

#define ROOT_FIELDS "\x02\x01\x06\xed\x03\0\0\0\0"

static char *copy(const char *text)
{
    return cairn_strdup(text);
}

static void fill(struct cairn_manifest *m)
{
    *m = (struct cairn_manifest){.begun_ns = INT64_MIN,
                                 .ended_ns = INT64_MAX,
                                 .host = copy("h\xff\xc3ost"),
                                 .user = copy(""),
                                 .program = copy("cairn 9"),
                                 .has_parent = true,
                                 .has_changes = true,
                                 .files = UINT64_MAX,
                                 .dirs = 1,
                                 .others = 2,
                                 .bytes = 3,
                                 .bytes_added = 4,
                                 .problems = 5,
                                 .has_problem_list = true};
    memset(&m->parent, 1, 32);
    memset(&m->root, 2, 32);
    memset(&m->changes, 3, 32);
    memset(&m->problem_list, 4, 32);
    cairn_buf_put(&m->root_fields, ROOT_FIELDS, sizeof(ROOT_FIELDS) - 1);
    assert_int_equal(cairn_strings_add(&m->paths, "/b", 2, NULL), CAIRN_OK);
    assert_int_equal(cairn_strings_add(&m->paths, "/a\n", 3, NULL), CAIRN_OK);
    assert_int_equal(cairn_strings_add(&m->tags, "tag", 3, NULL), CAIRN_OK);
    assert_int_equal(cairn_strings_add(&m->tags, "", 0, NULL), CAIRN_OK);
    assert_int_equal(cairn_strings_add(&m->options, "--with-atime", 12, NULL), CAIRN_OK);
}

static void everything_comes_back(void **state)
{
    struct cairn_manifest m, back;
    struct cairn_buf bytes = CAIRN_BUF_INIT, again = CAIRN_BUF_INIT;
    struct cairn_entry root;
    (void)state;
    fill(&m);
    cairn_manifest_encode(&m, &bytes);
    assert_int_equal(cairn_manifest_decode(bytes.data, bytes.len, &back, NULL), CAIRN_OK);
    assert_true(back.begun_ns == INT64_MIN && back.ended_ns == INT64_MAX);
    assert_string_equal(back.host, m.host);
    assert_string_equal(back.user, "");
    assert_string_equal(back.program, "cairn 9");
    assert_int_equal(back.paths.count, 2);
    assert_string_equal(back.paths.items[0], "/b");
    assert_string_equal(back.paths.items[1], "/a\n");
    assert_int_equal(back.tags.count, 2);
    assert_int_equal(back.options.count, 1);
    assert_true(back.has_parent && back.has_changes && back.has_problem_list);
    assert_memory_equal(&back.parent, &m.parent, 32);
    assert_memory_equal(&back.root, &m.root, 32);
    assert_memory_equal(&back.changes, &m.changes, 32);
    assert_memory_equal(&back.problem_list, &m.problem_list, 32);
    assert_true(back.files == UINT64_MAX && back.dirs == 1 && back.others == 2 && back.bytes == 3 &&
                back.bytes_added == 4 && back.problems == 5);
    assert_int_equal(cairn_manifest_root(&back, &root, NULL), CAIRN_OK);
    assert_int_equal(root.type, CAIRN_ENTRY_DIRECTORY);
    assert_int_equal(root.mode, 0755);
    assert_true(root.has_directory);
    assert_memory_equal(&root.directory, &m.root, 32);
    cairn_manifest_encode(&back, &again);
    assert_int_equal(again.len, bytes.len);
    assert_memory_equal(again.data, bytes.data, bytes.len);
    cairn_manifest_release(&m);
    cairn_manifest_release(&back);
    cairn_buf_release(&bytes);
    cairn_buf_release(&again);
}

static void every_truncation_is_refused(void **state)
{
    struct cairn_manifest m, back;
    struct cairn_buf bytes = CAIRN_BUF_INIT;
    size_t taken = 0;
    (void)state;
    fill(&m);
    cairn_manifest_encode(&m, &bytes);
    for (size_t len = 0; len < bytes.len; len++) {
        uint8_t *exact = malloc(len ? len : 1);
        assert_non_null(exact);
        memcpy(exact, bytes.data, len);
        if (cairn_manifest_decode(exact, len, &back, NULL) == CAIRN_OK) {
            taken++;
            cairn_manifest_release(&back);
        }
        free(exact);
    }
    /* Without its last fields, none of them required: whole again after totals, program, option. */
    assert_int_equal(taken, 3);
    cairn_manifest_release(&m);
    cairn_buf_release(&bytes);
}

struct field {
    uint64_t tag;
    const char *value;
    size_t len;
};
#define FIELD(tag, literal)                                                                        \
    {                                                                                              \
        tag, literal, sizeof(literal) - 1                                                          \
    }
#define ID "iiiiiiiiiiiiiiiiiiiiiiiiiiiiiiii"
#define BEGUN FIELD(1, "\x02")
#define ROOT FIELD(8, ID)
#define FIELDS FIELD(9, ROOT_FIELDS)
#define TOTALS FIELD(11, "\0\0\0\0\0\0")

static const struct {
    const char *what;
    int status;
    struct field fields[8];
} cases[] = {
    {"what is required", CAIRN_OK, {BEGUN, ROOT, FIELDS, TOTALS}},
    {"repeated paths", CAIRN_OK, {BEGUN, FIELD(5, "/a"), FIELD(5, "/b"), ROOT, FIELDS, TOTALS}},
    {"unknown from 64 on", CAIRN_OK, {BEGUN, ROOT, FIELDS, TOTALS, FIELD(64, "x"), FIELD(99, "")}},
    {"unknown below 64", CAIRN_UNSUPPORTED, {BEGUN, ROOT, FIELDS, TOTALS, FIELD(15, "x")}},
    {"unknown 63", CAIRN_UNSUPPORTED, {BEGUN, ROOT, FIELDS, TOTALS, FIELD(63, "")}},
    {"nothing", CAIRN_CORRUPT, {{0}}},
    {"no time", CAIRN_CORRUPT, {ROOT, FIELDS, TOTALS}},
    {"no root", CAIRN_CORRUPT, {BEGUN, FIELDS, TOTALS}},
    {"no attributes of /", CAIRN_CORRUPT, {BEGUN, ROOT, TOTALS}},
    {"no totals", CAIRN_CORRUPT, {BEGUN, ROOT, FIELDS}},
    {"out of order", CAIRN_CORRUPT, {ROOT, BEGUN, FIELDS, TOTALS}},
    {"two roots", CAIRN_CORRUPT, {BEGUN, ROOT, ROOT, FIELDS, TOTALS}},
    {"two hosts", CAIRN_CORRUPT, {BEGUN, FIELD(3, "a"), FIELD(3, "b"), ROOT, FIELDS, TOTALS}},
    {"an unknown twice",
     CAIRN_CORRUPT,
     {BEGUN, ROOT, FIELDS, TOTALS, FIELD(64, ""), FIELD(64, "")}},
    {"a long time", CAIRN_CORRUPT, {FIELD(1, "\x02\0"), ROOT, FIELDS, TOTALS}},
    {"a time in a longer form", CAIRN_CORRUPT, {FIELD(1, "\x82\0"), ROOT, FIELDS, TOTALS}},
    {"no time in the field", CAIRN_CORRUPT, {FIELD(1, ""), ROOT, FIELDS, TOTALS}},
    {"a short root", CAIRN_CORRUPT, {BEGUN, FIELD(8, "iii"), FIELDS, TOTALS}},
    {"a long root", CAIRN_CORRUPT, {BEGUN, FIELD(8, ID "i"), FIELDS, TOTALS}},
    {"a short parent", CAIRN_CORRUPT, {BEGUN, FIELD(7, "iii"), ROOT, FIELDS, TOTALS}},
    {"short totals", CAIRN_CORRUPT, {BEGUN, ROOT, FIELDS, FIELD(11, "\0\0\0\0\0")}},
    {"long totals", CAIRN_CORRUPT, {BEGUN, ROOT, FIELDS, FIELD(11, "\0\0\0\0\0\0\0")}},
    {"a long list of problems", CAIRN_CORRUPT, {BEGUN, ROOT, FIELDS, TOTALS, FIELD(14, ID "i")}},
};

static void rules_are_kept(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct cairn_buf bytes = CAIRN_BUF_INIT;
        struct cairn_manifest m = {.files = 77};
        struct cairn_error err = {0};
        for (const struct field *f = cases[i].fields; f->value; f++) {
            cairn_buf_put_varint(&bytes, f->tag);
            cairn_buf_put_bytes(&bytes, f->value, f->len);
        }
        const int status = cairn_manifest_decode(bytes.data, bytes.len, &m, &err);
        if (status != cases[i].status)
            fail_msg("%s: %s", cases[i].what, cairn_status_name(status));
        assert_int_equal(err.status, status);
        if (status == CAIRN_OK)
            cairn_manifest_release(&m);
        else
            assert_int_equal(m.files, 77);
        cairn_buf_release(&bytes);
    }
}

static void the_root_is_a_directory(void **state)
{
    static const struct field roots[] = {
        FIELD(0, ""),
        FIELD(0, "\x01\x01\x06\xed\x03\0\0\0\0"),
        FIELD(0, "\x02"),
        FIELD(0, "\x02\x01\x06\xed\x03\0\0\0"),
        FIELD(0, ROOT_FIELDS "\x07\x20" ID),
    };
    (void)state;
    for (size_t i = 0; i < sizeof(roots) / sizeof(roots[0]); i++) {
        struct cairn_manifest m = {0};
        struct cairn_entry entry = {.type = 77};
        cairn_buf_put(&m.root_fields, roots[i].value, roots[i].len);
        assert_int_equal(cairn_manifest_root(&m, &entry, NULL), CAIRN_CORRUPT);
        assert_int_equal(entry.type, 77);
        cairn_manifest_release(&m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_comes_back),
        cmocka_unit_test(every_truncation_is_refused),
        cmocka_unit_test(rules_are_kept),
        cmocka_unit_test(the_root_is_a_directory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
