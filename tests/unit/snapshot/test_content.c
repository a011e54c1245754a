/* SPDX-License-Identifier: Apache-2.0
 *
 * Lists of extents: what is added is read back, equal lists are stored once, and lists that
 * contradict themselves are refused.
 */
#include "repository.h"

#include "snapshot/content.h"

/* Extent i: every fifth is a hole; ids are any bytes, so that lists are cut now and then. */
static struct cairn_content_extent extent(size_t i)
{
    struct cairn_content_extent e = {.is_hole = i % 5 == 4};
    e.len = e.is_hole ? ((uint64_t)1 << 40) + i : 1 + i * 7919 % (1 << 20);
    if (!e.is_hole)
        test_fill(e.id.bytes, 32, i + 1);
    return e;
}

/* A list of the extents first .. count-1. */
static uint64_t build_from(struct repository *r, struct cairn_content_builder *builder,
                           size_t first, size_t count, unsigned *level, struct cairn_slice *items)
{
    uint64_t size = 0;
    struct cairn_error err;
    cairn_content_builder_clear(builder);
    for (size_t i = first; i < count; i++) {
        const struct cairn_content_extent e = extent(i);
        if (cairn_content_add(builder, r->lane, e.is_hole ? NULL : &e.id, e.len, &err) != CAIRN_OK)
            fail_msg("%s", err.message);
        size += e.len;
    }
    assert_int_equal(cairn_content_finish(builder, r->lane, level, items, &err), CAIRN_OK);
    return size;
}

static uint64_t build(struct repository *r, struct cairn_content_builder *builder, size_t count,
                      unsigned *level, struct cairn_slice *items)
{
    return build_from(r, builder, 0, count, level, items);
}

static void what_is_added_is_read(void **state)
{
    static const size_t counts[] = {1, 32, 33, 1024, 1025, 10000, 300000};
    static struct cairn_content_builder builder;
    (void)state;
    for (size_t c = 0; c < sizeof(counts) / sizeof(counts[0]); c++) {
        struct cairn_content_reader reader = {0};
        struct cairn_content_extent got;
        struct repository r;
        struct cairn_entry e = {.type = CAIRN_ENTRY_FILE, .has_content = true};
        struct cairn_error err;
        uint64_t at = 0;
        bool done = false;
        repository_begin(&r);
        e.size = build(&r, &builder, counts[c], &e.content_level, &e.content);
        assert_true(e.content.len <= CAIRN_CONTENT_INLINE_ITEMS * 42);
        assert_int_equal(e.content_level > 0, counts[c] > CAIRN_CONTENT_INLINE_ITEMS);
        repository_commit(&r);
        assert_int_equal(cairn_content_reader_init(&reader, r.fetcher, &e, &err), CAIRN_OK);
        for (size_t i = 0; i < counts[c]; i++) {
            const struct cairn_content_extent wanted = extent(i);
            if (cairn_content_next(&reader, &got, &done, &err) != CAIRN_OK)
                fail_msg("extent %zu of %zu: %s", i, counts[c], err.message);
            assert_false(done);
            assert_true(got.at == at && got.len == wanted.len && got.is_hole == wanted.is_hole);
            if (!got.is_hole)
                assert_memory_equal(&got.id, &wanted.id, 32);
            at += got.len;
        }
        assert_int_equal(cairn_content_next(&reader, &got, &done, &err), CAIRN_OK);
        assert_true(done);
        assert_true(at == e.size);
        cairn_content_reader_release(&reader);
        repository_end(&r);
    }
    cairn_content_builder_release(&builder);
}

static void equal_lists_are_stored_once(void **state)
{
    static struct cairn_content_builder builder, other;
    struct cairn_slice items, again;
    unsigned level, same;
    struct repository r;
    (void)state;
    repository_begin(&r);
    (void)build(&r, &builder, 10000, &level, &items);
    const uint64_t stored = repository_new_bytes(&r);
    assert_true(stored > 10000 * 25);
    (void)build(&r, &other, 10000, &same, &again);
    assert_int_equal(level, same);
    assert_int_equal(items.len, again.len);
    assert_memory_equal(items.data, again.data, items.len);
    assert_true(repository_new_bytes(&r) == stored);
    /* A longer file shares what comes before its new end. */
    (void)build(&r, &other, 10001, &same, &again);
    assert_in_range(repository_new_bytes(&r) - stored, 1, 2 * 1024 * 42);
    /* One that lost its beginning shares the rest: lists are cut by what is in them. */
    const uint64_t before = repository_new_bytes(&r);
    (void)build_from(&r, &other, 1, 10000, &same, &again);
    assert_in_range(repository_new_bytes(&r) - before, 1, 2 * 1024 * 42);
    cairn_content_builder_release(&builder);
    cairn_content_builder_release(&other);
    repository_end(&r);
}

/* ---- lists made by hand -------------------------------------------------------------------- */

static int walk(struct repository *r, unsigned level, const struct cairn_buf *items, uint64_t size)
{
    struct cairn_content_reader reader = {0};
    struct cairn_content_extent got;
    const struct cairn_entry e = {.type = CAIRN_ENTRY_FILE,
                                  .size = size,
                                  .has_content = true,
                                  .content_level = level,
                                  .content = {items->data, items->len}};
    uint64_t at = 0;
    bool done = false;
    int status = cairn_content_reader_init(&reader, r->fetcher, &e, NULL);
    while (status == CAIRN_OK && !done) {
        status = cairn_content_next(&reader, &got, &done, NULL);
        if (status == CAIRN_OK && !done) {
            assert_true(got.len > 0 && got.at == at && got.len <= size - at);
            at += got.len;
        }
    }
    if (status == CAIRN_OK)
        assert_true(at == size);
    cairn_content_reader_release(&reader);
    return status;
}

static void put_extent(struct cairn_buf *out, uint64_t len, bool is_hole)
{
    cairn_buf_put_varint(out, len << 1 | is_hole);
    if (!is_hole)
        cairn_buf_put_zero(out, 32);
}

static void put_list(struct cairn_buf *out, uint64_t len, struct cairn_id id)
{
    cairn_buf_put_varint(out, len);
    cairn_buf_put(out, id.bytes, 32);
}

static struct cairn_id store_list(struct repository *r, uint64_t len)
{
    struct cairn_buf buf = CAIRN_BUF_INIT;
    put_extent(&buf, len, false);
    const struct cairn_id id = repository_put(r, buf.data, buf.len);
    cairn_buf_release(&buf);
    return id;
}

static void contradictions_are_refused(void **state)
{
    struct cairn_buf items = CAIRN_BUF_INIT;
    struct repository r;
    (void)state;
    repository_begin(&r);
    const struct cairn_id ten = store_list(&r, 10), big = store_list(&r, (16u << 20) + 1);
    const struct cairn_id cut = repository_put(&r, "\x14xx", 3), absent = {{5}};
    struct cairn_buf two = CAIRN_BUF_INIT;
    put_list(&two, 10, ten);
    put_list(&two, 10, ten);
    const struct cairn_id lists = repository_put(&r, two.data, two.len);
    repository_commit(&r);
#define EXPECT(wanted, level, size, ...)                                                           \
    do {                                                                                           \
        cairn_buf_clear(&items);                                                                   \
        __VA_ARGS__;                                                                               \
        assert_int_equal(walk(&r, level, &items, size), wanted);                                   \
    } while (0)
    EXPECT(CAIRN_OK, 0, 10, put_extent(&items, 10, false));
    EXPECT(CAIRN_OK, 0, INT64_MAX, put_extent(&items, INT64_MAX, true));
    EXPECT(CAIRN_OK, 0, 16u << 20, put_extent(&items, 16u << 20, false));
    EXPECT(CAIRN_OK, 1, 20, put_list(&items, 10, ten), put_list(&items, 10, ten));
    EXPECT(CAIRN_OK, 2, 20, put_list(&items, 20, lists));
    EXPECT(CAIRN_CORRUPT, 0, 11, put_extent(&items, 10, false));
    EXPECT(CAIRN_CORRUPT, 0, 9, put_extent(&items, 10, false));
    EXPECT(CAIRN_CORRUPT, 0, 9, put_extent(&items, 10, true));
    EXPECT(CAIRN_CORRUPT, 0, 10, put_extent(&items, 0, false), put_extent(&items, 10, false));
    EXPECT(CAIRN_CORRUPT, 0, 10, put_extent(&items, 10, false), put_extent(&items, 0, true));
    EXPECT(CAIRN_CORRUPT, 0, 10, put_extent(&items, 10, false), put_extent(&items, 1, true));
    EXPECT(CAIRN_CORRUPT, 0, (16u << 20) + 1, put_extent(&items, (16u << 20) + 1, false));
    EXPECT(CAIRN_CORRUPT, 0, 10, put_extent(&items, 10, false), items.len -= 1);
    EXPECT(CAIRN_CORRUPT, 0, 10, put_extent(&items, UINT64_MAX >> 1, true));
    EXPECT(CAIRN_CORRUPT, 1, 10, put_list(&items, 11, ten));
    EXPECT(CAIRN_CORRUPT, 1, 11, put_list(&items, 11, ten));
    EXPECT(CAIRN_CORRUPT, 1, 9, put_list(&items, 9, ten));
    EXPECT(CAIRN_CORRUPT, 1, 20, put_list(&items, 10, ten));
    EXPECT(CAIRN_CORRUPT, 1, 10, put_list(&items, 0, ten), put_list(&items, 10, ten));
    EXPECT(CAIRN_CORRUPT, 1, 10, put_list(&items, 10, ten), items.len -= 1);
    EXPECT(CAIRN_CORRUPT, 1, 10, put_list(&items, 10, cut));
    EXPECT(CAIRN_CORRUPT, 1, (16u << 20) + 1, put_list(&items, (16u << 20) + 1, big));
    EXPECT(CAIRN_NOT_FOUND, 2, 20, put_list(&items, 20, ten)); /* its id is no list's */
    EXPECT(CAIRN_NOT_FOUND, 1, 10, put_list(&items, 10, absent));
    cairn_buf_release(&items);
    cairn_buf_release(&two);
    repository_end(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_added_is_read),
        cmocka_unit_test(equal_lists_are_stored_once),
        cmocka_unit_test(contradictions_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
