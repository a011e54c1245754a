/* SPDX-License-Identifier: Apache-2.0 */
#include "base/error.h"
#include "store/session_internal.h"

/* The lane that takes what small chunks the others of its kind have gathered, so that a small
 * backup is one pack: one that has a pack open, if there is one. */
static struct cairn_lane *gathering_lane(struct cairn_session *session, enum cairn_kind kind)
{
    struct cairn_lane *best = NULL;
    for (size_t i = 0; i < session->lane_count; i++) {
        struct cairn_lane *lane = session->lanes[i];
        if (lane->kind == kind && (best == NULL || (lane->writer.upload && !best->writer.upload)))
            best = lane;
    }
    return best;
}

static int flush_lanes(struct cairn_session *session, struct cairn_error *err)
{
    int status = session->failed ? cairn_error_set(err, CAIRN_MISUSE, 0, "the session has failed")
                                 : CAIRN_OK;
    for (size_t i = 0; status == CAIRN_OK && i < session->lane_count; i++) {
        struct cairn_lane *lane = session->lanes[i];
        struct cairn_lane *best = gathering_lane(session, lane->kind);
        if (lane != best)
            status = cairn_lane_move_pending(lane, best, err);
    }
    for (size_t i = 0; status == CAIRN_OK && i < session->lane_count; i++)
        status = cairn_lane_flush(session->lanes[i], err);
    for (size_t i = 0; status == CAIRN_OK && i < session->lane_count; i++)
        status = cairn_lane_close_pack(session->lanes[i], err);
    return status;
}

/* Before each attempt at the log entry: nothing this commit may refer to was condemned meanwhile.
 */
static int recheck(void *ctx, struct cairn_error *err)
{
    struct cairn_session *session = ctx;
    if (session->store->log.condemned_count <= session->condemned_seen)
        return CAIRN_OK;
    return cairn_error_set(err, CAIRN_BUSY, 0,
                           "packs were condemned by a prune while this ran; run it again (what was "
                           "stored is reused)");
}

static int build_records(struct cairn_session *session, int level, const void *manifest,
                         size_t manifest_len, struct cairn_buf *records, struct cairn_error *err)
{
    uint8_t boot[16];
    cairn_boot_id(boot);
    cairn_log_put_bytes(records, CAIRN_LOG_BOOT, boot, sizeof(boot));
    cairn_log_put_level(records, level);
    for (size_t i = 0; i < session->written_count; i++) {
        struct cairn_log_pack record = session->written[i];
        if (record.level < level)
            record.level = (uint8_t)level;
        cairn_log_put_pack(records, &record);
    }
    cairn_buf_put(records, session->records.data, session->records.len);
    int status = CAIRN_OK;
    if (level >= CAIRN_LEVEL_FILESYSTEM)
        status = cairn_session_raise_weak(session, records, err);
    if (manifest_len > 0)
        cairn_log_put_bytes(records, CAIRN_LOG_SNAPSHOT, manifest, manifest_len);
    return status == CAIRN_OK ? cairn_buf_check(records, "a log entry", err) : status;
}

static int commit(struct cairn_session *session, const void *manifest, size_t manifest_len,
                  int *level, struct cairn_error *err)
{
    struct cairn_store *store = session->store;
    struct cairn_buf records = CAIRN_BUF_INIT;
    int held = session->level;
    int status = flush_lanes(session, err);
    if (status == CAIRN_OK)
        status = cairn_backend_publish(store->backend, &held, err);
    if (status == CAIRN_OK) {
        (void)pthread_mutex_lock(&session->lock);
        status = cairn_session_put_segment(session, err);
        (void)pthread_mutex_unlock(&session->lock);
    }
    if (status == CAIRN_OK)
        status = build_records(session, held, manifest, manifest_len, &records, err);
    if (status == CAIRN_OK && cairn_store_is_cancelled(store))
        status = cairn_error_set(err, CAIRN_CANCELLED, 0, "cancelled");
    if (status == CAIRN_OK)
        status = cairn_store_append(store, &records, recheck, session, err);
    cairn_buf_release(&records);
    if (status == CAIRN_OK) {
        (void)cairn_pin_write(store, NULL);
        *level = held;
    }
    return status;
}

int cairn_session_commit(struct cairn_session *session, const void *manifest, size_t manifest_len,
                         struct cairn_id *snapshot, int *level, struct cairn_session_stats *stats,
                         struct cairn_error *err)
{
    int held = session->level;
    int status =
        session->options.dry_run ? CAIRN_OK : commit(session, manifest, manifest_len, &held, err);
    if (status == CAIRN_OK) {
        cairn_hash_keyed(snapshot, session->store->keys.snapshot_id, manifest, manifest_len);
        *level = held;
        *stats = session->stats;
    }
    cairn_session_abort(session);
    return status;
}
