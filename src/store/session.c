/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "store/session_internal.h"

/* A new commit must not refer to condemned packs: their chunks count as absent. */
static int exclude_condemned(struct cairn_session *session, struct cairn_error *err)
{
    const struct cairn_log_state *log = &session->store->log;
    int status = CAIRN_OK;
    for (size_t i = 0; i < log->condemned_count && status == CAIRN_OK; i++)
        status = cairn_index_exclude(&session->store->index, &log->condemned[i], err);
    session->condemned_seen = log->condemned_count;
    return status;
}

int cairn_session_open(struct cairn_store *store, const struct cairn_session_options *options,
                       struct cairn_session **out, struct cairn_error *err)
{
    if (store->read_only && !options->dry_run)
        return cairn_error_set(
            err, CAIRN_UNSUPPORTED, 0,
            "%s uses features with which this cairn may only read it: use a newer "
            "cairn",
            store->location);
    struct cairn_session *session = cairn_alloc_zero(1, sizeof(*session));
    if (session == NULL)
        return cairn_error_no_memory(err, "a session");
    session->store = store;
    session->options = *options;
    if (session->options.pack_bytes == 0)
        session->options.pack_bytes = PACK_BYTES_DEFAULT;
    session->level = options->level ? options->level : store->log.level;
    (void)pthread_mutex_init(&session->lock, NULL);
    int status = exclude_condemned(session, err);
    if (status == CAIRN_OK && !options->dry_run)
        status = cairn_session_verify_weak(session, err);
    if (status == CAIRN_OK && !options->dry_run)
        status = cairn_session_adopt(session, err);
    if (status == CAIRN_OK)
        *out = session;
    else
        cairn_session_abort(session);
    return status;
}

void cairn_session_abort(struct cairn_session *session)
{
    if (session == NULL)
        return;
    for (size_t i = 0; i < session->lane_count; i++)
        cairn_lane_free(session->lanes[i]);
    for (size_t i = 0; i < session->closed_count; i++)
        cairn_pack_contents_release(&session->closed[i].contents);
    cairn_free(session->closed);
    cairn_free(session->written);
    cairn_buf_release(&session->records);
    cairn_id_set_release(&session->known);
    (void)pthread_mutex_destroy(&session->lock);
    cairn_free(session);
}

bool cairn_session_has(struct cairn_session *session, const struct cairn_id *id)
{
    struct cairn_location location;
    if (cairn_index_find(&session->store->index, id, &location))
        return true;
    (void)pthread_mutex_lock(&session->lock);
    bool known = cairn_id_set_has(&session->known, id);
    (void)pthread_mutex_unlock(&session->lock);
    return known;
}

void cairn_session_get_stats(struct cairn_session *session, struct cairn_session_stats *out)
{
    (void)pthread_mutex_lock(&session->lock);
    *out = session->stats;
    (void)pthread_mutex_unlock(&session->lock);
}

/* Adds the record of a pack to those of the commit. Caller holds the lock. */
static int note_written(struct cairn_session *session, const struct cairn_log_pack *record,
                        struct cairn_error *err)
{
    if (session->written_count == session->written_cap) {
        size_t cap = session->written_cap ? session->written_cap * 2 : 64;
        struct cairn_log_pack *grown = cairn_realloc(session->written, cap, sizeof(*grown));
        if (grown == NULL)
            return cairn_error_no_memory(err, "the list of new packs");
        session->written = grown;
        session->written_cap = cap;
    }
    session->written[session->written_count++] = *record;
    return CAIRN_OK;
}

static int add_closed(struct cairn_session *session, const struct cairn_log_pack *record,
                      struct cairn_pack_contents *contents, bool is_adopted,
                      struct cairn_error *err)
{
    if (session->closed_count == session->closed_cap) {
        size_t cap = session->closed_cap ? session->closed_cap * 2 : 16;
        struct closed_pack *grown = cairn_realloc(session->closed, cap, sizeof(*grown));
        if (grown == NULL)
            return cairn_error_no_memory(err, "the list of new packs");
        session->closed = grown;
        session->closed_cap = cap;
    }
    int status = note_written(session, record, err);
    for (size_t i = 0; status == CAIRN_OK && is_adopted && i < contents->chunk_count; i++) {
        bool added;
        status = cairn_id_set_add(&session->known, &contents->chunks[i].id, &added, err);
    }
    if (status != CAIRN_OK)
        return status;
    session->closed[session->closed_count++] = (struct closed_pack){*record, *contents, is_adopted};
    session->closed_chunks += contents->chunk_count;
    session->stats.bytes_stored += record->length;
    session->stats.packs++;
    session->stats.adopted_packs += is_adopted;
    memset(contents, 0, sizeof(*contents));
    if (session->closed_chunks >= SEGMENT_CHUNKS)
        status = cairn_session_put_segment(session, err);
    return status;
}

int cairn_session_add_closed(struct cairn_session *session, const struct cairn_log_pack *record,
                             struct cairn_pack_contents *contents, bool is_adopted,
                             struct cairn_error *err)
{
    (void)pthread_mutex_lock(&session->lock);
    int status = add_closed(session, record, contents, is_adopted, err);
    (void)pthread_mutex_unlock(&session->lock);
    return status;
}
