/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/error.h"
#include "snapshot/changes.h"

enum { NODE_RECORDS = 1, NODE_PARTS = 2 };
enum { TRUSTED = 1, CHILD_INLINE = 2, CHILD_CHUNK = 4, OTHER_DEVICE = 8 };

static int malformed(struct cairn_error *err)
{
    return cairn_error_set(err, CAIRN_CORRUPT, 0, "a change-detection stream is malformed");
}

/* Makes bytes the node part that is being read. Only the first may be a list of parts. */
static int load(struct cairn_changes_reader *reader, const void *bytes, size_t len, bool is_first,
                struct cairn_error *err)
{
    cairn_buf_clear(&reader->node);
    cairn_buf_put(&reader->node, bytes, len);
    int status = cairn_buf_check(&reader->node, "change detection", err);
    if (status != CAIRN_OK)
        return status;
    cairn_reader_init(&reader->records, reader->node.data, reader->node.len);
    int kind = cairn_reader_u8(&reader->records);
    if (kind == NODE_PARTS && is_first) {
        cairn_buf_put(&reader->parts, reader->node.data + 1, reader->node.len - 1);
        status = cairn_buf_check(&reader->parts, "change detection", err);
        cairn_reader_init(&reader->more, reader->parts.data, reader->parts.len);
        cairn_reader_init(&reader->records, NULL, 0);
        return status;
    }
    reader->device = cairn_reader_varint(&reader->records);
    return kind == NODE_RECORDS && !reader->records.failed ? CAIRN_OK : malformed(err);
}

int cairn_changes_reader_init(struct cairn_changes_reader *reader, struct cairn_fetcher *fetcher,
                              const void *node, size_t len, struct cairn_error *err)
{
    reader->fetcher = fetcher;
    reader->child_kind = 0;
    cairn_buf_clear(&reader->parts);
    cairn_reader_init(&reader->more, NULL, 0);
    return load(reader, node, len, true, err);
}

int cairn_changes_reader_init_chunk(struct cairn_changes_reader *reader,
                                    struct cairn_fetcher *fetcher, const struct cairn_id *id,
                                    struct cairn_error *err)
{
    struct cairn_slice data;
    int status = cairn_fetcher_get(fetcher, CAIRN_KIND_METADATA, id, &data, err);
    if (status != CAIRN_OK)
        return status;
    return cairn_changes_reader_init(reader, fetcher, data.data, data.len, err);
}

int cairn_changes_reader_init_child(struct cairn_changes_reader *reader,
                                    const struct cairn_changes_reader *parent,
                                    struct cairn_error *err)
{
    if (parent->child_kind == 1)
        return cairn_changes_reader_init(reader, parent->fetcher, parent->child.data,
                                         parent->child.len, err);
    if (parent->child_kind == 2)
        return cairn_changes_reader_init_chunk(reader, parent->fetcher, &parent->child_id, err);
    return cairn_error_set(err, CAIRN_NOT_FOUND, 0, "the entry has no change-detection node");
}

void cairn_changes_reader_release(struct cairn_changes_reader *reader)
{
    cairn_buf_release(&reader->node);
    cairn_buf_release(&reader->parts);
}

int cairn_changes_next(struct cairn_changes_reader *reader, struct cairn_change_record *record,
                       bool *done, struct cairn_error *err)
{
    struct cairn_reader *r = &reader->records;
    while (cairn_reader_left(r) == 0) {
        struct cairn_id id;
        struct cairn_slice data;
        if (cairn_reader_left(&reader->more) == 0) {
            *done = true;
            return r->failed || reader->more.failed ? malformed(err) : CAIRN_OK;
        }
        cairn_reader_copy(&reader->more, id.bytes, 32);
        if (reader->more.failed)
            return malformed(err);
        int status = cairn_fetcher_get(reader->fetcher, CAIRN_KIND_METADATA, &id, &data, err);
        if (status == CAIRN_OK)
            status = load(reader, data.data, data.len, false, err);
        if (status != CAIRN_OK)
            return status;
    }
    unsigned flags = cairn_reader_u8(r);
    struct cairn_change_record found = {.is_trusted = flags & TRUSTED, .device = reader->device};
    found.inode = cairn_reader_varint(r);
    found.ctime.sec = cairn_reader_svarint(r);
    uint64_t nsec = cairn_reader_varint(r);
    found.ctime.nsec = (uint32_t)nsec;
    if (flags & OTHER_DEVICE)
        found.device = cairn_reader_varint(r);
    reader->child_kind = 0;
    if (flags & CHILD_INLINE) {
        reader->child = cairn_reader_bytes(r);
        reader->child_kind = 1;
    } else if (flags & CHILD_CHUNK) {
        cairn_reader_copy(r, reader->child_id.bytes, 32);
        reader->child_kind = 2;
    }
    if (r->failed || nsec > 999999999 || flags > 15 ||
        (flags & (CHILD_INLINE | CHILD_CHUNK)) == (CHILD_INLINE | CHILD_CHUNK))
        return malformed(err);
    *record = found;
    *done = false;
    return CAIRN_OK;
}
