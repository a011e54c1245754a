/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "store/session_internal.h"

int cairn_lane_new(struct cairn_session *session, enum cairn_kind kind, size_t max_chunk,
                   struct cairn_lane **out, struct cairn_error *err)
{
    if (max_chunk == 0 || max_chunk > CAIRN_CHUNK_BYTES_MAX || session->lane_count == LANES_MAX)
        return cairn_error_set(err, CAIRN_MISUSE, 0, "a lane for chunks of %zu bytes", max_chunk);
    struct cairn_lane *lane = cairn_alloc_zero(1, sizeof(*lane));
    if (lane == NULL)
        return cairn_error_no_memory(err, "writing packs");
    lane->session = session;
    lane->kind = kind;
    lane->max_chunk = max_chunk;
    int status = cairn_codec_new(&lane->codec, err);
    if (status == CAIRN_OK)
        status = cairn_aead_new(session->store->identity.aead, &lane->aead, err);
    if (status == CAIRN_OK && !session->options.dry_run)
        status = kind == CAIRN_KIND_DATA
                     ? cairn_pack_writer_init(&lane->writer, 3, (size_t)4 << 20, err)
                     : cairn_pack_writer_init(&lane->writer, 2, (size_t)1 << 20, err);
    if (status != CAIRN_OK) {
        cairn_lane_free(lane);
        return status;
    }
    session->lanes[session->lane_count++] = lane;
    *out = lane;
    return CAIRN_OK;
}

void cairn_lane_free(struct cairn_lane *lane)
{
    if (lane == NULL)
        return;
    cairn_pack_writer_release(&lane->writer);
    cairn_codec_free(lane->codec);
    cairn_aead_free(lane->aead);
    cairn_buf_release(&lane->shared);
    cairn_buf_release(&lane->packed);
    cairn_buf_release(&lane->sealed);
    cairn_buf_release(&lane->opened);
    cairn_buf_release(&lane->back);
    cairn_free(lane->pending);
    cairn_free(lane);
}

/* Takes an id on. *is_new: nobody has it, and this lane now answers for it. */
static int claim(struct cairn_session *session, const struct cairn_id *id, enum cairn_kind kind,
                 size_t len, bool *is_new, struct cairn_error *err)
{
    struct cairn_location location;
    *is_new = false;
    if (cairn_index_find(&session->store->index, id, &location))
        return CAIRN_OK;
    (void)pthread_mutex_lock(&session->lock);
    int status = cairn_id_set_add(&session->known, id, is_new, err);
    if (status == CAIRN_OK && *is_new) {
        if (kind == CAIRN_KIND_DATA) {
            session->stats.chunks_new++;
            session->stats.bytes_new += len;
        } else {
            session->stats.metadata_new += len;
        }
    }
    (void)pthread_mutex_unlock(&session->lock);
    return status;
}

/* Adds a small chunk to the frame it shares with others. */
static int gather(struct cairn_lane *lane, const struct cairn_id *id, const void *data, size_t len,
                  struct cairn_error *err)
{
    if (lane->pending_count == lane->pending_cap) {
        size_t cap = lane->pending_cap ? lane->pending_cap * 2 : 256;
        struct cairn_pack_chunk *grown = cairn_realloc(lane->pending, cap, sizeof(*grown));
        if (grown == NULL)
            return cairn_error_no_memory(err, "gathering small chunks");
        lane->pending = grown;
        lane->pending_cap = cap;
    }
    lane->pending[lane->pending_count++] = (struct cairn_pack_chunk){
        .id = *id, .offset = (uint32_t)lane->shared.len, .len = (uint32_t)len};
    cairn_buf_put(&lane->shared, data, len);
    int status = cairn_buf_check(&lane->shared, "gathering small chunks", err);
    if (status == CAIRN_OK && lane->shared.len >= SHARED_FRAME_BYTES)
        status = cairn_lane_flush(lane, err);
    return status;
}

int cairn_lane_flush(struct cairn_lane *lane, struct cairn_error *err)
{
    if (lane->pending_count == 0)
        return CAIRN_OK;
    int status = cairn_lane_write_frame(lane, lane->shared.data, lane->shared.len, lane->pending,
                                        lane->pending_count, err);
    cairn_buf_clear(&lane->shared);
    lane->pending_count = 0;
    return status;
}

int cairn_lane_move_pending(struct cairn_lane *from, struct cairn_lane *to, struct cairn_error *err)
{
    int status = CAIRN_OK;
    for (size_t i = 0; i < from->pending_count && status == CAIRN_OK; i++) {
        const struct cairn_pack_chunk *chunk = &from->pending[i];
        status = gather(to, &chunk->id, from->shared.data + chunk->offset, chunk->len, err);
    }
    cairn_buf_clear(&from->shared);
    from->pending_count = 0;
    return status;
}

int cairn_lane_put(struct cairn_lane *lane, const void *data, size_t len, struct cairn_id *id,
                   bool *is_new, struct cairn_error *err)
{
    struct cairn_session *session = lane->session;
    struct cairn_id have;
    bool fresh = false;
    if (len == 0 || len > lane->max_chunk)
        return cairn_error_set(err, CAIRN_MISUSE, 0, "a chunk of %zu bytes", len);
    cairn_store_chunk_id(session->store, lane->kind, data, len, &have);
    int status = claim(session, &have, lane->kind, len, &fresh, err);
    if (status == CAIRN_OK && fresh && !session->options.dry_run) {
        if (len <= SMALL_CHUNK_BYTES) {
            status = gather(lane, &have, data, len, err);
        } else {
            const struct cairn_pack_chunk chunk = {.id = have, .len = (uint32_t)len};
            status = cairn_lane_write_frame(lane, data, len, &chunk, 1, err);
        }
    }
    if (status != CAIRN_OK) {
        (void)pthread_mutex_lock(&session->lock);
        session->failed = true;
        (void)pthread_mutex_unlock(&session->lock);
        return status;
    }
    *id = have;
    if (is_new)
        *is_new = fresh;
    return CAIRN_OK;
}

int cairn_lane_close_pack(struct cairn_lane *lane, struct cairn_error *err)
{
    struct pack_writer *writer = &lane->writer;
    struct cairn_session *session = lane->session;
    if (writer->upload == NULL)
        return CAIRN_OK;
    struct cairn_log_pack record = {.type = (uint8_t)lane->kind, .level = (uint8_t)session->level};
    int status = cairn_pack_writer_finish(writer, lane->aead, &record.name, err);
    if (status != CAIRN_OK)
        return status;
    record.length = writer->contents.length;
    return cairn_session_add_closed(session, &record, &writer->contents, false, err);
}
