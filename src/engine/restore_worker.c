/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/threads.h"
#include "engine/restore_internal.h"

/* One thread's tools. Separate fetchers, because what one lends is gone at its next call. */
struct worker {
    struct cairn_restore *r;
    struct cairn_fetcher *frames;
    struct cairn_fetcher *metadata;
    struct cairn_fetcher *rescue; /* other copies of damaged chunks; made when it is needed */
    struct cairn_buf stored;      /* frames read together */
};

static void spent(struct cairn_restore *r, enum cairn_restore_stage stage, uint64_t *since)
{
    uint64_t now = cairn_clock_monotonic_ns();
    atomic_fetch_add_explicit(&r->stage_ns[stage], now - *since, memory_order_relaxed);
    *since = now;
}

static bool is_same_frame(const struct cairn_restore_want *a, const struct cairn_restore_want *b)
{
    return a->location.frame.offset == b->location.frame.offset &&
           a->location.frame_number == b->location.frame_number;
}

static bool is_same_chunk(const struct cairn_restore_want *a, const struct cairn_restore_want *b)
{
    return a->location.offset == b->location.offset && cairn_id_is_equal(&a->id, &b->id);
}

/* A chunk whose planned copy is damaged, or that the index does not have. */
static int rescue(struct worker *w, const struct cairn_id *id, struct cairn_slice *data,
                  struct cairn_error *err)
{
    if (w->rescue == NULL) {
        int status = cairn_fetcher_new(w->r->store, 0, &w->rescue, err);
        if (status != CAIRN_OK)
            return status;
    }
    return cairn_fetcher_get(w->rescue, CAIRN_KIND_DATA, id, data, err);
}

/* Writes a chunk to whoever wants it, or fails them (status). */
static void deliver(struct worker *w, struct cairn_restore_want *const *wants, size_t count,
                    int status, const struct cairn_slice *data, const struct cairn_error *err)
{
    for (size_t i = 0; i < count; i++) {
        struct cairn_restore_file *file = wants[i]->file;
        if (atomic_load(&w->r->stop))
            atomic_store(&file->failed, true);
        else if (status != CAIRN_OK)
            cairn_restore_file_fail(w->r, file, err->os_errno, err->message);
        else if (data->len != wants[i]->len)
            cairn_restore_file_fail(w->r, file, 0, "a chunk has another length than it should");
        else
            cairn_restore_file_write(w->r, file, data->data, data->len, wants[i]->at);
        cairn_restore_file_drop(w->r, w->metadata, file);
    }
}

/* All wants of one frame. stored: its bytes, or NULL if they could not be read. */
static void restore_frame(struct worker *w, struct cairn_restore_want *const *wants, size_t count,
                          const uint8_t *stored, uint64_t *since)
{
    struct cairn_slice plain = {0}, chunk;
    struct cairn_error err;
    bool is_decoded = false;
    if (stored && !atomic_load(&w->r->stop))
        is_decoded =
            cairn_fetcher_frame(w->frames, &wants[0]->location, stored,
                                wants[0]->at - wants[0]->location.offset, &plain, &err) == CAIRN_OK;
    for (size_t i = 0; i < count;) {
        const struct cairn_restore_want *want = wants[i];
        size_t end = i + 1;
        while (end < count && is_same_chunk(want, wants[end]))
            end++;
        int status = CAIRN_CORRUPT;
        if (is_decoded) {
            chunk = (struct cairn_slice){plain.data + want->location.offset, want->location.len};
            status = cairn_fetcher_verify(w->frames, CAIRN_KIND_DATA, &want->id, &chunk, &err);
        }
        if (status != CAIRN_OK && !atomic_load(&w->r->stop))
            status = rescue(w, &want->id, &chunk, &err);
        spent(w->r, CAIRN_RESTORE_STAGE_DECODE, since);
        deliver(w, wants + i, end - i, status, &chunk, &err);
        spent(w->r, CAIRN_RESTORE_STAGE_WRITE, since);
        i = end;
    }
}

/* Reads the frames of a task at once. NULL: that failed. */
static const uint8_t *read_frames(struct worker *w, struct cairn_restore_want *const *wants,
                                  size_t count)
{
    char name[CAIRN_BACKEND_NAME_MAX + 1];
    uint64_t start = wants[0]->location.frame.offset, end = start;
    if (wants[0]->location.pack_len == UINT64_MAX || atomic_load(&w->r->stop))
        return NULL;
    /* Sound frames do not overlap, but nothing here relies on it. */
    for (size_t i = 0; i < count; i++) {
        const struct cairn_frame *frame = &wants[i]->location.frame;
        if ((uint64_t)frame->offset + frame->stored_len > end)
            end = (uint64_t)frame->offset + frame->stored_len;
    }
    cairn_buf_clear(&w->stored);
    if (!cairn_buf_reserve(&w->stored, (size_t)(end - start)))
        return NULL;
    cairn_store_pack_name(name, &wants[0]->location.pack);
    if (cairn_backend_get_range(cairn_store_backend(w->r->store), name, start, w->stored.data,
                                (size_t)(end - start), NULL) != CAIRN_OK)
        return NULL;
    return w->stored.data;
}

static void restore_wants(struct worker *w, struct cairn_restore_want *const *wants, size_t count)
{
    uint64_t since = cairn_clock_monotonic_ns();
    const uint8_t *stored = read_frames(w, wants, count);
    spent(w->r, CAIRN_RESTORE_STAGE_READ, &since);
    for (size_t i = 0; i < count;) {
        size_t end = i + 1;
        while (end < count && is_same_frame(wants[i], wants[end]))
            end++;
        const uint8_t *at = stored;
        if (stored)
            at += wants[i]->location.frame.offset - wants[0]->location.frame.offset;
        restore_frame(w, wants + i, end - i, at, &since);
        i = end;
    }
}

static void run(struct worker *w, struct cairn_restore_batch *b,
                const struct cairn_restore_task *task)
{
    if (!task->is_files) {
        restore_wants(w, b->order + task->first, task->count);
        return;
    }
    uint64_t since = cairn_clock_monotonic_ns();
    for (size_t i = task->first; i < (size_t)task->first + task->count; i++) {
        if (atomic_load(&w->r->stop))
            atomic_store(&b->held[i]->failed, true);
        cairn_restore_file_drop(w->r, w->metadata, b->held[i]);
    }
    spent(w->r, CAIRN_RESTORE_STAGE_WRITE, &since);
}

/* Few files are large ones: in one stretch they are read and written in order. */
#define FILES_TO_SPREAD 64u

/* By the place of the first file in the walk: the packs of several writers hold the files of one
 * directory in turn. */
static int by_place(const void *pa, const void *pb)
{
    const struct cairn_restore_task *a = pa, *b = pb;
    return a->place < b->place ? -1 : a->place > b->place;
}

void cairn_restore_tasks_spread(const struct cairn_restore *r, struct cairn_restore_batch *b)
{
    b->stretch_count = b->file_count >= FILES_TO_SPREAD ? r->threads : 1;
    if (b->stretch_count > 1)
        qsort(b->tasks, b->task_count, sizeof(*b->tasks), by_place);
    for (size_t i = 0; i < b->stretch_count; i++) {
        b->stretches[i].next = b->task_count * i / b->stretch_count;
        b->stretches[i].end = b->task_count * (i + 1) / b->stretch_count;
    }
}

static size_t left_in(const struct cairn_restore_batch *b, size_t stretch)
{
    return b->stretches[stretch].end - b->stretches[stretch].next;
}

/* Takes a task from the worker's own stretch, then from the one with most left. NULL: none is left.
 */
static const struct cairn_restore_task *take(struct cairn_restore_batch *b, size_t worker)
{
    if (b->stretch_count == 0)
        return NULL;
    size_t from = worker % b->stretch_count;
    bool is_own_done = left_in(b, from) == 0;
    for (size_t i = 0; is_own_done && i < b->stretch_count; i++) {
        if (left_in(b, i) > left_in(b, from))
            from = i;
    }
    return left_in(b, from) > 0 ? &b->tasks[b->stretches[from].next++] : NULL;
}

/* The next task of the older submitted batch that has one. The lock is held. */
static const struct cairn_restore_task *next_task(struct cairn_restore *r, size_t worker,
                                                  struct cairn_restore_batch **out)
{
    unsigned older = r->batches[0].number < r->batches[1].number ? 0 : 1;
    for (unsigned i = 0; i < 2; i++) {
        struct cairn_restore_batch *b = &r->batches[older ^ i];
        const struct cairn_restore_task *task = b->is_submitted ? take(b, worker) : NULL;
        *out = b;
        if (task)
            return task;
    }
    return NULL;
}

static void *work(void *ctx)
{
    struct worker w = {.r = ctx};
    struct cairn_restore *r = ctx;
    struct cairn_error err;
    size_t number = atomic_fetch_add(&r->workers_running, 1);
    int status = cairn_fetcher_new(r->store, 0, &w.frames, &err);
    if (status == CAIRN_OK)
        status = cairn_fetcher_new(r->store, 0, &w.metadata, &err);
    /* With stop set, tasks are only given up, which needs no fetcher. */
    if (status != CAIRN_OK)
        cairn_restore_stop(r, status, &err);
    uint64_t since = cairn_clock_monotonic_ns();
    (void)pthread_mutex_lock(&r->lock);
    for (;;) {
        struct cairn_restore_batch *b;
        const struct cairn_restore_task *next = next_task(r, number, &b);
        if (next) {
            const struct cairn_restore_task task = *next;
            (void)pthread_mutex_unlock(&r->lock);
            spent(r, CAIRN_RESTORE_STAGE_WAIT, &since);
            run(&w, b, &task);
            since = cairn_clock_monotonic_ns();
            (void)pthread_mutex_lock(&r->lock);
            if (--b->tasks_left == 0)
                (void)pthread_cond_signal(&r->done);
        } else if (r->is_closing) {
            break;
        } else {
            (void)pthread_cond_wait(&r->work, &r->lock);
        }
    }
    (void)pthread_mutex_unlock(&r->lock);
    cairn_buf_release(&w.stored);
    cairn_fetcher_free(w.frames);
    cairn_fetcher_free(w.metadata);
    cairn_fetcher_free(w.rescue);
    return NULL;
}

int cairn_restore_workers_start(struct cairn_restore *r, struct cairn_error *err)
{
    return cairn_threads_start(r->workers, r->threads, work, r, &r->workers_started, err);
}

void cairn_restore_workers_end(struct cairn_restore *r)
{
    (void)pthread_mutex_lock(&r->lock);
    r->is_closing = true;
    (void)pthread_cond_broadcast(&r->work);
    (void)pthread_mutex_unlock(&r->lock);
    cairn_threads_join(r->workers, r->workers_started);
    r->workers_started = 0;
}
