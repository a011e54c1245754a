/* SPDX-License-Identifier: Apache-2.0
 *
 * A session gathers everything that goes into one commit.
 *
 * States: open (lanes put) -> committing (cairn_session_commit: lanes flushed, published, segments
 * put)
 * -> committed (log entry) or abandoned (cairn_session_abort, or any failure).
 * Invariants
 * 1. An id is in `known` from the moment a lane took it on until an index run of this session lists
 *    it; a second put of it is answered "known", because the commit waits for every lane.
 * 2. `closed` packs are finished uploads; their contents wait for the next segment.
 * Lock order: session lock, then the index's.
 */
#ifndef CAIRN_STORE_SESSION_INTERNAL_H
#define CAIRN_STORE_SESSION_INTERNAL_H

#include <pthread.h>

#include "codec/codec.h"
#include "store/store_internal.h"

#define LANES_MAX 256
/* Contents up to this share a frame with others. */
#define SMALL_CHUNK_BYTES (128u << 10)
#define SHARED_FRAME_BYTES (256u << 10)
#define PACK_BYTES_DEFAULT ((size_t)64 << 20)
#define PACK_CHUNKS_SOFT_MAX 65536u
/* So many chunks in closed packs make a segment. */
#define SEGMENT_CHUNKS 131072u

struct closed_pack {
    struct cairn_log_pack record;
    struct cairn_pack_contents contents;
    bool is_adopted;
};

struct cairn_session {
    struct cairn_store *store;
    struct cairn_session_options options;
    int level;
    pthread_mutex_t lock;
    struct cairn_id_set known;
    struct closed_pack *closed; /* without a segment yet */
    size_t closed_count, closed_cap, closed_chunks;
    struct cairn_buf records;       /* log records so far: packs and segments that have one */
    struct cairn_log_pack *written; /* packs of this session, for the records at commit */
    size_t written_count, written_cap;
    struct cairn_lane *lanes[LANES_MAX];
    size_t lane_count;
    struct cairn_session_stats stats;
    size_t condemned_seen; /* how many condemned packs were excluded */
    bool failed;
};

/* A pack under way: pieces of memory that are filled, hashed and handed to the upload in turn. */
#define PIECES_MAX 4
struct pack_writer {
    struct cairn_upload *upload; /* NULL: no pack is open */
    uint8_t header[CAIRN_HEADER_BYTES];
    uint8_t key[CAIRN_KEY_BYTES];
    struct cairn_pack_contents contents;
    struct cairn_hasher hasher;
    uint64_t at; /* length of the pack so far */
    uint8_t *pieces[PIECES_MAX];
    bool in_flight[PIECES_MAX];
    size_t piece_count, piece_bytes;
    size_t current, fill;
};

struct cairn_lane {
    struct cairn_session *session;
    enum cairn_kind kind;
    size_t max_chunk;
    struct cairn_codec *codec;
    struct cairn_aead_ctx *aead;
    struct cairn_buf shared;          /* the frame that small chunks gather in */
    struct cairn_pack_chunk *pending; /* chunks in `shared` */
    size_t pending_count, pending_cap;
    struct cairn_buf packed, sealed, opened, back; /* working memory of one frame */
    struct pack_writer writer;
};

/* Seals a frame of len plain bytes with these chunks and appends it to the lane's pack. */
int cairn_lane_write_frame(struct cairn_lane *lane, const uint8_t *plain, size_t len,
                           const struct cairn_pack_chunk *chunks, size_t count,
                           struct cairn_error *err);

/* Writes out what small chunks have gathered. */
int cairn_lane_flush(struct cairn_lane *lane, struct cairn_error *err);

/* Hands the small chunks that one lane has gathered to another of the same kind. */
int cairn_lane_move_pending(struct cairn_lane *from, struct cairn_lane *to,
                            struct cairn_error *err);

/* Ends the lane's pack, if one is open, and hands it to the session. */
int cairn_lane_close_pack(struct cairn_lane *lane, struct cairn_error *err);

void cairn_lane_free(struct cairn_lane *lane);

/* pack_write.c: opens a pack; appends sealed bytes; ends it (name and length are told). */
int cairn_pack_writer_init(struct pack_writer *writer, size_t pieces, size_t piece_bytes,
                           struct cairn_error *err);
void cairn_pack_writer_release(struct pack_writer *writer);
int cairn_pack_writer_open(struct pack_writer *writer, struct cairn_store *store, int type,
                           int level, struct cairn_error *err);
/* Where len bytes may be written in place, or NULL if they would not lie in one piece. */
uint8_t *cairn_pack_writer_room(struct pack_writer *writer, size_t len);
/* Appends len bytes; bytes == what room gave: they are there already. */
int cairn_pack_writer_append(struct pack_writer *writer, const uint8_t *bytes, size_t len,
                             struct cairn_error *err);
int cairn_pack_writer_finish(struct pack_writer *writer, struct cairn_aead_ctx *aead,
                             struct cairn_id *name, struct cairn_error *err);

/* Takes over a finished pack's contents. */
int cairn_session_add_closed(struct cairn_session *session, const struct cairn_log_pack *record,
                             struct cairn_pack_contents *contents, bool is_adopted,
                             struct cairn_error *err);

/* Makes a segment of the closed packs and adds its run to the index. Caller holds the lock. */
int cairn_session_put_segment(struct cairn_session *session, struct cairn_error *err);

/* Adopts what dead sessions left. */
int cairn_session_adopt(struct cairn_session *session, struct cairn_error *err);

/* Verifies packs that were not synced before a reboot, and excludes those that were lost. */
int cairn_session_verify_weak(struct cairn_session *session, struct cairn_error *err);

/* Makes packs below level FILESYSTEM, and segments of level NONE, durable and appends records that
 * say so. */
int cairn_session_raise_weak(struct cairn_session *session, struct cairn_buf *records,
                             struct cairn_error *err);

/* The boot id of this machine; zeros if unknown. */
void cairn_boot_id(uint8_t out[16]);

#endif
