/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/threads.h"
#include "engine/backup_internal.h"

void cairn_backup_fail(struct backup *b, int status, const struct cairn_error *error)
{
    (void)pthread_mutex_lock(&b->lock);
    if (b->failure == CAIRN_OK) {
        b->failure = status;
        b->failure_error = *error;
    }
    atomic_store(&b->failed, true);
    (void)pthread_cond_broadcast(&b->work);
    (void)pthread_cond_broadcast(&b->ready);
    (void)pthread_mutex_unlock(&b->lock);
}

void cairn_backup_item_done(struct backup *b, struct item *item)
{
    /* Nobody is woken for an item that nobody waits for: there are tens of thousands a second. */
    bool is_ready = atomic_fetch_sub(&item->pending, 1) == 1;
    if (!(is_ready && atomic_load(&b->awaited) == item) && atomic_load(&b->settling) == 0)
        return;
    (void)pthread_mutex_lock(&b->lock);
    (void)pthread_cond_broadcast(&b->ready);
    (void)pthread_mutex_unlock(&b->lock);
}

void cairn_backup_submit(struct backup *b, struct item *item)
{
    atomic_fetch_add(&item->pending, 1);
    (void)pthread_mutex_lock(&b->lock);
    item->next_job = NULL;
    if (b->jobs_tail)
        b->jobs_tail->next_job = item;
    else
        b->jobs_head = item;
    b->jobs_tail = item;
    if (b->idle > 0)
        (void)pthread_cond_signal(&b->work);
    (void)pthread_mutex_unlock(&b->lock);
}

struct shared_buffer *cairn_backup_buffer_get(struct worker *w)
{
    struct backup *b = w->backup;
    struct shared_buffer *buffer = cairn_alloc_zero(1, sizeof(*buffer));
    if (buffer == NULL)
        return NULL;
    buffer->backup = b;
    atomic_init(&buffer->refs, 1);
    buffer->bytes = cairn_pool_get(b->buffers);
    if (buffer->bytes == NULL) {
        cairn_free(buffer);
        return NULL;
    }
    return buffer;
}

void cairn_backup_buffer_put(struct shared_buffer *buffer)
{
    if (buffer == NULL || atomic_fetch_sub(&buffer->refs, 1) != 1)
        return;
    cairn_pool_put(buffer->backup->buffers, buffer->bytes);
    cairn_free(buffer);
}

/* Stores a chunk and lets go of what the job held. */
static void run_chunk(struct worker *w, const struct chunk_job *job)
{
    struct cairn_error error = {0};
    int status = CAIRN_OK;
    if (!atomic_load(&w->backup->failed))
        status = cairn_lane_put(w->lane, job->data, job->len, job->id, NULL, &error);
    cairn_backup_buffer_put(job->buffer);
    if (status != CAIRN_OK)
        cairn_backup_fail(w->backup, status, &error);
    else
        atomic_fetch_add(&w->backup->bytes_done, job->len);
    cairn_backup_item_done(w->backup, job->item);
}

int cairn_backup_chunk(struct worker *w, struct item *item, struct shared_buffer *buffer,
                       const uint8_t *data, size_t len, struct cairn_id *id,
                       struct cairn_error *err)
{
    struct backup *b = w->backup;
    bool is_queued = false;
    (void)pthread_mutex_lock(&b->lock);
    /* Only what an idle worker will take at once is worth a hand-over: the bytes are in this core's
     * cache. */
    if (b->chunk_count < b->idle && b->chunk_count < WORKERS_MAX) {
        atomic_fetch_add(&item->pending, 1);
        atomic_fetch_add(&buffer->refs, 1);
        b->chunk_jobs[b->chunk_count++] = (struct chunk_job){item, buffer, data, len, id};
        (void)pthread_cond_signal(&b->work);
        is_queued = true;
    }
    (void)pthread_mutex_unlock(&b->lock);
    if (is_queued)
        return CAIRN_OK;
    int status = cairn_lane_put(w->lane, data, len, id, NULL, err);
    if (status == CAIRN_OK)
        atomic_fetch_add(&b->bytes_done, len);
    return status;
}

/* Takes the next job: chunks first, since somebody waits for their buffers. false: the end. */
static bool next_job(struct worker *w, struct chunk_job *chunk, struct item **item)
{
    struct backup *b = w->backup;
    bool any = false;
    uint64_t begun = cairn_clock_monotonic_ns();
    *item = NULL;
    (void)pthread_mutex_lock(&b->lock);
    b->idle++;
    while (!b->closing && b->chunk_count == 0 && b->jobs_head == NULL)
        (void)pthread_cond_wait(&b->work, &b->lock);
    b->idle--;
    if (b->chunk_count > 0) {
        *chunk = b->chunk_jobs[--b->chunk_count];
        any = true;
    } else if (b->jobs_head) {
        *item = b->jobs_head;
        b->jobs_head = (*item)->next_job;
        if (b->jobs_head == NULL)
            b->jobs_tail = NULL;
        any = true;
    }
    (void)pthread_mutex_unlock(&b->lock);
    w->waiting += (double)(cairn_clock_monotonic_ns() - begun) / 1e9;
    return any;
}

static void *worker_thread(void *ctx)
{
    struct worker *w = ctx;
    struct chunk_job chunk;
    struct item *item;
    while (next_job(w, &chunk, &item)) {
        uint64_t begun = cairn_clock_monotonic_ns();
        if (item == NULL) {
            run_chunk(w, &chunk);
        } else {
            if (!atomic_load(&w->backup->failed))
                cairn_backup_read(w, item);
            cairn_backup_item_done(w->backup, item);
        }
        w->busy += (double)(cairn_clock_monotonic_ns() - begun) / 1e9;
    }
    return NULL;
}

int cairn_backup_workers_start(struct backup *b, struct cairn_error *err)
{
    const struct cairn_genesis *genesis = &cairn_store_log(b->repo->store)->genesis;
    b->small_bytes = genesis->chunk_min;
    b->buffer_bytes = (size_t)genesis->chunk_max + ((size_t)1 << 20);
    int status = cairn_pool_new(2 * b->worker_count + 1, b->buffer_bytes, &b->buffers, err);
    for (size_t i = 0; i < b->worker_count && status == CAIRN_OK; i++) {
        struct worker *w = &b->workers[i];
        size_t started = 0;
        w->backup = b;
        /* One more than the limit: how a file that grew shows. */
        w->small = cairn_alloc_aligned(4096, b->small_bytes + 4096);
        if (w->small == NULL)
            return cairn_error_no_memory(err, "read buffers");
        status = cairn_lane_new(b->session, CAIRN_KIND_DATA, genesis->chunk_max, &w->lane, err);
        if (status == CAIRN_OK)
            status = cairn_threads_start(&b->threads[i], 1, worker_thread, w, &started, err);
        b->started += started;
    }
    return status;
}

void cairn_backup_workers_stop(struct backup *b)
{
    (void)pthread_mutex_lock(&b->lock);
    b->closing = true;
    (void)pthread_cond_broadcast(&b->work);
    (void)pthread_mutex_unlock(&b->lock);
    if (b->buffers && atomic_load(&b->failed))
        cairn_pool_close(b->buffers);
    cairn_threads_join(b->threads, b->started);
    b->started = 0;
    for (size_t i = 0; i < b->worker_count; i++) {
        cairn_free(b->workers[i].small);
        b->workers[i].small = NULL;
    }
    cairn_pool_free(b->buffers);
    b->buffers = NULL;
}
