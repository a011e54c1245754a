/* SPDX-License-Identifier: Apache-2.0
 *
 * run.h - a sorted, immutable table of chunks: the plain body of an index segment
 * (docs/format.md, section 7), in memory or mapped from the local cache.
 *
 * Ids are uniform, so a lookup guesses the place of an id and touches about one page.
 */
#ifndef CAIRN_STORE_RUN_H
#define CAIRN_STORE_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cairn/cairn.h>

#include "base/buffer.h"
#include "store/pack.h"

#define CAIRN_RUN_HEADER_BYTES 56
#define CAIRN_RUN_PACK_BYTES 64
#define CAIRN_RUN_CHUNK_BYTES 48
/* A run larger than this is split by its writer. */
#define CAIRN_RUN_CHUNKS_MAX (1u << 26)

/* An opened run. Immutable; any number of threads. Pointers lead into bytes that it may own. */
struct cairn_run {
    const uint8_t *bytes;
    size_t len;
    size_t pack_count, superseded_count;
    uint64_t frame_count, chunk_count;
    const uint8_t *packs, *superseded, *frames, *chunks;
    struct cairn_buf owned; /* the bytes, if they are on the heap */
    void *mapping;          /* the bytes, if they are mapped */
    size_t mapping_len;
};

/* Where a chunk is. */
struct cairn_location {
    struct cairn_id pack;
    uint64_t pack_len;
    int pack_type;
    uint32_t frame_number;
    struct cairn_frame frame;
    uint32_t offset; /* in the plain frame */
    uint32_t len;
};

/* A row of the pack table. */
struct cairn_run_pack {
    struct cairn_id name;
    uint64_t length;
    uint64_t first_frame;
    uint32_t frame_count;
    uint32_t chunk_count;
    int type;
};

/* Interprets len bytes, which stay the caller's; only sizes are checked (O(1)). CORRUPT. */
int cairn_run_init(struct cairn_run *run, const uint8_t *bytes, size_t len,
                   struct cairn_error *err);

/* Checks every rule of the format (O(chunks)). CORRUPT. */
int cairn_run_verify(const struct cairn_run *run, struct cairn_error *err);

/* Frees or unmaps what the run owns. */
void cairn_run_release(struct cairn_run *run);

/* Finds a chunk. Returns false if the run does not have it. Records that point out of range count
 * as absent. */
bool cairn_run_find(const struct cairn_run *run, const struct cairn_id *id,
                    struct cairn_location *out);

/* Row number i (below pack_count) of the pack table. */
void cairn_run_pack_at(const struct cairn_run *run, size_t i, struct cairn_run_pack *out);

/* Chunk number i (below chunk_count): its id and place. false: the record is out of range. */
bool cairn_run_chunk_at(const struct cairn_run *run, uint64_t i, struct cairn_id *id,
                        struct cairn_location *out);

/* One pack that goes into a new run. */
struct cairn_run_source {
    struct cairn_id name;
    int type;
    const struct cairn_pack_contents *contents;
};

/* Builds the plain body of a run from packs. superseded: names of segments it replaces. NO_MEMORY.
 */
int cairn_run_build(const struct cairn_run_source *sources, size_t count,
                    const struct cairn_id *superseded, size_t superseded_count,
                    struct cairn_buf *out, struct cairn_error *err);

#endif
