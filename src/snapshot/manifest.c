/* SPDX-License-Identifier: Apache-2.0 */
#include "snapshot/manifest.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"

enum {
    TAG_BEGUN = 1,
    TAG_ENDED,
    TAG_HOST,
    TAG_USER,
    TAG_PATH,
    TAG_TAG,
    TAG_PARENT,
    TAG_ROOT,
    TAG_ROOT_FIELDS,
    TAG_CHANGES,
    TAG_TOTALS,
    TAG_PROGRAM,
    TAG_OPTION,
    TAG_PROBLEMS
};

void cairn_strings_release(struct cairn_strings *strings)
{
    for (size_t i = 0; i < strings->count; i++)
        cairn_free(strings->items[i]);
    cairn_free(strings->items);
    memset(strings, 0, sizeof(*strings));
}

int cairn_strings_add(struct cairn_strings *strings, const void *bytes, size_t len,
                      struct cairn_error *err)
{
    char *copy = cairn_strndup(bytes, len);
    char **grown = copy ? cairn_realloc(strings->items, strings->count + 1, sizeof(*grown)) : NULL;
    if (grown == NULL) {
        cairn_free(copy);
        return cairn_error_no_memory(err, "a list of names");
    }
    strings->items = grown;
    strings->items[strings->count++] = copy;
    return CAIRN_OK;
}

void cairn_manifest_release(struct cairn_manifest *manifest)
{
    cairn_free(manifest->host);
    cairn_free(manifest->user);
    cairn_free(manifest->program);
    cairn_strings_release(&manifest->paths);
    cairn_strings_release(&manifest->tags);
    cairn_strings_release(&manifest->options);
    cairn_buf_release(&manifest->root_fields);
    memset(manifest, 0, sizeof(*manifest));
}

static void put(struct cairn_buf *out, uint64_t tag, const void *bytes, size_t len)
{
    cairn_buf_put_varint(out, tag);
    cairn_buf_put_bytes(out, bytes, len);
}

static void put_string(struct cairn_buf *out, uint64_t tag, const char *string)
{
    if (string)
        put(out, tag, string, strlen(string));
}

static void put_strings(struct cairn_buf *out, uint64_t tag, const struct cairn_strings *strings)
{
    for (size_t i = 0; i < strings->count; i++)
        put_string(out, tag, strings->items[i]);
}

static void put_time(struct cairn_buf *out, uint64_t tag, int64_t ns)
{
    uint8_t bytes[10];
    put(out, tag, bytes, cairn_varint_encode(bytes, cairn_zigzag(ns)));
}

void cairn_manifest_encode(const struct cairn_manifest *m, struct cairn_buf *out)
{
    put_time(out, TAG_BEGUN, m->begun_ns);
    put_time(out, TAG_ENDED, m->ended_ns);
    put_string(out, TAG_HOST, m->host);
    put_string(out, TAG_USER, m->user);
    put_strings(out, TAG_PATH, &m->paths);
    put_strings(out, TAG_TAG, &m->tags);
    if (m->has_parent)
        put(out, TAG_PARENT, m->parent.bytes, 32);
    put(out, TAG_ROOT, m->root.bytes, 32);
    put(out, TAG_ROOT_FIELDS, m->root_fields.data, m->root_fields.len);
    if (m->has_changes)
        put(out, TAG_CHANGES, m->changes.bytes, 32);
    const uint64_t totals[] = {m->files, m->dirs, m->others, m->bytes, m->bytes_added, m->problems};
    uint8_t bytes[sizeof(totals) / sizeof(totals[0]) * 10];
    size_t len = 0;
    for (size_t i = 0; i < sizeof(totals) / sizeof(totals[0]); i++)
        len += cairn_varint_encode(bytes + len, totals[i]);
    put(out, TAG_TOTALS, bytes, len);
    put_string(out, TAG_PROGRAM, m->program);
    put_strings(out, TAG_OPTION, &m->options);
    if (m->has_problem_list)
        put(out, TAG_PROBLEMS, m->problem_list.bytes, 32);
}

static int set_string(char **out, struct cairn_slice value, struct cairn_error *err)
{
    *out = cairn_strndup((const char *)value.data, value.len);
    return *out ? CAIRN_OK : cairn_error_no_memory(err, "a snapshot's description");
}

static void decode_totals(struct cairn_manifest *m, struct cairn_reader *r)
{
    m->files = cairn_reader_varint(r);
    m->dirs = cairn_reader_varint(r);
    m->others = cairn_reader_varint(r);
    m->bytes = cairn_reader_varint(r);
    m->bytes_added = cairn_reader_varint(r);
    m->problems = cairn_reader_varint(r);
}

/* One field; numbers and ids are read through r, which must then be at its end. */
static int decode_field(struct cairn_manifest *m, uint64_t tag, struct cairn_slice value,
                        struct cairn_reader *r, struct cairn_error *err)
{
    int status = CAIRN_OK;
    switch (tag) {
    case TAG_BEGUN:
        m->begun_ns = cairn_reader_svarint(r);
        return CAIRN_OK;
    case TAG_ENDED:
        m->ended_ns = cairn_reader_svarint(r);
        return CAIRN_OK;
    case TAG_PARENT:
        m->has_parent = true;
        cairn_reader_copy(r, m->parent.bytes, 32);
        return CAIRN_OK;
    case TAG_ROOT:
        cairn_reader_copy(r, m->root.bytes, 32);
        return CAIRN_OK;
    case TAG_CHANGES:
        m->has_changes = true;
        cairn_reader_copy(r, m->changes.bytes, 32);
        return CAIRN_OK;
    case TAG_TOTALS:
        decode_totals(m, r);
        return CAIRN_OK;
    case TAG_PROBLEMS:
        m->has_problem_list = true;
        cairn_reader_copy(r, m->problem_list.bytes, 32);
        return CAIRN_OK;
    case TAG_HOST:
        status = set_string(&m->host, value, err);
        break;
    case TAG_USER:
        status = set_string(&m->user, value, err);
        break;
    case TAG_PROGRAM:
        status = set_string(&m->program, value, err);
        break;
    case TAG_PATH:
        status = cairn_strings_add(&m->paths, value.data, value.len, err);
        break;
    case TAG_TAG:
        status = cairn_strings_add(&m->tags, value.data, value.len, err);
        break;
    case TAG_OPTION:
        status = cairn_strings_add(&m->options, value.data, value.len, err);
        break;
    case TAG_ROOT_FIELDS:
        cairn_buf_put(&m->root_fields, value.data, value.len);
        status = cairn_buf_check(&m->root_fields, "a snapshot's description", err);
        break;
    default:
        if (tag < 64)
            return cairn_error_set(
                err, CAIRN_UNSUPPORTED, 0,
                "the snapshot has fields that this cairn does not know: use a newer "
                "cairn");
        break;
    }
    (void)cairn_reader_take(r, value.len);
    return status;
}

int cairn_manifest_decode(const void *bytes, size_t len, struct cairn_manifest *out,
                          struct cairn_error *err)
{
    struct cairn_manifest m = {0};
    struct cairn_reader reader;
    uint64_t before = 0;
    uint64_t seen = 0;
    int status = CAIRN_OK;
    cairn_reader_init(&reader, bytes, len);
    while (status == CAIRN_OK && cairn_reader_left(&reader) > 0) {
        uint64_t tag = cairn_reader_varint(&reader);
        struct cairn_slice value = cairn_reader_bytes(&reader);
        bool may_repeat = tag == TAG_PATH || tag == TAG_TAG || tag == TAG_OPTION;
        struct cairn_reader field;
        cairn_reader_init(&field, value.data, value.len);
        if (reader.failed || tag < before || (tag == before && !may_repeat)) {
            reader.failed = true;
            break;
        }
        before = tag;
        if (tag < 64)
            seen |= (uint64_t)1 << tag;
        status = decode_field(&m, tag, value, &field, err);
        if (status == CAIRN_OK && !cairn_reader_is_done(&field))
            reader.failed = true;
    }
    const uint64_t needed =
        1u << TAG_BEGUN | 1u << TAG_ROOT | 1u << TAG_ROOT_FIELDS | 1u << TAG_TOTALS;
    if (status == CAIRN_OK && (reader.failed || (seen & needed) != needed))
        status = cairn_error_set(err, CAIRN_CORRUPT, 0, "a snapshot's description is malformed");
    if (status == CAIRN_OK)
        *out = m;
    else
        cairn_manifest_release(&m);
    return status;
}

int cairn_manifest_root(const struct cairn_manifest *manifest, struct cairn_entry *out,
                        struct cairn_error *err)
{
    struct cairn_reader reader;
    struct cairn_entry entry = {0};
    cairn_reader_init(&reader, manifest->root_fields.data, manifest->root_fields.len);
    entry.type = cairn_reader_u8(&reader);
    if (entry.type != CAIRN_ENTRY_DIRECTORY || !cairn_entry_decode_fields(&reader, &entry) ||
        entry.has_directory)
        return cairn_error_set(err, CAIRN_CORRUPT, 0, "a snapshot's root is malformed");
    entry.has_directory = true;
    entry.directory = manifest->root;
    *out = entry;
    return CAIRN_OK;
}
