/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/hex.h"
#include "base/threads.h"
#include "engine/check_internal.h"

int cairn_check_segments(struct cairn_check *check, struct cairn_error *err)
{
    struct cairn_store *store = check->repo->store;
    const struct cairn_log_state *log = cairn_store_log(store);
    int status = CAIRN_OK;
    for (size_t i = 0; i < log->segment_count && status == CAIRN_OK; i++) {
        char name[CAIRN_BACKEND_NAME_MAX + 1];
        struct cairn_error local = {0};
        cairn_store_segment_name(name, &log->segments[i].name);
        int found = cairn_store_verify_segment(store, &log->segments[i].name, &local);
        check->result->segments++;
        if (cairn_check_is_damage(found))
            cairn_check_problem(check, name, local.message);
        else if (found != CAIRN_OK)
            status = cairn_error_set(err, found, local.os_errno, "%s", local.message);
    }
    return status;
}

/* Packs are verified by several threads that take the next one in turn. */
struct scrub {
    struct cairn_check *check;
    pthread_mutex_t lock;
    size_t run, pack;
    int status; /* the first failure that is no damage */
    struct cairn_error error;
};

/* The next pack to verify. false: none is left, or something failed. */
static bool next_pack(struct scrub *s, struct cairn_run_pack *out)
{
    const struct cairn_index *index = cairn_store_index(s->check->repo->store);
    if (s->status != CAIRN_OK)
        return false;
    while (s->run < index->count) {
        if (s->pack < index->runs[s->run]->pack_count) {
            cairn_run_pack_at(index->runs[s->run], s->pack++, out);
            return true;
        }
        s->run++;
        s->pack = 0;
    }
    return false;
}

/* The footer must say what the index says. */
static int compare_with_index(struct cairn_store *store, const struct cairn_run_pack *pack,
                              const struct cairn_pack_contents *contents, struct cairn_error *err)
{
    if (contents->frame_count != pack->frame_count || contents->chunk_count != pack->chunk_count)
        return cairn_error_set(err, CAIRN_CORRUPT, 0, "the index does not match the pack's footer");
    for (size_t i = 0; i < contents->chunk_count; i++) {
        struct cairn_location location;
        if (!cairn_index_find(cairn_store_index(store), &contents->chunks[i].id, &location))
            return cairn_error_set(err, CAIRN_CORRUPT, 0, "the index lacks a chunk of the pack");
    }
    return CAIRN_OK;
}

/* Verifies one pack, by its bytes or by its presence and length. */
static int verify(struct scrub *s, struct cairn_fetcher *fetcher, const struct cairn_run_pack *pack,
                  const char *name, struct cairn_error *err)
{
    struct cairn_store *store = s->check->repo->store;
    struct cairn_pack_contents contents = {0};
    uint64_t size = 0;
    int type = 0;
    int status = cairn_backend_size(cairn_store_backend(store), name, &size, err);
    if (status == CAIRN_NOT_FOUND)
        return cairn_error_set(err, CAIRN_CORRUPT, 0, "the pack is missing");
    if (status == CAIRN_OK && size != pack->length)
        return cairn_error_set(err, CAIRN_CORRUPT, 0, "the pack has %llu bytes instead of %llu",
                               (unsigned long long)size, (unsigned long long)pack->length);
    if (status != CAIRN_OK || !s->check->options->read_data)
        return status;
    status = cairn_fetcher_verify_pack(fetcher, name, size, &pack->name, true, NULL, &contents,
                                       &type, err);
    if (status == CAIRN_OK && type != pack->type)
        status = cairn_error_set(err, CAIRN_CORRUPT, 0, "the index says another type of pack");
    if (status == CAIRN_OK)
        status = compare_with_index(store, pack, &contents, err);
    cairn_pack_contents_release(&contents);
    return status;
}

static void *scrub_thread(void *ctx)
{
    struct scrub *s = ctx;
    struct cairn_fetcher *fetcher = NULL;
    struct cairn_error error = {0};
    struct cairn_run_pack pack;
    int status = cairn_fetcher_new(s->check->repo->store, 0, &fetcher, &error);
    (void)pthread_mutex_lock(&s->lock);
    if (status != CAIRN_OK && s->status == CAIRN_OK) {
        s->status = status;
        s->error = error;
    }
    while (fetcher && next_pack(s, &pack)) {
        char name[CAIRN_BACKEND_NAME_MAX + 1];
        (void)pthread_mutex_unlock(&s->lock);
        cairn_store_pack_name(name, &pack.name);
        status = verify(s, fetcher, &pack, name, &error);
        (void)pthread_mutex_lock(&s->lock);
        s->check->result->packs++;
        s->check->result->chunks += pack.chunk_count;
        if (s->check->options->read_data)
            s->check->result->bytes_read += pack.length;
        if (cairn_check_is_damage(status)) {
            cairn_check_problem(s->check, name, error.message);
        } else if (status != CAIRN_OK && s->status == CAIRN_OK) {
            s->status = status;
            s->error = error;
        }
        cairn_check_progress(s->check);
    }
    (void)pthread_mutex_unlock(&s->lock);
    cairn_fetcher_free(fetcher);
    return NULL;
}

static int count_orphan(void *ctx, const char *name, uint64_t size)
{
    struct cairn_check *check = ctx;
    const char *hex = strrchr(name, '/');
    struct cairn_id id;
    (void)size;
    if (hex && strlen(hex + 1) == 64 && cairn_hex_decode(id.bytes, hex + 1, 32) &&
        !cairn_index_has_pack(cairn_store_index(check->repo->store), &id))
        check->result->orphan_packs++;
    return 0;
}

#define SCRUB_THREADS_MAX 8u

int cairn_check_packs(struct cairn_check *check, struct cairn_error *err)
{
    struct scrub s = {.check = check};
    pthread_t threads[SCRUB_THREADS_MAX];
    size_t count = check->repo->threads, started = 0;
    if (count > SCRUB_THREADS_MAX)
        count = SCRUB_THREADS_MAX;
    (void)pthread_mutex_init(&s.lock, NULL);
    /* This thread is one of them, so that one core or a failed start is no obstacle. */
    (void)cairn_threads_start(threads, count - 1, scrub_thread, &s, &started, NULL);
    (void)scrub_thread(&s);
    cairn_threads_join(threads, started);
    (void)pthread_mutex_destroy(&s.lock);
    if (s.status != CAIRN_OK)
        return cairn_error_set(err, s.status, s.error.os_errno, "%s", s.error.message);
    return cairn_backend_list(cairn_store_backend(check->repo->store), "packs/", count_orphan,
                              check, err);
}
