/* SPDX-License-Identifier: Apache-2.0 */
#include "snapshot/content.h"

#include <string.h>

#include "base/error.h"

void cairn_content_builder_clear(struct cairn_content_builder *builder)
{
    for (unsigned level = 0; level <= CAIRN_CONTENT_LEVEL_MAX; level++) {
        cairn_buf_clear(&builder->items[level]);
        builder->count[level] = 0;
        builder->bytes[level] = 0;
        builder->was_cut[level] = false;
    }
}

void cairn_content_builder_release(struct cairn_content_builder *builder)
{
    for (unsigned level = 0; level <= CAIRN_CONTENT_LEVEL_MAX; level++)
        cairn_buf_release(&builder->items[level]);
    memset(builder, 0, sizeof(*builder));
}

static int put_item(struct cairn_content_builder *builder, struct cairn_lane *lane, unsigned level,
                    const struct cairn_id *id, uint64_t len, struct cairn_error *err);

/* Stores the items of a level as a list chunk, which becomes an item of the next level. */
static int cut(struct cairn_content_builder *builder, struct cairn_lane *lane, unsigned level,
               struct cairn_error *err)
{
    struct cairn_id id;
    if (level == CAIRN_CONTENT_LEVEL_MAX)
        return cairn_error_set(err, CAIRN_LIMIT, 0, "a file has too many extents");
    int status =
        cairn_lane_put(lane, builder->items[level].data, builder->items[level].len, &id, NULL, err);
    uint64_t bytes = builder->bytes[level];
    cairn_buf_clear(&builder->items[level]);
    builder->count[level] = 0;
    builder->bytes[level] = 0;
    builder->was_cut[level] = true;
    return status == CAIRN_OK ? put_item(builder, lane, level + 1, &id, bytes, err) : status;
}

static int put_item(struct cairn_content_builder *builder, struct cairn_lane *lane, unsigned level,
                    const struct cairn_id *id, uint64_t len, struct cairn_error *err)
{
    struct cairn_buf *items = &builder->items[level];
    if (level == 0)
        cairn_buf_put_varint(items, len << 1 | (id == NULL));
    else
        cairn_buf_put_varint(items, len);
    if (id)
        cairn_buf_put(items, id->bytes, 32);
    int status = cairn_buf_check(items, "a list of chunks", err);
    size_t count = ++builder->count[level];
    builder->bytes[level] += len;
    if (status != CAIRN_OK)
        return status;
    uint8_t last = id ? id->bytes[31] : 255;
    if ((count > CAIRN_CONTENT_INLINE_ITEMS && last == 0) || count == CAIRN_CONTENT_LIST_ITEMS_MAX)
        status = cut(builder, lane, level, err);
    return status;
}

int cairn_content_add(struct cairn_content_builder *builder, struct cairn_lane *lane,
                      const struct cairn_id *id, uint64_t len, struct cairn_error *err)
{
    return put_item(builder, lane, 0, id, len, err);
}

int cairn_content_finish(struct cairn_content_builder *builder, struct cairn_lane *lane,
                         unsigned *level, struct cairn_slice *items, struct cairn_error *err)
{
    for (unsigned l = 0; l <= CAIRN_CONTENT_LEVEL_MAX; l++) {
        if (!builder->was_cut[l] && builder->count[l] <= CAIRN_CONTENT_INLINE_ITEMS) {
            *level = l;
            *items = (struct cairn_slice){builder->items[l].data, builder->items[l].len};
            return CAIRN_OK;
        }
        if (builder->count[l] > 0) {
            int status = cut(builder, lane, l, err);
            if (status != CAIRN_OK)
                return status;
        }
    }
    return cairn_error_set(err, CAIRN_LIMIT, 0, "a file has too many extents");
}

int cairn_content_reader_init(struct cairn_content_reader *reader, struct cairn_fetcher *fetcher,
                              const struct cairn_entry *entry, struct cairn_error *err)
{
    for (unsigned level = 0; level <= CAIRN_CONTENT_LEVEL_MAX; level++)
        cairn_buf_clear(&reader->lists[level]);
    reader->fetcher = fetcher;
    reader->top = reader->level = entry->content_level;
    reader->at = 0;
    reader->size = entry->size;
    struct cairn_buf *list = &reader->lists[reader->top];
    cairn_buf_put(list, entry->content.data, entry->content.len);
    cairn_reader_init(&reader->readers[reader->top], list->data, list->len);
    reader->ends[reader->top] = entry->size;
    return cairn_buf_check(list, "a list of chunks", err);
}

void cairn_content_reader_release(struct cairn_content_reader *reader)
{
    for (unsigned level = 0; level <= CAIRN_CONTENT_LEVEL_MAX; level++)
        cairn_buf_release(&reader->lists[level]);
}

/* Follows an item of a list of lists one level down. */
static int descend(struct cairn_content_reader *reader, struct cairn_error *err)
{
    struct cairn_reader *r = &reader->readers[reader->level];
    struct cairn_id id;
    struct cairn_slice data;
    uint64_t len = cairn_reader_varint(r);
    cairn_reader_copy(r, id.bytes, 32);
    if (r->failed || len == 0 || len > reader->ends[reader->level] - reader->at)
        return cairn_error_set(err, CAIRN_CORRUPT, 0, "a list of chunks is malformed");
    int status = cairn_fetcher_get(reader->fetcher, CAIRN_KIND_METADATA, &id, &data, err);
    if (status != CAIRN_OK)
        return status;
    reader->level--;
    struct cairn_buf *list = &reader->lists[reader->level];
    cairn_buf_clear(list);
    cairn_buf_put(list, data.data, data.len);
    cairn_reader_init(&reader->readers[reader->level], list->data, list->len);
    reader->ends[reader->level] = reader->at + len;
    return cairn_buf_check(list, "a list of chunks", err);
}

int cairn_content_next(struct cairn_content_reader *reader, struct cairn_content_extent *extent,
                       bool *done, struct cairn_error *err)
{
    for (;;) {
        struct cairn_reader *r = &reader->readers[reader->level];
        if (cairn_reader_left(r) == 0) {
            if (reader->at != reader->ends[reader->level])
                return cairn_error_set(err, CAIRN_CORRUPT, 0,
                                       "a file's chunks do not add up to its size");
            if (reader->level == reader->top) {
                *done = true;
                return CAIRN_OK;
            }
            reader->level++;
            continue;
        }
        if (reader->level > 0) {
            int status = descend(reader, err);
            if (status != CAIRN_OK)
                return status;
            continue;
        }
        struct cairn_content_extent e = {.at = reader->at};
        uint64_t head = cairn_reader_varint(r);
        e.len = head >> 1;
        e.is_hole = head & 1;
        if (!e.is_hole)
            cairn_reader_copy(r, e.id.bytes, 32);
        if (r->failed || e.len == 0 || e.len > reader->ends[0] - reader->at ||
            (!e.is_hole && e.len > CAIRN_CHUNK_BYTES_MAX))
            return cairn_error_set(err, CAIRN_CORRUPT, 0, "a list of chunks is malformed");
        reader->at += e.len;
        *extent = e;
        *done = false;
        return CAIRN_OK;
    }
}
