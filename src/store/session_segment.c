/* SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"
#include "base/error.h"
#include "store/session_internal.h"

/* Members of `known` that no run lists yet. */
struct remainder {
    const struct cairn_run *run;
    struct cairn_id_set left;
    int status;
    struct cairn_error *err;
};

static void keep_unlisted(void *ctx, const struct cairn_id *id)
{
    struct remainder *r = ctx;
    struct cairn_location location;
    bool added;
    if (r->status == CAIRN_OK && !cairn_run_find(r->run, id, &location))
        r->status = cairn_id_set_add(&r->left, id, &added, r->err);
}

/* Builds the run's bytes from the closed packs. */
static int build(struct cairn_session *session, struct cairn_buf *bytes, struct cairn_error *err)
{
    struct cairn_run_source *sources = cairn_alloc(session->closed_count, sizeof(*sources));
    if (sources == NULL)
        return cairn_error_no_memory(err, "an index segment");
    for (size_t i = 0; i < session->closed_count; i++)
        sources[i] =
            (struct cairn_run_source){session->closed[i].record.name,
                                      session->closed[i].record.type, &session->closed[i].contents};
    int status = cairn_run_build(sources, session->closed_count, NULL, 0, bytes, err);
    cairn_free(sources);
    return status;
}

int cairn_session_put_segment(struct cairn_session *session, struct cairn_error *err)
{
    struct cairn_store *store = session->store;
    struct cairn_buf bytes = CAIRN_BUF_INIT, object = CAIRN_BUF_INIT;
    char name[CAIRN_BACKEND_NAME_MAX + 1];
    struct cairn_log_segment segment;
    struct cairn_run *run = NULL;
    if (session->closed_count == 0)
        return CAIRN_OK;
    int status = build(session, &bytes, err);
    if (status == CAIRN_OK)
        status = cairn_segment_seal(store, &bytes, &object, &segment.name, err);
    if (status == CAIRN_OK) {
        segment.length = object.len;
        cairn_store_segment_name(name, &segment.name);
        status =
            cairn_backend_put(store->backend, name, object.data, object.len, session->level, err);
    }
    cairn_buf_release(&object);
    if (status == CAIRN_OK)
        status = cairn_store_run_from_buffer(store, &segment.name, &bytes, &run, err);
    cairn_buf_release(&bytes);
    if (status != CAIRN_OK)
        return status;
    bool added;
    status = cairn_index_add(&store->index, run, err);
    if (status != CAIRN_OK) {
        cairn_run_release(run);
        cairn_free(run);
        return status;
    }
    struct remainder rest = {.run = run, .status = CAIRN_OK, .err = err};
    cairn_id_set_each(&session->known, keep_unlisted, &rest);
    if (rest.status == CAIRN_OK) {
        cairn_id_set_release(&session->known);
        session->known = rest.left;
    } else {
        cairn_id_set_release(&rest.left);
        return rest.status;
    }
    for (size_t i = 0; i < session->closed_count; i++)
        cairn_pack_contents_release(&session->closed[i].contents);
    session->closed_count = 0;
    session->closed_chunks = 0;
    session->stats.bytes_stored += segment.length;
    cairn_log_put_segment(&session->records, &segment);
    return cairn_id_set_add(&store->loaded, &segment.name, &added, err);
}
