/* SPDX-License-Identifier: Apache-2.0
 *
 * tree.h - directories as content-addressed chunks, split by name when they are large
 * (docs/format.md, sections 9 and 11).
 */
#ifndef CAIRN_SNAPSHOT_TREE_H
#define CAIRN_SNAPSHOT_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cairn/cairn.h>

#include "base/buffer.h"
#include "snapshot/entry.h"
#include "store/store.h"

#define CAIRN_TREE_LEAF_MIN_BYTES (16u << 10)
#define CAIRN_TREE_LEAF_MAX_BYTES (256u << 10)
#define CAIRN_TREE_DEPTH_MAX 8

/* One level of a directory under construction. */
struct cairn_tree_level {
    struct cairn_buf bytes; /* the chunk so far, its kind byte included */
    struct cairn_buf first; /* name of the first entry in it */
    uint64_t entries;       /* beneath it */
    bool was_cut;
};

/* Builds one directory. Memory: at most one leaf and one inner chunk per level. */
struct cairn_tree_builder {
    struct cairn_tree_level levels[CAIRN_TREE_DEPTH_MAX];
    struct cairn_buf last; /* the last name added */
};

void cairn_tree_builder_clear(struct cairn_tree_builder *builder);
void cairn_tree_builder_release(struct cairn_tree_builder *builder);

/* Adds an entry; names must ascend (MISUSE). split_key: the repository's key of that purpose. */
int cairn_tree_add(struct cairn_tree_builder *builder, struct cairn_lane *lane,
                   const uint8_t split_key[32], const struct cairn_entry *entry,
                   struct cairn_error *err);

/* Stores what is left and tells the directory's id. The builder may then be cleared and used again.
 */
int cairn_tree_finish(struct cairn_tree_builder *builder, struct cairn_lane *lane,
                      const uint8_t split_key[32], struct cairn_id *id, struct cairn_error *err);

/* Walks the entries of one directory in order. */
struct cairn_tree_reader {
    struct cairn_fetcher *fetcher;
    struct cairn_buf chunks[CAIRN_TREE_DEPTH_MAX + 1];
    struct cairn_reader readers[CAIRN_TREE_DEPTH_MAX + 1];
    uint64_t ends[CAIRN_TREE_DEPTH_MAX + 1]; /* entries read when a chunk below the topmost ends */
    uint64_t entries;                        /* read so far */
    unsigned depth;                          /* levels in use */
    struct cairn_slice first;                /* of the item that was followed: the next name */
    bool has_first;
    struct cairn_buf last;
    bool has_last;
};

/* Begins with the directory of this id. NOT_FOUND, CORRUPT, IO. */
int cairn_tree_reader_init(struct cairn_tree_reader *reader, struct cairn_fetcher *fetcher,
                           const struct cairn_id *id, struct cairn_error *err);
void cairn_tree_reader_release(struct cairn_tree_reader *reader);

/* The next entry; its slices are valid until the next call. *done: there is none. CORRUPT. */
int cairn_tree_next(struct cairn_tree_reader *reader, struct cairn_entry *entry, bool *done,
                    struct cairn_error *err);

/* Finds one entry by name. Reads only the chunks on the way. NOT_FOUND. Slices of *entry lead into
 * the reader, which the caller releases. */
int cairn_tree_find(struct cairn_tree_reader *reader, struct cairn_fetcher *fetcher,
                    const struct cairn_id *id, const void *name, size_t name_len,
                    struct cairn_entry *entry, struct cairn_error *err);

/* memcmp order of two names, the shorter first when one begins the other. */
int cairn_name_compare(struct cairn_slice a, struct cairn_slice b);

#endif
