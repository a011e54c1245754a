/* SPDX-License-Identifier: Apache-2.0
 *
 * Directories: what is added is read back and found, equal content has equal ids, an insertion
 * changes few chunks, and chunks that contradict each other are refused.
 */
#include "repository.h"

#include "snapshot/tree.h"

static const uint8_t split_key[32] = {1, 2, 3};

static size_t name_of(char *out, size_t i)
{
    return (size_t)sprintf(out, "%s-%08zu", i % 3 ? "file with a name" : "f", i);
}

/* Entries are added in order of their names: all "f-..." stand behind "file...": '-' < 'i'. */
struct names {
    char (*text)[32];
    size_t count;
};

static int by_bytes(const void *a, const void *b)
{
    return strcmp(a, b);
}

static struct names make_names(size_t count)
{
    struct names names = {calloc(count ? count : 1, 32), count};
    assert_non_null(names.text);
    for (size_t i = 0; i < count; i++)
        (void)name_of(names.text[i], i);
    qsort(names.text, count, 32, by_bytes);
    return names;
}

static struct cairn_entry entry_of(const char *name)
{
    struct cairn_entry e = {.type = CAIRN_ENTRY_FIFO,
                            .name = {(const uint8_t *)name, strlen(name)},
                            .mode = 0644,
                            .uid = 1000};
    e.mtime.sec = (int64_t)e.name.len * 1000003 + name[e.name.len - 1];
    return e;
}

static void add(struct cairn_tree_builder *builder, struct repository *r, const char *name)
{
    const struct cairn_entry e = entry_of(name);
    struct cairn_error err;
    if (cairn_tree_add(builder, r->lane, split_key, &e, &err) != CAIRN_OK)
        fail_msg("%s", err.message);
}

/* A directory of the names; extra (may be NULL) stands among them. */
static struct cairn_id build(struct repository *r, const struct names *names, const char *extra)
{
    static struct cairn_tree_builder builder;
    struct cairn_id id;
    cairn_tree_builder_clear(&builder);
    for (size_t i = 0; i < names->count; i++) {
        if (extra && strcmp(extra, names->text[i]) < 0) {
            add(&builder, r, extra);
            extra = NULL;
        }
        add(&builder, r, names->text[i]);
    }
    if (extra)
        add(&builder, r, extra);
    assert_int_equal(cairn_tree_finish(&builder, r->lane, split_key, &id, NULL), CAIRN_OK);
    cairn_tree_builder_release(&builder);
    return id;
}

static void expect_names(struct repository *r, const struct cairn_id *id, const struct names *names)
{
    struct cairn_tree_reader reader = {0};
    struct cairn_error err;
    struct cairn_entry e;
    bool done = false;
    assert_int_equal(cairn_tree_reader_init(&reader, r->fetcher, id, &err), CAIRN_OK);
    for (size_t i = 0; i < names->count; i++) {
        const struct cairn_entry wanted = entry_of(names->text[i]);
        if (cairn_tree_next(&reader, &e, &done, &err) != CAIRN_OK)
            fail_msg("entry %zu: %s", i, err.message);
        assert_false(done);
        assert_int_equal(e.name.len, wanted.name.len);
        assert_memory_equal(e.name.data, wanted.name.data, wanted.name.len);
        assert_true(e.mtime.sec == wanted.mtime.sec);
    }
    assert_int_equal(cairn_tree_next(&reader, &e, &done, &err), CAIRN_OK);
    assert_true(done);
    cairn_tree_reader_release(&reader);
}

static int find(struct repository *r, const struct cairn_id *id, const char *name, size_t len)
{
    static struct cairn_tree_reader reader;
    struct cairn_entry e;
    const int status = cairn_tree_find(&reader, r->fetcher, id, name, len, &e, NULL);
    if (status == CAIRN_OK) {
        assert_int_equal(e.name.len, len);
        assert_memory_equal(e.name.data, name, len);
    }
    cairn_tree_reader_release(&reader);
    return status;
}

static void what_is_added_is_read_and_found(void **state)
{
    static const size_t counts[] = {0, 1, 2, 100, 100000};
    (void)state;
    for (size_t c = 0; c < 5; c++) {
        struct names names = make_names(counts[c]);
        struct repository r;
        repository_begin(&r);
        const struct cairn_id id = build(&r, &names, NULL);
        repository_commit(&r);
        expect_names(&r, &id, &names);
        for (size_t i = 0; i<names.count; i += names.count> 1000 ? 7 : 1) {
            char other[40];
            assert_int_equal(find(&r, &id, names.text[i], strlen(names.text[i])), CAIRN_OK);
            (void)snprintf(other, sizeof(other), "%s+", names.text[i]);
            assert_int_equal(find(&r, &id, other, strlen(other)), CAIRN_NOT_FOUND);
            assert_int_equal(find(&r, &id, other, strlen(other) - 2), CAIRN_NOT_FOUND);
        }
        assert_int_equal(find(&r, &id, "\x01", 1), CAIRN_NOT_FOUND);
        assert_int_equal(find(&r, &id, "\xff", 1), CAIRN_NOT_FOUND);
        assert_int_equal(find(&r, &id, "g", 1), CAIRN_NOT_FOUND);
        if (names.count == 0) {
            const struct cairn_id empty = {{0}};
            struct cairn_id wanted;
            cairn_store_chunk_id(r.store, CAIRN_KIND_METADATA, "\x01", 1, &wanted);
            assert_memory_equal(&id, &wanted, 32);
            assert_int_equal(find(&r, &empty, "x", 1), CAIRN_NOT_FOUND);
        }
        repository_end(&r);
        free(names.text);
    }
}

static void equal_directories_are_one(void **state)
{
    struct names names = make_names(20000);
    struct repository r;
    (void)state;
    repository_begin(&r);
    const struct cairn_id first = build(&r, &names, NULL);
    const uint64_t whole = repository_new_bytes(&r);
    const struct cairn_id second = build(&r, &names, NULL);
    assert_memory_equal(&first, &second, 32);
    assert_true(repository_new_bytes(&r) == whole);
    const struct cairn_id other = build(&r, &names, "zzz");
    assert_memory_not_equal(&first, &other, 32);
    repository_end(&r);
    free(names.text);
}

static void an_insertion_changes_few_chunks(void **state)
{
    static const char *const extras[] = {"a", "f-00009999x", "file with a name-00050000x", "z"};
    struct names names = make_names(100000);
    struct repository r;
    (void)state;
    repository_begin(&r);
    (void)build(&r, &names, NULL);
    const uint64_t whole = repository_new_bytes(&r);
    assert_true(whole > 2000000);
    for (size_t i = 0; i < 4; i++) {
        const uint64_t before = repository_new_bytes(&r);
        (void)build(&r, &names, extras[i]);
        /* A leaf (at most 256 KiB, perhaps cut in two) and what leads to it. */
        assert_in_range(repository_new_bytes(&r) - before, 1, 2 * CAIRN_TREE_LEAF_MAX_BYTES);
    }
    repository_end(&r);
    free(names.text);
}

static void names_must_ascend(void **state)
{
    static struct cairn_tree_builder builder;
    const struct cairn_entry b = entry_of("b"), a = entry_of("a");
    struct repository r;
    (void)state;
    repository_begin(&r);
    assert_int_equal(cairn_tree_add(&builder, r.lane, split_key, &b, NULL), CAIRN_OK);
    assert_int_equal(cairn_tree_add(&builder, r.lane, split_key, &b, NULL), CAIRN_MISUSE);
    assert_int_equal(cairn_tree_add(&builder, r.lane, split_key, &a, NULL), CAIRN_MISUSE);
    cairn_tree_builder_release(&builder);
    repository_end(&r);
}

/* ---- chunks made by hand ------------------------------------------------------------------- */

/* A leaf of FIFOs, one for each letter. */
static struct cairn_id leaf(struct repository *r, const char *letters)
{
    struct cairn_buf buf = CAIRN_BUF_INIT;
    cairn_buf_put_u8(&buf, 1);
    for (const char *c = letters; *c; c++) {
        const struct cairn_entry e = {.type = CAIRN_ENTRY_FIFO, .name = {(const uint8_t *)c, 1}};
        cairn_entry_encode(&e, &buf);
    }
    const struct cairn_id id = repository_put(r, buf.data, buf.len);
    cairn_buf_release(&buf);
    return id;
}

struct item {
    const char *first;
    struct cairn_id id;
    uint64_t entries;
};

static struct cairn_id inner(struct repository *r, const struct item *items, size_t count)
{
    struct cairn_buf buf = CAIRN_BUF_INIT;
    cairn_buf_put_u8(&buf, 2);
    for (size_t i = 0; i < count; i++) {
        cairn_buf_put_bytes(&buf, items[i].first, strlen(items[i].first));
        cairn_buf_put(&buf, items[i].id.bytes, 32);
        cairn_buf_put_varint(&buf, items[i].entries);
    }
    const struct cairn_id id = repository_put(r, buf.data, buf.len);
    cairn_buf_release(&buf);
    return id;
}

static int walk(struct repository *r, const struct cairn_id *id)
{
    struct cairn_tree_reader reader = {0};
    struct cairn_entry e;
    bool done = false;
    int status = cairn_tree_reader_init(&reader, r->fetcher, id, NULL);
    while (status == CAIRN_OK && !done)
        status = cairn_tree_next(&reader, &e, &done, NULL);
    cairn_tree_reader_release(&reader);
    return status;
}

#define CASES 24

static void contradictions_are_refused(void **state)
{
    struct {
        const char *what;
        struct cairn_id id;
        int status;
    } cases[CASES];
    size_t n = 0;
    struct repository r;
    (void)state;
    repository_begin(&r);
    const struct cairn_id ab = leaf(&r, "ab"), cd = leaf(&r, "cd"), none = leaf(&r, "");
    const struct cairn_id both = inner(&r, (struct item[]){{"a", ab, 2}, {"c", cd, 2}}, 2);
    const struct cairn_id absent = {{7}};
#define CASE(text, value, wanted)                                                                  \
    do {                                                                                           \
        cases[n].what = text;                                                                      \
        cases[n].id = value;                                                                       \
        cases[n].status = wanted;                                                                  \
        n++;                                                                                       \
    } while (0)
#define INNER(text, wanted, ...)                                                                   \
    do {                                                                                           \
        const struct item items[] = {__VA_ARGS__};                                                 \
        CASE(text, inner(&r, items, sizeof(items) / sizeof(items[0])), wanted);                    \
    } while (0)
    CASE("two leaves", both, CAIRN_OK);
    INNER("an inner chunk beneath another", CAIRN_OK, {"a", both, 4});
    INNER("leaves of different depth", CAIRN_OK, {"A", leaf(&r, "AB"), 2}, {"a", both, 4});
    CASE("kind 0", repository_put(&r, "\0", 1), CAIRN_CORRUPT);
    CASE("kind 3", repository_put(&r, "\3", 1), CAIRN_CORRUPT);
    CASE("an inner chunk without items", inner(&r, NULL, 0), CAIRN_CORRUPT);
    CASE("an item cut short", repository_put(&r, "\2\1axx", 5), CAIRN_CORRUPT);
    CASE("a leaf out of order", leaf(&r, "ba"), CAIRN_CORRUPT);
    CASE("a name twice", leaf(&r, "aa"), CAIRN_CORRUPT);
    CASE("an entry cut short", repository_put(&r, "\1\x09\6\1", 4), CAIRN_CORRUPT);
    INNER("leaves out of order", CAIRN_CORRUPT, {"c", cd, 2}, {"a", ab, 2});
    INNER("a leaf twice", CAIRN_CORRUPT, {"a", ab, 2}, {"a", ab, 2});
    INNER("leaves that overlap", CAIRN_CORRUPT, {"a", leaf(&r, "ad"), 2}, {"c", cd, 2});
    INNER("a first name that is too low", CAIRN_CORRUPT, {"A", ab, 2});
    INNER("a first name that is too high", CAIRN_CORRUPT, {"b", ab, 2});
    INNER("a deep first name that is too low", CAIRN_CORRUPT, {"A", both, 4});
    INNER("too few entries", CAIRN_CORRUPT, {"a", ab, 3});
    INNER("too many entries", CAIRN_CORRUPT, {"a", ab, 1}, {"c", cd, 3});
    INNER("no entries", CAIRN_CORRUPT, {"a", none, 0});
    INNER("an empty leaf beneath", CAIRN_CORRUPT, {"a", none, 1});
    INNER("far too many entries", CAIRN_CORRUPT, {"a", ab, 2}, {"c", cd, UINT64_MAX});
    INNER("a leaf that is not there", CAIRN_NOT_FOUND, {"a", ab, 2}, {"c", absent, 2});
    struct cairn_id deep = ab;
    for (int depth = 1; depth <= CAIRN_TREE_DEPTH_MAX + 1; depth++) {
        deep = inner(&r, &(struct item){"a", deep, 2}, 1);
        if (depth >= CAIRN_TREE_DEPTH_MAX)
            CASE("a deep directory", deep,
                 depth == CAIRN_TREE_DEPTH_MAX ? CAIRN_OK : CAIRN_CORRUPT);
    }
    repository_commit(&r);
    assert_int_equal(n, CASES);
    for (size_t i = 0; i < n; i++) {
        const int status = walk(&r, &cases[i].id);
        if (status != cases[i].status)
            fail_msg("%s: %s", cases[i].what, cairn_status_name(status));
        /* Whatever it is, looking for a name ends. */
        (void)find(&r, &cases[i].id, "b", 1);
        (void)find(&r, &cases[i].id, "d", 1);
    }
    assert_int_equal(find(&r, &both, "d", 1), CAIRN_OK);
    repository_end(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_added_is_read_and_found),
        cmocka_unit_test(equal_directories_are_one),
        cmocka_unit_test(an_insertion_changes_few_chunks),
        cmocka_unit_test(names_must_ascend),
        cmocka_unit_test(contradictions_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
