/* SPDX-License-Identifier: Apache-2.0
 *
 * changes.h - the change-detection stream: what tells a later backup that an entry is unchanged
 * (docs/format.md, section 10). It mirrors the trees and stands outside their hashes.
 */
#ifndef CAIRN_SNAPSHOT_CHANGES_H
#define CAIRN_SNAPSHOT_CHANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cairn/cairn.h>

#include "base/buffer.h"
#include "base/reader.h"
#include "snapshot/entry.h"
#include "store/store.h"

/* Nodes up to so many bytes stand in their parent's. */
#define CAIRN_CHANGES_INLINE_BYTES 4096u
#define CAIRN_CHANGES_NODE_BYTES 65536u

/* What is known of one entry. */
struct cairn_change_record {
    bool is_trusted;
    uint64_t inode;
    uint64_t device;
    struct cairn_time ctime;
};

/* The node of one directory under construction. */
struct cairn_changes_builder {
    struct cairn_buf node;
    struct cairn_buf parts; /* ids of parts that were stored because the node grew too large */
    uint64_t device;
    uint64_t stored; /* bytes of chunks that the repository did not have; survives begin */
};

void cairn_changes_builder_begin(struct cairn_changes_builder *builder, uint64_t device);
void cairn_changes_builder_release(struct cairn_changes_builder *builder);

/* Adds the record of an entry. child: for a directory its finished node (cairn_changes_finish),
 * else NULL. */
int cairn_changes_add(struct cairn_changes_builder *builder, struct cairn_lane *lane,
                      const struct cairn_change_record *record, const struct cairn_buf *child,
                      struct cairn_error *err);

/* Ends the node: out receives its bytes (to hand to the parent's cairn_changes_add). */
int cairn_changes_finish(struct cairn_changes_builder *builder, struct cairn_lane *lane,
                         struct cairn_buf *out, struct cairn_error *err);

/* Walks the records of one node in order. */
struct cairn_changes_reader {
    struct cairn_fetcher *fetcher;
    struct cairn_buf node;  /* bytes of the part being read */
    struct cairn_buf parts; /* ids of further parts */
    struct cairn_reader records;
    struct cairn_reader more;
    uint64_t device;
    struct cairn_slice child; /* node of the last record, if it stood in place */
    struct cairn_id child_id;
    int child_kind; /* 0 none, 1 in place, 2 a chunk */
};

/* Begins with a node's bytes (copied), or with the node in a chunk. CORRUPT, NOT_FOUND. */
int cairn_changes_reader_init(struct cairn_changes_reader *reader, struct cairn_fetcher *fetcher,
                              const void *node, size_t len, struct cairn_error *err);
int cairn_changes_reader_init_chunk(struct cairn_changes_reader *reader,
                                    struct cairn_fetcher *fetcher, const struct cairn_id *id,
                                    struct cairn_error *err);

/* Begins with the child of the last record of another reader. NOT_FOUND: it has none. */
int cairn_changes_reader_init_child(struct cairn_changes_reader *reader,
                                    const struct cairn_changes_reader *parent,
                                    struct cairn_error *err);
void cairn_changes_reader_release(struct cairn_changes_reader *reader);

/* The next record. *done: there is none. CORRUPT. */
int cairn_changes_next(struct cairn_changes_reader *reader, struct cairn_change_record *record,
                       bool *done, struct cairn_error *err);

#endif
