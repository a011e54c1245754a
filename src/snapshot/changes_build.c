/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/error.h"
#include "snapshot/changes.h"

enum { NODE_RECORDS = 1, NODE_PARTS = 2 };
enum { TRUSTED = 1, CHILD_INLINE = 2, CHILD_CHUNK = 4, OTHER_DEVICE = 8 };

static void begin_node(struct cairn_changes_builder *builder)
{
    cairn_buf_clear(&builder->node);
    cairn_buf_put_u8(&builder->node, NODE_RECORDS);
    cairn_buf_put_varint(&builder->node, builder->device);
}

void cairn_changes_builder_begin(struct cairn_changes_builder *builder, uint64_t device)
{
    builder->device = device;
    cairn_buf_clear(&builder->parts);
    begin_node(builder);
}

void cairn_changes_builder_release(struct cairn_changes_builder *builder)
{
    cairn_buf_release(&builder->node);
    cairn_buf_release(&builder->parts);
}

/* Stores a node, or a part of one. */
static int put(struct cairn_changes_builder *builder, struct cairn_lane *lane,
               const struct cairn_buf *node, struct cairn_id *id, struct cairn_error *err)
{
    bool is_new = false;
    int status = cairn_lane_put(lane, node->data, node->len, id, &is_new, err);
    if (status == CAIRN_OK && is_new)
        builder->stored += node->len;
    return status;
}

static int store_part(struct cairn_changes_builder *builder, struct cairn_lane *lane,
                      struct cairn_error *err)
{
    struct cairn_id id;
    int status = put(builder, lane, &builder->node, &id, err);
    if (status != CAIRN_OK)
        return status;
    cairn_buf_put(&builder->parts, id.bytes, 32);
    begin_node(builder);
    return cairn_buf_check(&builder->parts, "change detection", err);
}

int cairn_changes_add(struct cairn_changes_builder *builder, struct cairn_lane *lane,
                      const struct cairn_change_record *record, const struct cairn_buf *child,
                      struct cairn_error *err)
{
    struct cairn_buf *node = &builder->node;
    struct cairn_id id;
    unsigned flags = record->is_trusted ? TRUSTED : 0;
    if (record->device != builder->device)
        flags |= OTHER_DEVICE;
    if (child && child->len > CAIRN_CHANGES_INLINE_BYTES) {
        int status = put(builder, lane, child, &id, err);
        if (status != CAIRN_OK)
            return status;
        flags |= CHILD_CHUNK;
    } else if (child) {
        flags |= CHILD_INLINE;
    }
    cairn_buf_put_u8(node, (uint8_t)flags);
    cairn_buf_put_varint(node, record->inode);
    cairn_buf_put_svarint(node, record->ctime.sec);
    cairn_buf_put_varint(node, record->ctime.nsec);
    if (flags & OTHER_DEVICE)
        cairn_buf_put_varint(node, record->device);
    if (flags & CHILD_INLINE)
        cairn_buf_put_bytes(node, child->data, child->len);
    if (flags & CHILD_CHUNK)
        cairn_buf_put(node, id.bytes, 32);
    int status = cairn_buf_check(node, "change detection", err);
    if (status == CAIRN_OK && node->len >= CAIRN_CHANGES_NODE_BYTES)
        status = store_part(builder, lane, err);
    return status;
}

int cairn_changes_finish(struct cairn_changes_builder *builder, struct cairn_lane *lane,
                         struct cairn_buf *out, struct cairn_error *err)
{
    cairn_buf_clear(out);
    if (builder->parts.len == 0) {
        cairn_buf_put(out, builder->node.data, builder->node.len);
    } else {
        int status = store_part(builder, lane, err);
        if (status != CAIRN_OK)
            return status;
        cairn_buf_put_u8(out, NODE_PARTS);
        cairn_buf_put(out, builder->parts.data, builder->parts.len);
    }
    return cairn_buf_check(out, "change detection", err);
}
