/* SPDX-License-Identifier: Apache-2.0
 *
 * The change-detection stream: nested nodes, nodes in parts, children that are skipped.
 */
#include "repository.h"

#include "snapshot/changes.h"

static struct cairn_change_record record(size_t i)
{
    const struct cairn_change_record r = {
        .is_trusted = i % 3 != 0,
        .inode = i % 7 ? i * 1000003 : UINT64_MAX,
        .device = i % 11 ? 42 : UINT64_MAX,
        .ctime = {i % 2 ? INT64_MIN : (int64_t)i, (uint32_t)(i % 5 ? i % 1000000000 : 999999999)}};
    return r;
}

static void expect_record(const struct cairn_change_record *got, size_t i)
{
    const struct cairn_change_record wanted = record(i);
    assert_int_equal(got->is_trusted, wanted.is_trusted);
    assert_true(got->inode == wanted.inode && got->device == wanted.device);
    assert_true(got->ctime.sec == wanted.ctime.sec && got->ctime.nsec == wanted.ctime.nsec);
}

/* A node of count plain records, numbered from first. */
static void flat(struct repository *r, size_t first, size_t count, struct cairn_buf *out)
{
    struct cairn_changes_builder builder = {0};
    cairn_changes_builder_begin(&builder, 42);
    for (size_t i = first; i < first + count; i++) {
        const struct cairn_change_record rec = record(i);
        assert_int_equal(cairn_changes_add(&builder, r->lane, &rec, NULL, NULL), CAIRN_OK);
    }
    assert_int_equal(cairn_changes_finish(&builder, r->lane, out, NULL), CAIRN_OK);
    cairn_changes_builder_release(&builder);
}

static void expect_flat(struct cairn_changes_reader *reader, size_t first, size_t count)
{
    struct cairn_change_record got;
    struct cairn_error err;
    bool done = false;
    for (size_t i = first; i < first + count; i++) {
        if (cairn_changes_next(reader, &got, &done, &err) != CAIRN_OK)
            fail_msg("record %zu: %s", i, err.message);
        assert_false(done);
        expect_record(&got, i);
    }
    assert_int_equal(cairn_changes_next(reader, &got, &done, NULL), CAIRN_OK);
    assert_true(done);
}

static void records_come_back(void **state)
{
    static const size_t counts[] = {0, 1, 100, 5000, 40000};
    (void)state;
    for (size_t c = 0; c < 5; c++) {
        struct cairn_changes_reader reader = {0};
        struct cairn_buf node = CAIRN_BUF_INIT, again = CAIRN_BUF_INIT;
        struct repository r;
        repository_begin(&r);
        flat(&r, 0, counts[c], &node);
        flat(&r, 0, counts[c], &again);
        assert_int_equal(node.len, again.len);
        assert_memory_equal(node.data, again.data, node.len);
        assert_int_equal(node.data[0], counts[c] >= 5000 ? 2 : 1); /* parts where it is large */
        const struct cairn_id id = repository_put(&r, node.data, node.len);
        repository_commit(&r);
        assert_int_equal(cairn_changes_reader_init(&reader, r.fetcher, node.data, node.len, NULL),
                         CAIRN_OK);
        expect_flat(&reader, 0, counts[c]);
        assert_int_equal(cairn_changes_reader_init_chunk(&reader, r.fetcher, &id, NULL), CAIRN_OK);
        expect_flat(&reader, 0, counts[c]);
        cairn_changes_reader_release(&reader);
        cairn_buf_release(&node);
        cairn_buf_release(&again);
        repository_end(&r);
    }
}

/* Child i of the nested node has so many records: none, few (in place), many (a chunk), and so many
 * that the child itself is in parts. */
static const size_t child_records[] = {0, 3, 100, 300, 2000, 9000};

static void children_are_read_or_skipped(void **state)
{
    struct cairn_changes_builder builder = {0};
    struct cairn_changes_reader reader = {0}, child = {0};
    struct cairn_buf node = CAIRN_BUF_INIT, sub = CAIRN_BUF_INIT;
    struct cairn_change_record got;
    struct repository r;
    bool done = false;
    int kinds[3] = {0};
    (void)state;
    repository_begin(&r);
    cairn_changes_builder_begin(&builder, 42);
    for (size_t i = 0; i < 18; i++) {
        const struct cairn_change_record rec = record(i);
        const bool is_directory = i % 3 == 1;
        if (is_directory)
            flat(&r, 100 * i, child_records[i / 3], &sub);
        assert_int_equal(
            cairn_changes_add(&builder, r.lane, &rec, is_directory ? &sub : NULL, NULL), CAIRN_OK);
    }
    assert_int_equal(cairn_changes_finish(&builder, r.lane, &node, NULL), CAIRN_OK);
    assert_true(builder.stored > 0);
    repository_commit(&r);
    for (int skip = 0; skip < 2; skip++) {
        assert_int_equal(cairn_changes_reader_init(&reader, r.fetcher, node.data, node.len, NULL),
                         CAIRN_OK);
        for (size_t i = 0; i < 18; i++) {
            assert_int_equal(cairn_changes_next(&reader, &got, &done, NULL), CAIRN_OK);
            assert_false(done);
            expect_record(&got, i);
            const int status = cairn_changes_reader_init_child(&child, &reader, NULL);
            kinds[reader.child_kind]++;
            assert_int_equal(status, i % 3 == 1 ? CAIRN_OK : CAIRN_NOT_FOUND);
            if (status == CAIRN_OK && !skip)
                expect_flat(&child, 100 * i, child_records[i / 3]);
        }
        assert_int_equal(cairn_changes_next(&reader, &got, &done, NULL), CAIRN_OK);
        assert_true(done);
    }
    assert_int_equal(kinds[0], 24);
    assert_true(kinds[1] >= 6 && kinds[2] >= 4);
    cairn_changes_reader_release(&reader);
    cairn_changes_reader_release(&child);
    cairn_changes_builder_release(&builder);
    cairn_buf_release(&node);
    cairn_buf_release(&sub);
    repository_end(&r);
}

static int walk(struct repository *r, const void *node, size_t len)
{
    struct cairn_changes_reader reader = {0}, child = {0};
    struct cairn_change_record got;
    bool done = false;
    int status = cairn_changes_reader_init(&reader, r->fetcher, node, len, NULL);
    while (status == CAIRN_OK && !done) {
        status = cairn_changes_next(&reader, &got, &done, NULL);
        if (status == CAIRN_OK && !done && reader.child_kind == 1)
            status = cairn_changes_reader_init_child(&child, &reader, NULL);
    }
    cairn_changes_reader_release(&reader);
    cairn_changes_reader_release(&child);
    return status;
}

#define ID "iiiiiiiiiiiiiiiiiiiiiiiiiiiiiiii"

static void malformed_nodes_are_refused(void **state)
{
    static const struct {
        const char *bytes;
        size_t len;
        int status;
    } cases[] = {
#define CASE(literal, status) {literal, sizeof(literal) - 1, status}
        CASE("\1\0", CAIRN_OK),
        CASE("\1\0\1\5\0\0", CAIRN_OK),
        CASE("\1\0\2\5\0\0\2\1\0", CAIRN_OK),
        CASE("\2", CAIRN_OK),
        CASE("", CAIRN_CORRUPT),
        CASE("\0\0", CAIRN_CORRUPT),
        CASE("\3\0", CAIRN_CORRUPT),
        CASE("\1", CAIRN_CORRUPT),
        CASE("\1\x80\0", CAIRN_CORRUPT),
        CASE("\1\0\1\5\0", CAIRN_CORRUPT),
        CASE("\1\0\x10\5\0\0", CAIRN_CORRUPT),
        CASE("\1\0\1\5\0\x80\x94\xeb\xdc\x03", CAIRN_CORRUPT), /* 10^9 ns */
        CASE("\1\0\1\5\0\xff\xff\xff\xff\x1f", CAIRN_CORRUPT),
        CASE("\1\0\x08\5\0\0", CAIRN_CORRUPT),     /* no device */
        CASE("\1\0\2\5\0\0\5\1\0", CAIRN_CORRUPT), /* a child cut short */
        CASE("\1\0\2\5\0\0\1\1", CAIRN_CORRUPT),   /* a malformed child */
        CASE("\1\0\4\5\0\0iii", CAIRN_CORRUPT),
        CASE("\1\0\6\5\0\0\2\1\0" ID, CAIRN_CORRUPT), /* both kinds of child */
        CASE("\2" ID "i", CAIRN_NOT_FOUND),
        CASE("\2iii", CAIRN_CORRUPT),
    };
    struct repository r;
    (void)state;
    repository_begin(&r);
    const struct cairn_id parts = repository_put(&r, "\2" ID, 33);
    repository_commit(&r);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const int status = walk(&r, cases[i].bytes, cases[i].len);
        if (status != cases[i].status)
            fail_msg("case %zu: %s", i, cairn_status_name(status));
    }
    /* Parts within parts would let a reader run in circles. */
    uint8_t nested[33] = {2};
    memcpy(nested + 1, parts.bytes, 32);
    assert_int_equal(walk(&r, nested, sizeof(nested)), CAIRN_CORRUPT);
    repository_end(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_come_back),
        cmocka_unit_test(children_are_read_or_skipped),
        cmocka_unit_test(malformed_nodes_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
