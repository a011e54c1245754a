/* SPDX-License-Identifier: Apache-2.0 */
#include <sys/stat.h>

#include "snapshot/entry.h"

static const struct {
    uint32_t st;
    int type;
} types[] = {
    {S_IFREG, CAIRN_ENTRY_FILE},      {S_IFDIR, CAIRN_ENTRY_DIRECTORY},
    {S_IFLNK, CAIRN_ENTRY_SYMLINK},   {S_IFBLK, CAIRN_ENTRY_BLOCK},
    {S_IFCHR, CAIRN_ENTRY_CHARACTER}, {S_IFIFO, CAIRN_ENTRY_FIFO},
    {S_IFSOCK, CAIRN_ENTRY_SOCKET},
};

uint32_t cairn_entry_st_mode(const struct cairn_entry *entry)
{
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        if (types[i].type == entry->type)
            return types[i].st | entry->mode;
    }
    return entry->mode;
}

int cairn_entry_type_of(uint32_t st_mode)
{
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        if (types[i].st == (st_mode & S_IFMT))
            return types[i].type;
    }
    return 0;
}

/* A field made of numbers: its length is known before they are written. */
static void put_numbers(struct cairn_buf *out, uint64_t tag, const uint64_t *numbers, size_t count)
{
    size_t len = 0;
    for (size_t i = 0; i < count; i++)
        len += cairn_varint_size(numbers[i]);
    cairn_buf_put_varint(out, tag);
    cairn_buf_put_varint(out, len);
    for (size_t i = 0; i < count; i++)
        cairn_buf_put_varint(out, numbers[i]);
}

static void put_bytes(struct cairn_buf *out, uint64_t tag, const void *bytes, size_t len)
{
    cairn_buf_put_varint(out, tag);
    cairn_buf_put_bytes(out, bytes, len);
}

void cairn_entry_encode_fields(const struct cairn_entry *e, bool with_directory,
                               struct cairn_buf *out)
{
    put_numbers(out, 1,
                (uint64_t[]){e->mode, e->uid, e->gid, cairn_zigzag(e->mtime.sec), e->mtime.nsec},
                5);
    if (e->type == CAIRN_ENTRY_FILE)
        put_numbers(out, 2, &e->size, 1);
    if (e->has_content) {
        cairn_buf_put_varint(out, 3);
        cairn_buf_put_varint(out, cairn_varint_size(e->content_level) + e->content.len);
        cairn_buf_put_varint(out, e->content_level);
        cairn_buf_put(out, e->content.data, e->content.len);
    }
    if (e->has_inline)
        put_bytes(out, 4, e->inline_data.data, e->inline_data.len);
    if (e->type == CAIRN_ENTRY_SYMLINK)
        put_bytes(out, 5, e->link.data, e->link.len);
    if (e->type == CAIRN_ENTRY_BLOCK || e->type == CAIRN_ENTRY_CHARACTER)
        put_numbers(out, 6, (uint64_t[]){e->rdev_major, e->rdev_minor}, 2);
    if (e->has_directory && with_directory)
        put_bytes(out, 7, e->directory.bytes, 32);
    if (e->xattrs.len > 0)
        put_bytes(out, 8, e->xattrs.data, e->xattrs.len);
    if (e->has_xattrs_ref)
        put_bytes(out, 9, e->xattrs_ref.bytes, 32);
    if (e->has_flags)
        put_numbers(out, 10, &e->flags, 1);
    if (e->has_project)
        put_numbers(out, 11, &e->project, 1);
    if (e->hardlink_group)
        put_numbers(out, 12, &e->hardlink_group, 1);
    if (e->has_btime)
        put_numbers(out, 64, (uint64_t[]){cairn_zigzag(e->btime.sec), e->btime.nsec}, 2);
    if (e->has_atime)
        put_numbers(out, 65, (uint64_t[]){cairn_zigzag(e->atime.sec), e->atime.nsec}, 2);
}

void cairn_entry_encode(const struct cairn_entry *entry, struct cairn_buf *out)
{
    /* The length comes first; almost always it takes two bytes, so two are kept free and moved only
     * when they do not fit. */
    size_t start = out->len;
    cairn_buf_put_zero(out, 2);
    cairn_buf_put_u8(out, (uint8_t)entry->type);
    cairn_buf_put_bytes(out, entry->name.data, entry->name.len);
    cairn_entry_encode_fields(entry, true, out);
    if (out->failed)
        return;
    uint8_t prefix[10];
    size_t len = out->len - start - 2;
    size_t prefix_len = cairn_varint_encode(prefix, len);
    if (prefix_len > 2)
        cairn_buf_put_zero(out, prefix_len - 2);
    if (out->failed)
        return;
    if (prefix_len != 2) {
        __builtin_memmove(out->data + start + prefix_len, out->data + start + 2, len);
        out->len = start + prefix_len + len;
    }
    __builtin_memcpy(out->data + start, prefix, prefix_len);
}

void cairn_xattr_encode(struct cairn_buf *out, const void *name, size_t name_len, const void *value,
                        size_t value_len)
{
    cairn_buf_put_bytes(out, name, name_len);
    cairn_buf_put_bytes(out, value, value_len);
}
