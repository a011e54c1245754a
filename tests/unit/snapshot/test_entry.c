/* SPDX-License-Identifier: Apache-2.0
 *
 * Directory entries: everything comes back, and each rule of docs/format.md, section 9, is
 * violated once and the entry refused.
 */
#include "../store/test.h"

#include <sys/stat.h>

#include "snapshot/entry.h"

static struct cairn_slice slice(const void *bytes, size_t len)
{
    return (struct cairn_slice){bytes, len};
}

static void expect_slice(struct cairn_slice got, struct cairn_slice wanted)
{
    assert_int_equal(got.len, wanted.len);
    if (wanted.len > 0)
        assert_memory_equal(got.data, wanted.data, wanted.len);
}

static void expect_time(struct cairn_time got, struct cairn_time wanted)
{
    assert_true(got.sec == wanted.sec && got.nsec == wanted.nsec);
}

static void expect_entry(const struct cairn_entry *got, const struct cairn_entry *wanted)
{
    assert_int_equal(got->type, wanted->type);
    expect_slice(got->name, wanted->name);
    assert_int_equal(got->mode, wanted->mode);
    assert_int_equal(got->uid, wanted->uid);
    assert_int_equal(got->gid, wanted->gid);
    expect_time(got->mtime, wanted->mtime);
    assert_true(got->size == wanted->size);
    assert_int_equal(got->has_content, wanted->has_content);
    assert_int_equal(got->content_level, wanted->content_level);
    expect_slice(got->content, wanted->content);
    assert_int_equal(got->has_inline, wanted->has_inline);
    expect_slice(got->inline_data, wanted->inline_data);
    expect_slice(got->link, wanted->link);
    assert_int_equal(got->rdev_major, wanted->rdev_major);
    assert_int_equal(got->rdev_minor, wanted->rdev_minor);
    assert_int_equal(got->has_directory, wanted->has_directory);
    assert_memory_equal(&got->directory, &wanted->directory, 32);
    expect_slice(got->xattrs, wanted->xattrs);
    assert_int_equal(got->has_xattrs_ref, wanted->has_xattrs_ref);
    assert_memory_equal(&got->xattrs_ref, &wanted->xattrs_ref, 32);
    assert_int_equal(got->has_flags, wanted->has_flags);
    assert_true(got->flags == wanted->flags && got->project == wanted->project);
    assert_int_equal(got->has_project, wanted->has_project);
    assert_true(got->hardlink_group == wanted->hardlink_group);
    assert_int_equal(got->has_btime, wanted->has_btime);
    assert_int_equal(got->has_atime, wanted->has_atime);
    expect_time(got->btime, wanted->btime);
    expect_time(got->atime, wanted->atime);
    assert_int_equal(got->unknown_field, 0);
}

/* Between two others, and cut at every length. */
static void round_trip(const struct cairn_entry *entry)
{
    const struct cairn_entry plain = {.type = CAIRN_ENTRY_FIFO, .name = slice("f", 1)};
    struct cairn_buf buf = CAIRN_BUF_INIT;
    struct cairn_reader r;
    struct cairn_entry got;
    cairn_entry_encode(&plain, &buf);
    cairn_entry_encode(entry, &buf);
    cairn_entry_encode(&plain, &buf);
    cairn_reader_init(&r, buf.data, buf.len);
    assert_true(cairn_entry_decode(&r, &got));
    expect_entry(&got, &plain);
    assert_true(cairn_entry_decode(&r, &got));
    expect_entry(&got, entry);
    assert_true(cairn_entry_decode(&r, &got));
    expect_entry(&got, &plain);
    assert_false(cairn_entry_decode(&r, &got));
    assert_false(r.failed);
    cairn_buf_clear(&buf);
    cairn_entry_encode(entry, &buf);
    for (size_t len = 1; len < buf.len; len += len < 400 ? 1 : 97) {
        uint8_t *exact = malloc(len);
        assert_non_null(exact);
        memcpy(exact, buf.data, len);
        cairn_reader_init(&r, exact, len);
        assert_false(cairn_entry_decode(&r, &got));
        assert_true(r.failed);
        free(exact);
    }
    cairn_buf_release(&buf);
}

static void every_type_comes_back(void **state)
{
    uint8_t long_name[CAIRN_ENTRY_NAME_MAX], items[33 * 3], data[CAIRN_INLINE_BYTES_MAX];
    struct cairn_buf xattrs = CAIRN_BUF_INIT;
    (void)state;
    for (size_t i = 0; i < sizeof(long_name); i++) /* any byte but NUL and '/' */
        long_name[i] = (uint8_t)(i % 254 + 1 + (i % 254 + 1 >= '/'));
    test_fill(items, sizeof(items), 1);
    test_fill(data, sizeof(data), 2);
    cairn_xattr_encode(&xattrs, "user.a", 6, "", 0);
    cairn_xattr_encode(&xattrs, "user.ab", 7, data, 3000);
    const struct cairn_entry base = {.name = slice(long_name, 255),
                                     .mode = 07777,
                                     .uid = UINT32_MAX,
                                     .gid = UINT32_MAX,
                                     .mtime = {INT64_MIN, 999999999}};
    static const size_t name_lengths[] = {1, 2, 63, 127, 128, 255, 256, 4094, 4095};
    for (size_t n = 0; n < 9; n++) {
        for (int type = CAIRN_ENTRY_FILE; type <= CAIRN_ENTRY_SOCKET; type++) {
            struct cairn_entry e = base;
            e.type = type;
            e.name.len = name_lengths[n];
            e.mtime.sec = n % 2 ? INT64_MAX : INT64_MIN;
            e.has_directory = type == CAIRN_ENTRY_DIRECTORY;
            if (e.has_directory)
                memset(&e.directory, 0xee, 32);
            if (type == CAIRN_ENTRY_SYMLINK)
                e.link = slice(long_name, 4095);
            if (type == CAIRN_ENTRY_BLOCK || type == CAIRN_ENTRY_CHARACTER) {
                e.rdev_major = UINT32_MAX;
                e.rdev_minor = n == 0 ? 0 : UINT32_MAX;
            }
            round_trip(&e);
            e.has_flags = e.has_project = e.has_btime = e.has_atime = true;
            e.flags = e.project = UINT32_MAX;
            e.hardlink_group = UINT64_MAX;
            e.btime = (struct cairn_time){INT64_MAX, 0};
            e.atime = (struct cairn_time){-1, 1};
            e.xattrs = slice(xattrs.data, xattrs.len);
            round_trip(&e);
            e.xattrs.len = 0;
            e.has_xattrs_ref = true;
            memset(&e.xattrs_ref, 0xdd, 32);
            round_trip(&e);
        }
    }
    for (unsigned level = 0; level <= CAIRN_CONTENT_LEVEL_MAX; level++) {
        struct cairn_entry e = base;
        e.type = CAIRN_ENTRY_FILE;
        e.size = INT64_MAX;
        e.has_content = true;
        e.content_level = level;
        e.content = slice(items, sizeof(items));
        round_trip(&e);
    }
    for (size_t len = 1; len <= sizeof(data); len = len * 2 + (len == 2048 ? 0 : 1)) {
        struct cairn_entry e = base;
        e.type = CAIRN_ENTRY_FILE;
        e.size = len;
        e.has_inline = true;
        e.inline_data = slice(data, len);
        round_trip(&e);
    }
    cairn_buf_release(&xattrs);
}

static void modes_and_types_agree(void **state)
{
    static const uint32_t modes[] = {S_IFREG, S_IFDIR, S_IFLNK, S_IFBLK,
                                     S_IFCHR, S_IFIFO, S_IFSOCK};
    (void)state;
    for (int i = 0; i < 7; i++) {
        const struct cairn_entry e = {.type = i + 1, .mode = 04711};
        assert_int_equal(cairn_entry_type_of(modes[i] | 04711), i + 1);
        assert_int_equal(cairn_entry_st_mode(&e), modes[i] | 04711);
    }
    assert_int_equal(cairn_entry_type_of(0), 0);
    assert_int_equal(cairn_entry_type_of(S_IFMT), 0);
}

/* ---- violations ---------------------------------------------------------------------------- */

/* A field, as text: its tag, then the value's bytes. */
struct field {
    uint64_t tag;
    const char *value;
    size_t len;
};
#define FIELD(tag, literal)                                                                        \
    {                                                                                              \
        tag, literal, sizeof(literal) - 1                                                          \
    }
#define ATTRIBUTES FIELD(1, "\xa4\x03\0\0\0\0")
#define SIZE(n) FIELD(2, n)
#define ID "iiiiiiiiiiiiiiiiiiiiiiiiiiiiiiii"

struct body {
    const char *what;
    int type;
    const char *name; /* NULL: "name" */
    struct field fields[6];
};

static void encode_body(const struct body *b, struct cairn_buf *out)
{
    struct cairn_buf body = CAIRN_BUF_INIT;
    const char *name = b->name ? b->name : "name";
    cairn_buf_put_u8(&body, (uint8_t)b->type);
    cairn_buf_put_bytes(&body, name, strlen(name));
    for (const struct field *f = b->fields; f->value != NULL; f++) {
        cairn_buf_put_varint(&body, f->tag);
        cairn_buf_put_bytes(&body, f->value, f->len);
    }
    cairn_buf_put_bytes(out, body.data, body.len);
    cairn_buf_release(&body);
}

static bool is_taken(const struct body *b, struct cairn_entry *entry)
{
    static struct cairn_buf buf;
    struct cairn_reader r;
    cairn_buf_clear(&buf);
    encode_body(b, &buf);
    cairn_reader_init(&r, buf.data, buf.len);
    const bool taken = cairn_entry_decode(&r, entry);
    assert_int_equal(taken, !r.failed);
    return taken;
}

static const struct body right[] = {
    {"an empty file", 1, NULL, {ATTRIBUTES, SIZE("\0")}},
    {"a file with content", 1, NULL, {ATTRIBUTES, SIZE("\x05"), FIELD(3, "\0\x0a" ID)}},
    {"a file with inline content", 1, NULL, {ATTRIBUTES, SIZE("\x05"), FIELD(4, "hello")}},
    {"a directory", 2, NULL, {ATTRIBUTES, FIELD(7, ID)}},
    {"a symlink", 3, NULL, {ATTRIBUTES, FIELD(5, "/x")}},
    {"a block device", 4, NULL, {ATTRIBUTES, FIELD(6, "\x08\x01")}},
    {"a character device", 5, NULL, {ATTRIBUTES, FIELD(6, "\x08\x01")}},
    {"a FIFO", 6, NULL, {ATTRIBUTES}},
    {"a socket", 7, NULL, {ATTRIBUTES}},
    {"extended attributes", 6, NULL, {ATTRIBUTES, FIELD(8, "\1a\0\1b\0")}},
    {"three dots", 6, "...", {ATTRIBUTES}},
    {"two dots and more", 6, "..x", {ATTRIBUTES}},
    {"an unknown field from 64 on", 6, NULL, {ATTRIBUTES, FIELD(99, "any")}},
    {"a whole-file hash", 1, NULL, {ATTRIBUTES, SIZE("\0"), FIELD(66, "\1" ID)}},
    {"the largest mode", 6, NULL, {FIELD(1, "\xff\x1f\0\0\0\0")}},
};

static const struct body wrong[] = {
    {"type 0", 0, NULL, {ATTRIBUTES}},
    {"type 8", 8, NULL, {ATTRIBUTES}},
    {"an empty name", 6, "", {ATTRIBUTES}},
    {"a slash", 6, "a/b", {ATTRIBUTES}},
    {"one dot", 6, ".", {ATTRIBUTES}},
    {"two dots", 6, "..", {ATTRIBUTES}},
    {"no attributes", 6, NULL, {FIELD(10, "\0")}},
    {"no fields", 6, NULL, {{0}}},
    {"tag 0", 6, NULL, {FIELD(0, ""), ATTRIBUTES}},
    {"tags out of order", 1, NULL, {SIZE("\0"), ATTRIBUTES}},
    {"a tag twice", 6, NULL, {ATTRIBUTES, ATTRIBUTES}},
    {"an unknown tag twice", 6, NULL, {ATTRIBUTES, FIELD(99, ""), FIELD(99, "")}},
    {"short attributes", 6, NULL, {FIELD(1, "\xa4\x03\0\0\0")}},
    {"long attributes", 6, NULL, {FIELD(1, "\xa4\x03\0\0\0\0\0")}},
    {"a mode with a type", 6, NULL, {FIELD(1, "\x80\x20\0\0\0\0")}},
    {"a uid above 32 bits", 6, NULL, {FIELD(1, "\0\x80\x80\x80\x80\x10\0\0\0")}},
    {"a gid above 32 bits", 6, NULL, {FIELD(1, "\0\0\x80\x80\x80\x80\x10\0\0")}},
    {"a second of 10^9 ns", 6, NULL, {FIELD(1, "\0\0\0\0\x80\x94\xeb\xdc\x03")}},
    {"a file without size", 1, NULL, {ATTRIBUTES}},
    {"a size that is no file's", 6, NULL, {ATTRIBUTES, SIZE("\0")}},
    {"a size above 2^63",
     1,
     NULL,
     {ATTRIBUTES, SIZE("\x80\x80\x80\x80\x80\x80\x80\x80\x80\1"), FIELD(3, "\0\x0a" ID)}},
    {"a size in a longer form", 1, NULL, {ATTRIBUTES, SIZE("\x80\0")}},
    {"a file of size 5 without content", 1, NULL, {ATTRIBUTES, SIZE("\x05")}},
    {"an empty file with content", 1, NULL, {ATTRIBUTES, SIZE("\0"), FIELD(3, "\0\x0a" ID)}},
    {"an empty file with inline content", 1, NULL, {ATTRIBUTES, SIZE("\0"), FIELD(4, "")}},
    {"content of nothing", 1, NULL, {ATTRIBUTES, SIZE("\x05"), FIELD(3, "\0")}},
    {"content without a level", 1, NULL, {ATTRIBUTES, SIZE("\x05"), FIELD(3, "")}},
    {"content of level 5", 1, NULL, {ATTRIBUTES, SIZE("\x05"), FIELD(3, "\x05\x0a" ID)}},
    {"content of a FIFO", 6, NULL, {ATTRIBUTES, FIELD(3, "\0\x0a" ID)}},
    {"both contents",
     1,
     NULL,
     {ATTRIBUTES, SIZE("\x05"), FIELD(3, "\0\x0a" ID), FIELD(4, "hello")}},
    {"inline content too short", 1, NULL, {ATTRIBUTES, SIZE("\x05"), FIELD(4, "hell")}},
    {"inline content too long", 1, NULL, {ATTRIBUTES, SIZE("\x05"), FIELD(4, "hello!")}},
    {"inline content of a symlink", 3, NULL, {ATTRIBUTES, FIELD(4, ""), FIELD(5, "x")}},
    {"a symlink without target", 3, NULL, {ATTRIBUTES}},
    {"a symlink to nothing", 3, NULL, {ATTRIBUTES, FIELD(5, "")}},
    {"a symlink target with NUL", 3, NULL, {ATTRIBUTES, FIELD(5, "a\0b")}},
    {"a target that is no symlink's", 2, NULL, {ATTRIBUTES, FIELD(5, "x"), FIELD(7, ID)}},
    {"a block device without numbers", 4, NULL, {ATTRIBUTES}},
    {"a character device without numbers", 5, NULL, {ATTRIBUTES}},
    {"a device number that is no device's", 6, NULL, {ATTRIBUTES, FIELD(6, "\x08\x01")}},
    {"a device with one number", 4, NULL, {ATTRIBUTES, FIELD(6, "\x08")}},
    {"a major number above 32 bits", 4, NULL, {ATTRIBUTES, FIELD(6, "\x80\x80\x80\x80\x10\1")}},
    {"a minor number above 32 bits", 4, NULL, {ATTRIBUTES, FIELD(6, "\1\x80\x80\x80\x80\x10")}},
    {"a directory without id", 2, NULL, {ATTRIBUTES}},
    {"an id of 31 bytes", 2, NULL, {ATTRIBUTES, FIELD(7, "iiiiiiiiiiiiiiiiiiiiiiiiiiiiiii")}},
    {"an id of 33 bytes", 2, NULL, {ATTRIBUTES, FIELD(7, ID "i")}},
    {"an id that is no directory's", 6, NULL, {ATTRIBUTES, FIELD(7, ID)}},
    {"an attribute without name", 6, NULL, {ATTRIBUTES, FIELD(8, "\0\1x")}},
    {"an attribute's name with NUL", 6, NULL, {ATTRIBUTES, FIELD(8, "\2a\0\1x")}},
    {"an attribute cut short", 6, NULL, {ATTRIBUTES, FIELD(8, "\1a\2x")}},
    {"attributes out of order", 6, NULL, {ATTRIBUTES, FIELD(8, "\1b\0\1a\0")}},
    {"an attribute twice", 6, NULL, {ATTRIBUTES, FIELD(8, "\1a\0\1a\0")}},
    {"a longer attribute first", 6, NULL, {ATTRIBUTES, FIELD(8, "\2ab\0\1a\0")}},
    {"attributes in both ways", 6, NULL, {ATTRIBUTES, FIELD(8, "\1a\0"), FIELD(9, ID)}},
    {"a short id of attributes", 6, NULL, {ATTRIBUTES, FIELD(9, "iii")}},
    {"flags above 32 bits", 6, NULL, {ATTRIBUTES, FIELD(10, "\x80\x80\x80\x80\x10")}},
    {"a project id above 32 bits", 6, NULL, {ATTRIBUTES, FIELD(11, "\x80\x80\x80\x80\x10")}},
    {"hard-link group 0", 6, NULL, {ATTRIBUTES, FIELD(12, "\0")}},
    {"a birth time cut short", 6, NULL, {ATTRIBUTES, FIELD(64, "\0")}},
    {"a birth time with too many ns", 6, NULL, {ATTRIBUTES, FIELD(64, "\0\x80\x94\xeb\xdc\x03")}},
    {"an access time too long", 6, NULL, {ATTRIBUTES, FIELD(65, "\0\0\0")}},
};

static void what_the_format_allows_is_taken(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(right) / sizeof(right[0]); i++) {
        struct cairn_entry entry;
        if (!is_taken(&right[i], &entry))
            fail_msg("refused: %s", right[i].what);
        assert_int_equal(entry.unknown_field, 0);
    }
}

static void what_it_does_not_is_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct cairn_entry entry = {.type = 77};
        if (is_taken(&wrong[i], &entry))
            fail_msg("taken: %s", wrong[i].what);
        assert_int_equal(entry.type, 77); /* untouched */
    }
}

static void names_have_bounds(void **state)
{
    char name[CAIRN_ENTRY_NAME_MAX + 2];
    struct body b = {"a name", 6, name, {ATTRIBUTES}};
    struct cairn_entry entry;
    struct cairn_buf buf = CAIRN_BUF_INIT;
    struct cairn_reader r;
    (void)state;
    memset(name, 'n', sizeof(name));
    name[CAIRN_ENTRY_NAME_MAX] = '\0';
    assert_true(is_taken(&b, &entry));
    name[CAIRN_ENTRY_NAME_MAX] = 'n';
    name[CAIRN_ENTRY_NAME_MAX + 1] = '\0';
    assert_false(is_taken(&b, &entry));
    /* A NUL within. */
    cairn_buf_put(&buf,
                  "\x0d\x06\x03"
                  "a\0b"
                  "\x01\x06\xa4\x03\0\0\0\0",
                  14);
    cairn_reader_init(&r, buf.data, buf.len);
    assert_false(cairn_entry_decode(&r, &entry));
    buf.data[4] = 'x';
    cairn_reader_init(&r, buf.data, buf.len);
    assert_true(cairn_entry_decode(&r, &entry));
    cairn_buf_release(&buf);
}

static void inline_content_has_a_bound(void **state)
{
    static char data[CAIRN_INLINE_BYTES_MAX + 1];
    struct body b = {"inline", 1, NULL, {ATTRIBUTES, SIZE("\x80\x20"), {4, data, 4096}}};
    struct cairn_entry entry;
    (void)state;
    assert_true(is_taken(&b, &entry));
    b.fields[1] = (struct field)SIZE("\x81\x20");
    b.fields[2].len = 4097;
    assert_false(is_taken(&b, &entry));
}

/* What a later version may add below 64 is told, so that a restore can report it. */
static void unknown_fields_are_told(void **state)
{
    const struct body fifo = {
        "", 6, NULL, {ATTRIBUTES, FIELD(13, "?"), FIELD(63, ""), FIELD(64, "\0\0")}};
    const struct body file = {"", 1, NULL, {ATTRIBUTES, SIZE("\x05"), FIELD(20, "new content")}};
    struct cairn_entry entry;
    (void)state;
    assert_true(is_taken(&fifo, &entry));
    assert_int_equal(entry.unknown_field, 13);
    assert_true(entry.has_btime);
    assert_true(is_taken(&file, &entry));
    assert_int_equal(entry.unknown_field, 20);
}

static void attributes_come_back(void **state)
{
    struct cairn_buf buf = CAIRN_BUF_INIT;
    struct cairn_slice name, value;
    struct cairn_reader r;
    uint8_t big[5000];
    (void)state;
    test_fill(big, sizeof(big), 4);
    cairn_xattr_encode(&buf, "security.capability", 19, "\0\1\2", 3);
    cairn_xattr_encode(&buf, "user.big", 8, big, sizeof(big));
    cairn_xattr_encode(&buf, "user.\xff", 6, NULL, 0);
    cairn_reader_init(&r, buf.data, buf.len);
    assert_true(cairn_xattr_decode(&r, &name, &value));
    expect_slice(name, slice("security.capability", 19));
    expect_slice(value, slice("\0\1\2", 3));
    assert_true(cairn_xattr_decode(&r, &name, &value));
    expect_slice(value, slice(big, sizeof(big)));
    assert_true(cairn_xattr_decode(&r, &name, &value));
    expect_slice(name, slice("user.\xff", 6));
    assert_int_equal(value.len, 0);
    assert_false(cairn_xattr_decode(&r, &name, &value));
    assert_true(cairn_reader_is_done(&r));
    cairn_buf_release(&buf);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_type_comes_back),
        cmocka_unit_test(modes_and_types_agree),
        cmocka_unit_test(what_the_format_allows_is_taken),
        cmocka_unit_test(what_it_does_not_is_refused),
        cmocka_unit_test(names_have_bounds),
        cmocka_unit_test(inline_content_has_a_bound),
        cmocka_unit_test(unknown_fields_are_told),
        cmocka_unit_test(attributes_come_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
