/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "snapshot/entry.h"

static uint32_t small(struct cairn_reader *r, uint64_t max)
{
    uint64_t value = cairn_reader_varint(r);
    if (value > max)
        r->failed = true;
    return (uint32_t)value;
}

static struct cairn_time read_time(struct cairn_reader *r)
{
    struct cairn_time t;
    t.sec = cairn_reader_svarint(r);
    t.nsec = small(r, 999999999);
    return t;
}

static struct cairn_slice rest(struct cairn_reader *r)
{
    return cairn_reader_take(r, cairn_reader_left(r));
}

/* Field 8: whole pairs, ascending by name. */
static bool xattrs_are_sound(struct cairn_slice xattrs)
{
    struct cairn_reader r;
    struct cairn_slice name, value, last = {NULL, 0};
    cairn_reader_init(&r, xattrs.data, xattrs.len);
    while (cairn_xattr_decode(&r, &name, &value)) {
        const size_t common = last.len < name.len ? last.len : name.len;
        const int order = common ? memcmp(last.data, name.data, common) : 0;
        if (order > 0 || (order == 0 && last.len >= name.len))
            return false;
        last = name;
    }
    return cairn_reader_is_done(&r);
}

static void decode_attributes(struct cairn_reader *r, struct cairn_entry *e)
{
    e->mode = small(r, 07777);
    e->uid = small(r, UINT32_MAX);
    e->gid = small(r, UINT32_MAX);
    e->mtime = read_time(r);
}

/* One known field. Returns false for a tag that is not known. */
static bool decode_field(struct cairn_entry *e, uint64_t tag, struct cairn_reader *r)
{
    switch (tag) {
    case 1:
        decode_attributes(r, e);
        break;
    case 2:
        e->size = cairn_reader_varint(r);
        r->failed |= e->type != CAIRN_ENTRY_FILE || e->size > INT64_MAX;
        break;
    case 3:
        e->has_content = true;
        e->content_level = small(r, CAIRN_CONTENT_LEVEL_MAX);
        e->content = rest(r);
        r->failed |= e->type != CAIRN_ENTRY_FILE || e->content.len == 0;
        break;
    case 4:
        e->has_inline = true;
        e->inline_data = rest(r);
        r->failed |= e->type != CAIRN_ENTRY_FILE || e->inline_data.len > CAIRN_INLINE_BYTES_MAX;
        break;
    case 5:
        e->link = rest(r);
        r->failed |= e->type != CAIRN_ENTRY_SYMLINK || e->link.len == 0 ||
                     memchr(e->link.data, 0, e->link.len) != NULL;
        break;
    case 6:
        e->rdev_major = small(r, UINT32_MAX);
        e->rdev_minor = small(r, UINT32_MAX);
        r->failed |= e->type != CAIRN_ENTRY_BLOCK && e->type != CAIRN_ENTRY_CHARACTER;
        break;
    case 7:
        e->has_directory = true;
        cairn_reader_copy(r, e->directory.bytes, 32);
        r->failed |= e->type != CAIRN_ENTRY_DIRECTORY;
        break;
    case 8:
        e->xattrs = rest(r);
        r->failed |= !xattrs_are_sound(e->xattrs);
        break;
    case 9:
        e->has_xattrs_ref = true;
        cairn_reader_copy(r, e->xattrs_ref.bytes, 32);
        r->failed |= e->xattrs.len > 0; /* fields 8 and 9 never stand together */
        break;
    case 10:
        e->has_flags = true;
        e->flags = small(r, UINT32_MAX);
        break;
    case 11:
        e->has_project = true;
        e->project = small(r, UINT32_MAX);
        break;
    case 12:
        e->hardlink_group = cairn_reader_varint(r);
        r->failed |= e->hardlink_group == 0;
        break;
    case 64:
        e->has_btime = true;
        e->btime = read_time(r);
        break;
    case 65:
        e->has_atime = true;
        e->atime = read_time(r);
        break;
    default:
        return false;
    }
    return true;
}

bool cairn_entry_decode_fields(struct cairn_reader *reader, struct cairn_entry *entry)
{
    uint64_t before = 0;
    bool has_attributes = false, has_size = false, has_device = false;
    while (!reader->failed && cairn_reader_left(reader) > 0) {
        uint64_t tag = cairn_reader_varint(reader);
        struct cairn_slice value = cairn_reader_bytes(reader);
        struct cairn_reader field;
        cairn_reader_init(&field, value.data, value.len);
        if (reader->failed || tag <= before)
            return false;
        before = tag;
        has_attributes |= tag == 1;
        has_size |= tag == 2;
        has_device |= tag == 6;
        if (!decode_field(entry, tag, &field)) {
            if (tag < 64 && entry->unknown_field == 0)
                entry->unknown_field = tag;
        } else if (!cairn_reader_is_done(&field)) {
            return false;
        }
    }
    if (reader->failed || !has_attributes)
        return false;
    if (entry->type == CAIRN_ENTRY_SYMLINK && entry->link.len == 0)
        return false;
    if ((entry->type == CAIRN_ENTRY_BLOCK || entry->type == CAIRN_ENTRY_CHARACTER) && !has_device)
        return false;
    if (entry->type == CAIRN_ENTRY_FILE) {
        bool fits = entry->has_inline ? !entry->has_content && entry->size > 0 &&
                                            entry->inline_data.len == entry->size
                                      : entry->has_content == (entry->size > 0);
        return has_size && (fits || entry->unknown_field != 0);
    }
    return true;
}

static bool name_is_sound(struct cairn_slice name)
{
    if (name.len == 0 || name.len > CAIRN_ENTRY_NAME_MAX || memchr(name.data, '/', name.len) ||
        memchr(name.data, 0, name.len))
        return false;
    bool is_dot = name.data[0] == '.' && (name.len == 1 || (name.len == 2 && name.data[1] == '.'));
    return !is_dot;
}

bool cairn_entry_decode(struct cairn_reader *reader, struct cairn_entry *out)
{
    if (reader->failed || cairn_reader_left(reader) == 0)
        return false;
    struct cairn_slice body = cairn_reader_bytes(reader);
    struct cairn_reader r;
    struct cairn_entry entry = {0};
    cairn_reader_init(&r, body.data, body.len);
    entry.type = cairn_reader_u8(&r);
    entry.name = cairn_reader_bytes(&r);
    if (reader->failed || r.failed || entry.type < CAIRN_ENTRY_FILE ||
        entry.type > CAIRN_ENTRY_SOCKET || !name_is_sound(entry.name) ||
        !cairn_entry_decode_fields(&r, &entry) ||
        (entry.type == CAIRN_ENTRY_DIRECTORY && !entry.has_directory)) {
        reader->failed = true;
        return false;
    }
    *out = entry;
    return true;
}

bool cairn_xattr_decode(struct cairn_reader *reader, struct cairn_slice *name,
                        struct cairn_slice *value)
{
    if (reader->failed || cairn_reader_left(reader) == 0)
        return false;
    *name = cairn_reader_bytes(reader);
    *value = cairn_reader_bytes(reader);
    if (name->len == 0 || memchr(name->data, 0, name->len) != NULL)
        reader->failed = true;
    return !reader->failed;
}
