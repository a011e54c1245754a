/* SPDX-License-Identifier: Apache-2.0
 *
 * content.h - what a regular file consists of: chunks and holes, in lists of bounded size
 * (docs/format.md, section 9, "Content").
 */
#ifndef CAIRN_SNAPSHOT_CONTENT_H
#define CAIRN_SNAPSHOT_CONTENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cairn/cairn.h>

#include "base/buffer.h"
#include "snapshot/entry.h"
#include "store/store.h"

/* Lists up to so many items stand in the entry. */
#define CAIRN_CONTENT_INLINE_ITEMS 32u
#define CAIRN_CONTENT_LIST_ITEMS_MAX 1024u

/* Gathers extents in order. Level k holds items that stand for lists of level k-1. */
struct cairn_content_builder {
    struct cairn_buf items[CAIRN_CONTENT_LEVEL_MAX + 1];
    size_t count[CAIRN_CONTENT_LEVEL_MAX + 1];   /* items since the last cut */
    uint64_t bytes[CAIRN_CONTENT_LEVEL_MAX + 1]; /* content beneath them */
    bool was_cut[CAIRN_CONTENT_LEVEL_MAX + 1];   /* a list of this level was stored */
};

/* Makes the builder ready for the next file; keeps its memory. */
void cairn_content_builder_clear(struct cairn_content_builder *builder);
void cairn_content_builder_release(struct cairn_content_builder *builder);

/* Appends a chunk (id) or a hole (id NULL) of len bytes. lane: of kind METADATA, for lists that
 * overflow. */
int cairn_content_add(struct cairn_content_builder *builder, struct cairn_lane *lane,
                      const struct cairn_id *id, uint64_t len, struct cairn_error *err);

/* Ends the list: *level and *items (borrowed until the builder is cleared) are field 3 of the
 * entry. */
int cairn_content_finish(struct cairn_content_builder *builder, struct cairn_lane *lane,
                         unsigned *level, struct cairn_slice *items, struct cairn_error *err);

/* One extent of a file. */
struct cairn_content_extent {
    uint64_t at;
    uint64_t len;
    bool is_hole;
    struct cairn_id id;
};

/* Walks the extents of a file in order, fetching lists as they are needed. */
struct cairn_content_reader {
    struct cairn_fetcher *fetcher;
    struct cairn_buf lists[CAIRN_CONTENT_LEVEL_MAX + 1];
    struct cairn_reader readers[CAIRN_CONTENT_LEVEL_MAX + 1];
    uint64_t ends[CAIRN_CONTENT_LEVEL_MAX + 1]; /* where the content beneath must end */
    unsigned top, level;
    uint64_t at, size;
};

/* Begins with an entry of a regular file that has field 3. items are copied. */
int cairn_content_reader_init(struct cairn_content_reader *reader, struct cairn_fetcher *fetcher,
                              const struct cairn_entry *entry, struct cairn_error *err);
void cairn_content_reader_release(struct cairn_content_reader *reader);

/* The next extent. *done: there is none. CORRUPT: lengths do not add up, or malformed. */
int cairn_content_next(struct cairn_content_reader *reader, struct cairn_content_extent *extent,
                       bool *done, struct cairn_error *err);

#endif
