/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/error.h"
#include "snapshot/tree.h"

enum { KIND_LEAF = 1, KIND_INNER = 2 };

static int malformed(struct cairn_error *err)
{
    return cairn_error_set(err, CAIRN_CORRUPT, 0, "a directory is malformed");
}

/* Fetches a chunk and makes it the deepest level. */
static int push(struct cairn_tree_reader *reader, const struct cairn_id *id,
                struct cairn_error *err)
{
    struct cairn_slice data;
    if (reader->depth > CAIRN_TREE_DEPTH_MAX)
        return malformed(err);
    int status = cairn_fetcher_get(reader->fetcher, CAIRN_KIND_METADATA, id, &data, err);
    if (status != CAIRN_OK)
        return status;
    struct cairn_buf *chunk = &reader->chunks[reader->depth];
    cairn_buf_clear(chunk);
    cairn_buf_put(chunk, data.data, data.len);
    cairn_reader_init(&reader->readers[reader->depth], chunk->data, chunk->len);
    reader->depth++;
    return cairn_buf_check(chunk, "a directory", err);
}

int cairn_tree_reader_init(struct cairn_tree_reader *reader, struct cairn_fetcher *fetcher,
                           const struct cairn_id *id, struct cairn_error *err)
{
    reader->fetcher = fetcher;
    reader->depth = 0;
    reader->has_last = false;
    reader->has_first = false;
    reader->entries = 0;
    return push(reader, id, err);
}

void cairn_tree_reader_release(struct cairn_tree_reader *reader)
{
    for (size_t i = 0; i <= CAIRN_TREE_DEPTH_MAX; i++)
        cairn_buf_release(&reader->chunks[i]);
    cairn_buf_release(&reader->last);
    reader->depth = 0;
}

/* The kind of the chunk that a reader stands in, which must be whole. */
static int kind_of(const struct cairn_buf *chunk)
{
    return chunk->len > 0 ? chunk->data[0] : 0;
}

/* Reads an item of an inner chunk. */
static int next_item(struct cairn_reader *r, struct cairn_slice *first, struct cairn_id *id,
                     uint64_t *entries, struct cairn_error *err)
{
    *first = cairn_reader_bytes(r);
    cairn_reader_copy(r, id->bytes, 32);
    *entries = cairn_reader_varint(r);
    return r->failed || *entries == 0 ? malformed(err) : CAIRN_OK;
}

/* Steps over the kind byte of a chunk that is read for the first time. */
static int skip_kind(struct cairn_reader *r, const struct cairn_buf *chunk, struct cairn_error *err)
{
    if (r->at != chunk->data)
        return CAIRN_OK;
    int kind = cairn_reader_u8(r);
    return kind == KIND_LEAF || kind == KIND_INNER ? CAIRN_OK : malformed(err);
}

/* Whether a name may come next: above all before it, and what the item that led here says. */
static bool fits(const struct cairn_tree_reader *reader, struct cairn_slice name)
{
    const struct cairn_slice last = {reader->last.data, reader->last.len};
    return (!reader->has_last || cairn_name_compare(last, name) < 0) &&
           (!reader->has_first || cairn_name_compare(reader->first, name) == 0);
}

/* Follows the next item of the deepest chunk, an inner one. */
static int descend(struct cairn_tree_reader *reader, struct cairn_error *err)
{
    struct cairn_slice first;
    struct cairn_id id;
    uint64_t entries;
    int status = next_item(&reader->readers[reader->depth - 1], &first, &id, &entries, err);
    if (status != CAIRN_OK)
        return status;
    if (!fits(reader, first) || entries > UINT64_MAX - reader->entries)
        return malformed(err);
    reader->first = first;
    reader->has_first = true;
    status = push(reader, &id, err);
    if (status == CAIRN_OK)
        reader->ends[reader->depth - 1] = reader->entries + entries;
    return status;
}

/* Leaves the deepest chunk, which was read to its end. */
static int ascend(struct cairn_tree_reader *reader, struct cairn_error *err)
{
    const unsigned at = --reader->depth;
    const bool is_whole = at > 0 ? reader->entries == reader->ends[at]
                                 : reader->entries > 0 || kind_of(&reader->chunks[0]) == KIND_LEAF;
    return is_whole ? CAIRN_OK : malformed(err);
}

int cairn_tree_next(struct cairn_tree_reader *reader, struct cairn_entry *entry, bool *done,
                    struct cairn_error *err)
{
    while (reader->depth > 0) {
        struct cairn_reader *r = &reader->readers[reader->depth - 1];
        struct cairn_buf *chunk = &reader->chunks[reader->depth - 1];
        int status = skip_kind(r, chunk, err);
        if (status != CAIRN_OK)
            return status;
        const bool is_read = cairn_reader_left(r) == 0;
        if (is_read || kind_of(chunk) == KIND_INNER) {
            status = is_read ? ascend(reader, err) : descend(reader, err);
            if (status != CAIRN_OK)
                return status;
            continue;
        }
        struct cairn_entry found;
        if (!cairn_entry_decode(r, &found) || !fits(reader, found.name))
            return malformed(err);
        reader->has_first = false;
        reader->entries++;
        cairn_buf_clear(&reader->last);
        cairn_buf_put(&reader->last, found.name.data, found.name.len);
        reader->has_last = true;
        *entry = found;
        *done = false;
        return cairn_buf_check(&reader->last, "a directory", err);
    }
    *done = true;
    return CAIRN_OK;
}

/* In the deepest chunk, an inner one: the last item whose first name is not above the name. */
static int choose(struct cairn_tree_reader *reader, struct cairn_slice name, struct cairn_id *id,
                  bool *any, struct cairn_error *err)
{
    struct cairn_reader *r = &reader->readers[reader->depth - 1];
    struct cairn_slice last = {NULL, 0};
    *any = false;
    while (cairn_reader_left(r) > 0) {
        struct cairn_slice first;
        struct cairn_id child;
        uint64_t entries;
        int status = next_item(r, &first, &child, &entries, err);
        if (status != CAIRN_OK)
            return status;
        if (cairn_name_compare(last, first) >= 0)
            return malformed(err);
        last = first;
        if (cairn_name_compare(first, name) > 0)
            break;
        *id = child;
        *any = true;
    }
    return CAIRN_OK;
}

int cairn_tree_find(struct cairn_tree_reader *reader, struct cairn_fetcher *fetcher,
                    const struct cairn_id *id, const void *name, size_t name_len,
                    struct cairn_entry *entry, struct cairn_error *err)
{
    const struct cairn_slice wanted = {name, name_len};
    int status = cairn_tree_reader_init(reader, fetcher, id, err);
    while (status == CAIRN_OK) {
        struct cairn_reader *r = &reader->readers[reader->depth - 1];
        struct cairn_buf *chunk = &reader->chunks[reader->depth - 1];
        struct cairn_id child;
        bool any;
        status = skip_kind(r, chunk, err);
        if (status != CAIRN_OK || kind_of(chunk) == KIND_LEAF)
            break;
        status = choose(reader, wanted, &child, &any, err);
        if (status == CAIRN_OK && !any)
            return CAIRN_NOT_FOUND;
        if (status == CAIRN_OK)
            status = push(reader, &child, err);
    }
    while (status == CAIRN_OK) {
        struct cairn_reader *r = &reader->readers[reader->depth - 1];
        struct cairn_entry found;
        if (cairn_reader_left(r) == 0)
            return CAIRN_NOT_FOUND;
        if (!cairn_entry_decode(r, &found))
            return malformed(err);
        int order = cairn_name_compare(found.name, wanted);
        if (order > 0)
            return CAIRN_NOT_FOUND;
        if (order == 0) {
            *entry = found;
            return CAIRN_OK;
        }
    }
    return status;
}
