/* SPDX-License-Identifier: Apache-2.0
 *
 * pack.h - the footer of packs: what frames and chunks are in one (docs/format.md, section 6).
 */
#ifndef CAIRN_STORE_PACK_H
#define CAIRN_STORE_PACK_H

#include <stddef.h>
#include <stdint.h>

#include <cairn/cairn.h>

#include "base/buffer.h"
#include "store/object.h"

#define CAIRN_PACK_BYTES_MAX (1u << 30)
#define CAIRN_PACK_TRAILER_BYTES 32
#define CAIRN_PACK_ALIGN 4096u
#define CAIRN_PACK_FRAMES_MAX (1u << 20)
#define CAIRN_PACK_CHUNKS_MAX (1u << 24)
#define CAIRN_FRAME_BYTES_MAX (16u << 20)
#define CAIRN_CHUNK_BYTES_MAX (16u << 20)
#define CAIRN_FRAME_RECORD_BYTES 16
#define CAIRN_PACK_CHUNK_RECORD_BYTES 44

/* One frame, as the tables store it. */
struct cairn_frame {
    uint32_t offset;     /* in the pack */
    uint32_t stored_len; /* with the tag */
    uint32_t plain_len;
    uint32_t codec; /* enum cairn_codec_id */
};

/* One chunk of a pack. */
struct cairn_pack_chunk {
    struct cairn_id id;
    uint32_t frame;
    uint32_t offset; /* in the plain frame */
    uint32_t len;
};

/* What a pack holds. Arrays are owned. */
struct cairn_pack_contents {
    struct cairn_frame *frames;
    struct cairn_pack_chunk *chunks;
    size_t frame_count, frame_cap;
    size_t chunk_count, chunk_cap;
    uint64_t length;
};

/* Frees the arrays and zeroes the struct. */
void cairn_pack_contents_release(struct cairn_pack_contents *contents);

/* Appends a record. NO_MEMORY leaves the contents as they were. */
int cairn_pack_contents_add_frame(struct cairn_pack_contents *contents,
                                  const struct cairn_frame *frame, struct cairn_error *err);
int cairn_pack_contents_add_chunk(struct cairn_pack_contents *contents,
                                  const struct cairn_pack_chunk *chunk, struct cairn_error *err);

/* Frame records as bytes (CAIRN_FRAME_RECORD_BYTES each). load: CORRUPT if a field is out of range.
 */
void cairn_frame_store(uint8_t *out, const struct cairn_frame *frame);
int cairn_frame_load(const uint8_t *in, struct cairn_frame *out, struct cairn_error *err);

/* The number of bytes of a sealed footer for these contents, tag included. */
size_t cairn_pack_footer_size(const struct cairn_pack_contents *contents);

/* Appends the plain footer to out (contents->length is set already). */
void cairn_pack_footer_encode(const struct cairn_pack_contents *contents, struct cairn_buf *out);

/* Writes the trailer. */
void cairn_pack_trailer_encode(uint8_t out[CAIRN_PACK_TRAILER_BYTES],
                               const struct cairn_pack_contents *contents);

/* What the trailer says. */
struct cairn_pack_trailer {
    uint64_t length;
    uint32_t footer_len;
    uint32_t frame_count;
    uint32_t chunk_count;
};

/* Parses and bounds-checks a trailer against the object's length. CORRUPT. */
int cairn_pack_trailer_parse(const uint8_t in[CAIRN_PACK_TRAILER_BYTES], uint64_t length,
                             struct cairn_pack_trailer *out, struct cairn_error *err);

/* Parses a plain footer: every rule of the format is checked. CORRUPT, NO_MEMORY. out is released
 * by the caller. */
int cairn_pack_footer_parse(const uint8_t *plain, size_t len,
                            const struct cairn_pack_trailer *trailer,
                            struct cairn_pack_contents *out, struct cairn_error *err);

#endif
