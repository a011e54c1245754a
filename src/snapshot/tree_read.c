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
                     struct cairn_error *err)
{
    *first = cairn_reader_bytes(r);
    cairn_reader_copy(r, id->bytes, 32);
    (void)cairn_reader_varint(r);
    return r->failed ? malformed(err) : CAIRN_OK;
}

/* Steps over the kind byte of a chunk that is read for the first time. */
static int skip_kind(struct cairn_reader *r, const struct cairn_buf *chunk, struct cairn_error *err)
{
    if (r->at != chunk->data)
        return CAIRN_OK;
    int kind = cairn_reader_u8(r);
    return kind == KIND_LEAF || kind == KIND_INNER ? CAIRN_OK : malformed(err);
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
        if (cairn_reader_left(r) == 0) {
            reader->depth--;
            continue;
        }
        if (kind_of(chunk) == KIND_INNER) {
            struct cairn_slice first;
            struct cairn_id id;
            status = next_item(r, &first, &id, err);
            if (status == CAIRN_OK)
                status = push(reader, &id, err);
            if (status != CAIRN_OK)
                return status;
            continue;
        }
        struct cairn_entry found;
        const struct cairn_slice last = {reader->last.data, reader->last.len};
        if (!cairn_entry_decode(r, &found) ||
            (reader->has_last && cairn_name_compare(last, found.name) >= 0))
            return malformed(err);
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
    *any = false;
    while (cairn_reader_left(r) > 0) {
        struct cairn_slice first;
        struct cairn_id child;
        int status = next_item(r, &first, &child, err);
        if (status != CAIRN_OK)
            return status;
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
