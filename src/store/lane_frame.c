/* SPDX-License-Identifier: Apache-2.0 */
#include "base/error.h"
#include "store/session_internal.h"

/* Compresses if that pays. *bytes, *len, *codec: what is to be sealed. */
static int encode(struct cairn_lane *lane, const uint8_t *plain, size_t plain_len,
                  const uint8_t **bytes, size_t *len, uint32_t *codec, struct cairn_error *err)
{
    int wanted = lane->session->options.compression;
    size_t packed_len = 0;
    *bytes = plain;
    *len = plain_len;
    *codec = CAIRN_CODEC_RAW;
    if (wanted < 0 || !cairn_codec_is_compressible(lane->codec, plain, plain_len))
        return CAIRN_OK;
    cairn_buf_clear(&lane->packed);
    if (!cairn_buf_reserve(&lane->packed, cairn_codec_bound(plain_len)))
        return cairn_error_no_memory(err, "compressing");
    int status =
        cairn_codec_compress(lane->codec, wanted ? wanted : CAIRN_CODEC_LEVEL_DEFAULT, plain,
                             plain_len, lane->packed.data, lane->packed.cap, &packed_len, err);
    if (status == CAIRN_OK && packed_len > 0) {
        *bytes = lane->packed.data;
        *len = packed_len;
        *codec = CAIRN_CODEC_ZSTD;
    }
    return status;
}

/* Opens what was just sealed and compares every chunk with its id: a bit that flipped in memory, or
 * a fault of compressor or cipher, must not be stored as if it were good. */
static int prove(struct cairn_lane *lane, const struct cairn_piece *piece, const uint8_t *sealed,
                 size_t stored_len, const struct cairn_pack_chunk *chunks, size_t count,
                 struct cairn_error *err)
{
    size_t packed_len = stored_len - CAIRN_AEAD_TAG_BYTES;
    cairn_buf_clear(&lane->opened);
    if (!cairn_buf_reserve(&lane->opened, packed_len))
        return cairn_error_no_memory(err, "verifying a frame");
    const uint8_t *plain = lane->opened.data;
    int status = cairn_piece_open(lane->aead, lane->writer.key, piece, sealed, stored_len,
                                  lane->opened.data, err);
    if (status == CAIRN_OK && piece->codec == CAIRN_CODEC_ZSTD) {
        cairn_buf_clear(&lane->back);
        if (!cairn_buf_reserve(&lane->back, (size_t)piece->plain_len))
            return cairn_error_no_memory(err, "verifying a frame");
        plain = lane->back.data;
        status = cairn_codec_decompress(lane->codec, lane->opened.data, packed_len, lane->back.data,
                                        (size_t)piece->plain_len, err);
    }
    for (size_t i = 0; status == CAIRN_OK && i < count; i++) {
        struct cairn_id have;
        cairn_store_chunk_id(lane->session->store, lane->kind, plain + chunks[i].offset,
                             chunks[i].len, &have);
        if (!cairn_id_is_equal(&have, &chunks[i].id))
            status = CAIRN_CORRUPT;
    }
    if (status == CAIRN_CORRUPT)
        status =
            cairn_error_set(err, CAIRN_CORRUPT, 0,
                            "what was about to be written does not decode to what was read: this "
                            "machine's memory or processor is not reliable");
    return status;
}

/* The lane's pack is open and has room. */
static int ready_pack(struct cairn_lane *lane, struct cairn_error *err)
{
    struct pack_writer *writer = &lane->writer;
    const struct cairn_session *session = lane->session;
    size_t target = session->options.pack_bytes;
    if (writer->upload &&
        (writer->at >= target || writer->contents.chunk_count >= PACK_CHUNKS_SOFT_MAX)) {
        int status = cairn_lane_close_pack(lane, err);
        if (status != CAIRN_OK)
            return status;
    }
    if (writer->upload)
        return CAIRN_OK;
    return cairn_pack_writer_open(writer, session->store, (int)lane->kind, session->level, err);
}

static int record(struct cairn_lane *lane, const struct cairn_frame *frame,
                  const struct cairn_pack_chunk *chunks, size_t count, struct cairn_error *err)
{
    struct cairn_pack_contents *contents = &lane->writer.contents;
    uint32_t number = (uint32_t)contents->frame_count;
    int status = cairn_pack_contents_add_frame(contents, frame, err);
    for (size_t i = 0; status == CAIRN_OK && i < count; i++) {
        struct cairn_pack_chunk chunk = chunks[i];
        chunk.frame = number;
        status = cairn_pack_contents_add_chunk(contents, &chunk, err);
    }
    return status;
}

int cairn_lane_write_frame(struct cairn_lane *lane, const uint8_t *plain, size_t len,
                           const struct cairn_pack_chunk *chunks, size_t count,
                           struct cairn_error *err)
{
    struct pack_writer *writer = &lane->writer;
    const uint8_t *bytes;
    size_t bytes_len;
    struct cairn_piece piece = {CAIRN_DOMAIN_FRAME, 0, 0, len};
    int status = encode(lane, plain, len, &bytes, &bytes_len, &piece.codec, err);
    if (status == CAIRN_OK)
        status = ready_pack(lane, err);
    if (status != CAIRN_OK)
        return status;
    size_t stored_len = bytes_len + CAIRN_AEAD_TAG_BYTES;
    const struct cairn_frame frame = {.offset = (uint32_t)writer->at,
                                      .stored_len = (uint32_t)stored_len,
                                      .plain_len = (uint32_t)len,
                                      .codec = piece.codec};
    piece.counter = writer->contents.frame_count;
    uint8_t *place = cairn_pack_writer_room(writer, stored_len);
    if (place == NULL) {
        cairn_buf_clear(&lane->sealed);
        if (!cairn_buf_reserve(&lane->sealed, stored_len))
            return cairn_error_no_memory(err, "encrypting");
        place = lane->sealed.data;
    }
    status = cairn_piece_seal(lane->aead, writer->key, &piece, bytes, bytes_len, place, err);
    if (status == CAIRN_OK)
        status = prove(lane, &piece, place, stored_len, chunks, count, err);
    if (status == CAIRN_OK)
        status = cairn_pack_writer_append(writer, place, stored_len, err);
    if (status == CAIRN_OK)
        status = record(lane, &frame, chunks, count, err);
    return status;
}
