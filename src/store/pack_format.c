/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/reader.h"
#include "codec/codec.h"
#include "store/pack.h"

static const char trailer_magic[8] = {'c', 'a', 'i', 'r', 'n', 'p', 'a', 'k'};

void cairn_pack_contents_release(struct cairn_pack_contents *contents)
{
    cairn_free(contents->frames);
    cairn_free(contents->chunks);
    memset(contents, 0, sizeof(*contents));
}

int cairn_pack_contents_add_frame(struct cairn_pack_contents *contents,
                                  const struct cairn_frame *frame, struct cairn_error *err)
{
    if (contents->frame_count == contents->frame_cap) {
        size_t cap = contents->frame_cap ? contents->frame_cap * 2 : 64;
        struct cairn_frame *grown = cairn_realloc(contents->frames, cap, sizeof(*grown));
        if (grown == NULL)
            return cairn_error_no_memory(err, "a pack's list of frames");
        contents->frames = grown;
        contents->frame_cap = cap;
    }
    contents->frames[contents->frame_count++] = *frame;
    return CAIRN_OK;
}

int cairn_pack_contents_add_chunk(struct cairn_pack_contents *contents,
                                  const struct cairn_pack_chunk *chunk, struct cairn_error *err)
{
    if (contents->chunk_count == contents->chunk_cap) {
        size_t cap = contents->chunk_cap ? contents->chunk_cap * 2 : 64;
        struct cairn_pack_chunk *grown = cairn_realloc(contents->chunks, cap, sizeof(*grown));
        if (grown == NULL)
            return cairn_error_no_memory(err, "a pack's list of chunks");
        contents->chunks = grown;
        contents->chunk_cap = cap;
    }
    contents->chunks[contents->chunk_count++] = *chunk;
    return CAIRN_OK;
}

void cairn_frame_store(uint8_t *out, const struct cairn_frame *frame)
{
    cairn_store_u32(out, frame->offset);
    cairn_store_u32(out + 4, frame->stored_len);
    cairn_store_u32(out + 8, frame->plain_len);
    cairn_store_u32(out + 12, frame->codec);
}

int cairn_frame_load(const uint8_t *in, struct cairn_frame *out, struct cairn_error *err)
{
    struct cairn_frame frame = {
        .offset = cairn_load_u32(in),
        .stored_len = cairn_load_u32(in + 4),
        .plain_len = cairn_load_u32(in + 8),
        .codec = cairn_load_u32(in + 12),
    };
    bool is_sound = frame.offset >= CAIRN_HEADER_BYTES && frame.offset < CAIRN_PACK_BYTES_MAX &&
                    frame.plain_len > 0 && frame.plain_len <= CAIRN_FRAME_BYTES_MAX &&
                    frame.codec <= CAIRN_CODEC_ZSTD && frame.stored_len > CAIRN_AEAD_TAG_BYTES &&
                    frame.stored_len <= frame.plain_len + CAIRN_AEAD_TAG_BYTES;
    if (is_sound && frame.codec == CAIRN_CODEC_RAW)
        is_sound = frame.stored_len == frame.plain_len + CAIRN_AEAD_TAG_BYTES;
    if (!is_sound)
        return cairn_error_set(err, CAIRN_CORRUPT, 0, "a frame record is out of range");
    *out = frame;
    return CAIRN_OK;
}

static size_t footer_plain_size(size_t frames, size_t chunks)
{
    return 16 + frames * CAIRN_FRAME_RECORD_BYTES + chunks * CAIRN_PACK_CHUNK_RECORD_BYTES;
}

size_t cairn_pack_footer_size(const struct cairn_pack_contents *contents)
{
    return footer_plain_size(contents->frame_count, contents->chunk_count) + CAIRN_AEAD_TAG_BYTES;
}

void cairn_pack_footer_encode(const struct cairn_pack_contents *contents, struct cairn_buf *out)
{
    cairn_buf_put_u32(out, (uint32_t)contents->frame_count);
    cairn_buf_put_u32(out, (uint32_t)contents->chunk_count);
    cairn_buf_put_u64(out, contents->length);
    for (size_t i = 0; i < contents->frame_count; i++) {
        uint8_t record[CAIRN_FRAME_RECORD_BYTES];
        cairn_frame_store(record, &contents->frames[i]);
        cairn_buf_put(out, record, sizeof(record));
    }
    for (size_t i = 0; i < contents->chunk_count; i++) {
        const struct cairn_pack_chunk *chunk = &contents->chunks[i];
        cairn_buf_put(out, chunk->id.bytes, sizeof(chunk->id.bytes));
        cairn_buf_put_u32(out, chunk->frame);
        cairn_buf_put_u32(out, chunk->offset);
        cairn_buf_put_u32(out, chunk->len);
    }
}

void cairn_pack_trailer_encode(uint8_t out[CAIRN_PACK_TRAILER_BYTES],
                               const struct cairn_pack_contents *contents)
{
    memset(out, 0, CAIRN_PACK_TRAILER_BYTES);
    memcpy(out, trailer_magic, sizeof(trailer_magic));
    cairn_store_u64(out + 8, contents->length);
    cairn_store_u32(out + 16, (uint32_t)cairn_pack_footer_size(contents));
    cairn_store_u32(out + 20, (uint32_t)contents->frame_count);
    cairn_store_u32(out + 24, (uint32_t)contents->chunk_count);
}

int cairn_pack_trailer_parse(const uint8_t in[CAIRN_PACK_TRAILER_BYTES], uint64_t length,
                             struct cairn_pack_trailer *out, struct cairn_error *err)
{
    struct cairn_pack_trailer t = {
        .length = cairn_load_u64(in + 8),
        .footer_len = cairn_load_u32(in + 16),
        .frame_count = cairn_load_u32(in + 20),
        .chunk_count = cairn_load_u32(in + 24),
    };
    if (memcmp(in, trailer_magic, sizeof(trailer_magic)) != 0 || t.length != length ||
        length > CAIRN_PACK_BYTES_MAX || length % CAIRN_PACK_ALIGN != 0 || t.frame_count == 0 ||
        t.frame_count > CAIRN_PACK_FRAMES_MAX || t.chunk_count < t.frame_count ||
        t.chunk_count > CAIRN_PACK_CHUNKS_MAX || cairn_load_u32(in + 28) != 0 ||
        t.footer_len != footer_plain_size(t.frame_count, t.chunk_count) + CAIRN_AEAD_TAG_BYTES ||
        (uint64_t)t.footer_len + CAIRN_HEADER_BYTES + CAIRN_PACK_TRAILER_BYTES > length)
        return cairn_error_set(err, CAIRN_CORRUPT, 0, "the pack's trailer is damaged");
    *out = t;
    return CAIRN_OK;
}

/* Frames lie back to back from the header on and end before the footer, with less than one
 * alignment unit of zero bytes between. */
static bool frames_are_sound(const struct cairn_pack_contents *c, uint32_t footer_len)
{
    uint64_t at = CAIRN_HEADER_BYTES;
    for (size_t i = 0; i < c->frame_count; i++) {
        if (c->frames[i].offset != at)
            return false;
        at += c->frames[i].stored_len;
    }
    uint64_t tail = (uint64_t)footer_len + CAIRN_PACK_TRAILER_BYTES;
    return at + tail <= c->length && c->length - at - tail < CAIRN_PACK_ALIGN;
}

/* Chunks fill their frames back to back, in order. */
static bool chunks_are_sound(const struct cairn_pack_contents *c)
{
    size_t frame = 0;
    uint64_t at = 0;
    for (size_t i = 0; i < c->chunk_count; i++) {
        const struct cairn_pack_chunk *chunk = &c->chunks[i];
        if (i > 0 && at == c->frames[frame].plain_len) {
            frame++;
            at = 0;
        }
        if (frame >= c->frame_count || chunk->frame != frame || chunk->offset != at ||
            chunk->len == 0 || chunk->len > c->frames[frame].plain_len - at)
            return false;
        at += chunk->len;
    }
    return frame + 1 == c->frame_count && at == c->frames[frame].plain_len;
}

int cairn_pack_footer_parse(const uint8_t *plain, size_t len,
                            const struct cairn_pack_trailer *trailer,
                            struct cairn_pack_contents *out, struct cairn_error *err)
{
    struct cairn_pack_contents c = {0};
    struct cairn_reader reader;
    cairn_reader_init(&reader, plain, len);
    bool is_equal = cairn_reader_u32(&reader) == trailer->frame_count;
    is_equal &= cairn_reader_u32(&reader) == trailer->chunk_count;
    is_equal &= cairn_reader_u64(&reader) == trailer->length;
    if (!is_equal || len != footer_plain_size(trailer->frame_count, trailer->chunk_count))
        return cairn_error_set(err, CAIRN_CORRUPT, 0, "the pack's footer contradicts its trailer");
    c.length = trailer->length;
    c.frame_count = c.frame_cap = trailer->frame_count;
    c.chunk_count = c.chunk_cap = trailer->chunk_count;
    c.frames = cairn_alloc(c.frame_count, sizeof(*c.frames));
    c.chunks = cairn_alloc(c.chunk_count, sizeof(*c.chunks));
    int status = CAIRN_OK;
    if (c.frames == NULL || c.chunks == NULL)
        status = cairn_error_no_memory(err, "a pack's footer");
    for (size_t i = 0; status == CAIRN_OK && i < c.frame_count; i++) {
        struct cairn_slice s = cairn_reader_take(&reader, CAIRN_FRAME_RECORD_BYTES);
        status = cairn_frame_load(s.data, &c.frames[i], err);
    }
    for (size_t i = 0; status == CAIRN_OK && i < c.chunk_count; i++) {
        cairn_reader_copy(&reader, c.chunks[i].id.bytes, sizeof(c.chunks[i].id.bytes));
        c.chunks[i].frame = cairn_reader_u32(&reader);
        c.chunks[i].offset = cairn_reader_u32(&reader);
        c.chunks[i].len = cairn_reader_u32(&reader);
    }
    if (status == CAIRN_OK && (!cairn_reader_is_done(&reader) ||
                               !frames_are_sound(&c, trailer->footer_len) || !chunks_are_sound(&c)))
        status = cairn_error_set(err, CAIRN_CORRUPT, 0, "the pack's footer is not consistent");
    if (status == CAIRN_OK)
        *out = c;
    else
        cairn_pack_contents_release(&c);
    return status;
}
