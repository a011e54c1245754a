/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/error.h"
#include "snapshot/tree.h"

enum { KIND_LEAF = 1, KIND_INNER = 2 };

int cairn_name_compare(struct cairn_slice a, struct cairn_slice b)
{
    size_t len = a.len < b.len ? a.len : b.len;
    int order = len ? memcmp(a.data, b.data, len) : 0;
    return order ? order : (a.len > b.len) - (a.len < b.len);
}

void cairn_tree_builder_clear(struct cairn_tree_builder *builder)
{
    for (size_t i = 0; i < CAIRN_TREE_DEPTH_MAX; i++) {
        struct cairn_tree_level *level = &builder->levels[i];
        cairn_buf_clear(&level->bytes);
        cairn_buf_clear(&level->first);
        level->entries = 0;
        level->was_cut = false;
    }
    cairn_buf_clear(&builder->last);
}

void cairn_tree_builder_release(struct cairn_tree_builder *builder)
{
    for (size_t i = 0; i < CAIRN_TREE_DEPTH_MAX; i++) {
        cairn_buf_release(&builder->levels[i].bytes);
        cairn_buf_release(&builder->levels[i].first);
    }
    cairn_buf_release(&builder->last);
    memset(builder, 0, sizeof(*builder));
}

/* Whether a chunk of this many bytes ends behind this name. */
static bool is_edge(const uint8_t split_key[32], size_t bytes, struct cairn_slice name)
{
    struct cairn_id hash;
    if (bytes < CAIRN_TREE_LEAF_MIN_BYTES)
        return false;
    if (bytes >= CAIRN_TREE_LEAF_MAX_BYTES)
        return true;
    cairn_hash_keyed(&hash, split_key, name.data, name.len);
    return hash.bytes[0] == 0;
}

static void begin(struct cairn_tree_level *level, int kind, struct cairn_slice name)
{
    if (level->bytes.len > 0)
        return;
    cairn_buf_put_u8(&level->bytes, (uint8_t)kind);
    cairn_buf_clear(&level->first);
    cairn_buf_put(&level->first, name.data, name.len);
    level->entries = 0;
}

static int cut(struct cairn_tree_builder *builder, struct cairn_lane *lane,
               const uint8_t split_key[32], size_t at, struct cairn_error *err);

/* Adds the item of a stored chunk to the level above it. */
static int add_item(struct cairn_tree_builder *builder, struct cairn_lane *lane,
                    const uint8_t split_key[32], size_t at, struct cairn_slice first,
                    const struct cairn_id *id, uint64_t entries, struct cairn_error *err)
{
    struct cairn_tree_level *level = &builder->levels[at];
    begin(level, KIND_INNER, first);
    cairn_buf_put_bytes(&level->bytes, first.data, first.len);
    cairn_buf_put(&level->bytes, id->bytes, 32);
    cairn_buf_put_varint(&level->bytes, entries);
    level->entries += entries;
    int status = cairn_buf_check(&level->bytes, "a directory", err);
    if (status == CAIRN_OK && is_edge(split_key, level->bytes.len, first))
        status = cut(builder, lane, split_key, at, err);
    return status;
}

/* Stores the chunk of a level. */
static int cut(struct cairn_tree_builder *builder, struct cairn_lane *lane,
               const uint8_t split_key[32], size_t at, struct cairn_error *err)
{
    struct cairn_tree_level *level = &builder->levels[at];
    struct cairn_id id;
    if (at + 1 == CAIRN_TREE_DEPTH_MAX)
        return cairn_error_set(err, CAIRN_LIMIT, 0, "a directory has too many entries");
    int status = cairn_buf_check(&level->first, "a directory", err);
    if (status == CAIRN_OK)
        status = cairn_lane_put(lane, level->bytes.data, level->bytes.len, &id, NULL, err);
    if (status != CAIRN_OK)
        return status;
    level->was_cut = true;
    cairn_buf_clear(&level->bytes);
    const struct cairn_slice first = {level->first.data, level->first.len};
    return add_item(builder, lane, split_key, at + 1, first, &id, level->entries, err);
}

int cairn_tree_add(struct cairn_tree_builder *builder, struct cairn_lane *lane,
                   const uint8_t split_key[32], const struct cairn_entry *entry,
                   struct cairn_error *err)
{
    struct cairn_tree_level *leaf = &builder->levels[0];
    const struct cairn_slice last = {builder->last.data, builder->last.len};
    if (last.len > 0 && cairn_name_compare(last, entry->name) >= 0)
        return cairn_error_set(err, CAIRN_MISUSE, 0, "directory entries out of order");
    cairn_buf_clear(&builder->last);
    cairn_buf_put(&builder->last, entry->name.data, entry->name.len);
    begin(leaf, KIND_LEAF, entry->name);
    cairn_entry_encode(entry, &leaf->bytes);
    leaf->entries++;
    int status = cairn_buf_check(&leaf->bytes, "a directory", err);
    if (status == CAIRN_OK)
        status = cairn_buf_check(&builder->last, "a directory", err);
    if (status == CAIRN_OK && is_edge(split_key, leaf->bytes.len, entry->name))
        status = cut(builder, lane, split_key, 0, err);
    return status;
}

int cairn_tree_finish(struct cairn_tree_builder *builder, struct cairn_lane *lane,
                      const uint8_t split_key[32], struct cairn_id *id, struct cairn_error *err)
{
    static const struct cairn_slice nothing = {(const uint8_t *)"", 0};
    begin(&builder->levels[0], KIND_LEAF, nothing);
    for (size_t at = 0; at < CAIRN_TREE_DEPTH_MAX; at++) {
        struct cairn_tree_level *level = &builder->levels[at];
        if (!level->was_cut)
            return cairn_lane_put(lane, level->bytes.data, level->bytes.len, id, NULL, err);
        /* A leaf with nothing but its kind byte is what the last cut left behind. */
        if (level->bytes.len > 1) {
            int status = cut(builder, lane, split_key, at, err);
            if (status != CAIRN_OK)
                return status;
        }
    }
    return cairn_error_set(err, CAIRN_LIMIT, 0, "a directory has too many entries");
}
