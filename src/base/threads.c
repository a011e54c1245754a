/* SPDX-License-Identifier: Apache-2.0 */
#include "base/threads.h"

#include <sched.h>
#include <signal.h>

#include "base/alloc.h"
#include "base/error.h"

/* Invariants, under lock: count <= cap; items are slots[head .. head + count) modulo cap. */
struct cairn_queue {
    pthread_mutex_t lock;
    pthread_cond_t not_empty;
    pthread_cond_t not_full;
    size_t cap, head, count;
    bool closed;
    void *slots[];
};

unsigned cairn_cpu_count(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof(set), &set) != 0)
        return 1;
    int n = CPU_COUNT(&set);
    return n > 0 ? (unsigned)n : 1;
}

int cairn_queue_new(size_t cap, struct cairn_queue **out, struct cairn_error *err)
{
    if (cap == 0 || cap > 1u << 24)
        return cairn_error_set(err, CAIRN_MISUSE, 0, "a queue of %zu slots", cap);
    struct cairn_queue *queue = cairn_alloc_zero(1, sizeof(*queue) + cap * sizeof(void *));
    if (queue == NULL)
        return cairn_error_no_memory(err, "a queue");
    queue->cap = cap;
    (void)pthread_mutex_init(&queue->lock, NULL);
    (void)pthread_cond_init(&queue->not_empty, NULL);
    (void)pthread_cond_init(&queue->not_full, NULL);
    *out = queue;
    return CAIRN_OK;
}

void cairn_queue_free(struct cairn_queue *queue)
{
    if (queue == NULL)
        return;
    (void)pthread_mutex_destroy(&queue->lock);
    (void)pthread_cond_destroy(&queue->not_empty);
    (void)pthread_cond_destroy(&queue->not_full);
    cairn_free(queue);
}

static bool push(struct cairn_queue *queue, void *item, bool wait)
{
    (void)pthread_mutex_lock(&queue->lock);
    while (wait && !queue->closed && queue->count == queue->cap)
        (void)pthread_cond_wait(&queue->not_full, &queue->lock);
    bool taken = !queue->closed && queue->count < queue->cap;
    if (taken) {
        queue->slots[(queue->head + queue->count) % queue->cap] = item;
        queue->count++;
        (void)pthread_cond_signal(&queue->not_empty);
    }
    (void)pthread_mutex_unlock(&queue->lock);
    return taken;
}

bool cairn_queue_push(struct cairn_queue *queue, void *item)
{
    return push(queue, item, true);
}

bool cairn_queue_try_push(struct cairn_queue *queue, void *item)
{
    return push(queue, item, false);
}

static void *pop(struct cairn_queue *queue, bool wait)
{
    void *item = NULL;
    (void)pthread_mutex_lock(&queue->lock);
    while (wait && !queue->closed && queue->count == 0)
        (void)pthread_cond_wait(&queue->not_empty, &queue->lock);
    if (queue->count > 0) {
        item = queue->slots[queue->head];
        queue->head = (queue->head + 1) % queue->cap;
        queue->count--;
        (void)pthread_cond_signal(&queue->not_full);
    }
    (void)pthread_mutex_unlock(&queue->lock);
    return item;
}

void *cairn_queue_pop(struct cairn_queue *queue)
{
    return pop(queue, true);
}

void *cairn_queue_try_pop(struct cairn_queue *queue)
{
    return pop(queue, false);
}

void cairn_queue_close(struct cairn_queue *queue)
{
    (void)pthread_mutex_lock(&queue->lock);
    queue->closed = true;
    (void)pthread_cond_broadcast(&queue->not_empty);
    (void)pthread_cond_broadcast(&queue->not_full);
    (void)pthread_mutex_unlock(&queue->lock);
}

int cairn_threads_start(pthread_t *threads, size_t count, void *(*fn)(void *), void *ctx,
                        size_t *started, struct cairn_error *err)
{
    sigset_t all, old;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &old);
    int failed = 0;
    *started = 0;
    while (*started < count && failed == 0) {
        failed = pthread_create(&threads[*started], NULL, fn, ctx);
        if (failed == 0)
            (*started)++;
    }
    (void)pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (failed)
        return cairn_error_set(err, CAIRN_LIMIT, failed, "cannot start thread %zu of %zu",
                               *started + 1, count);
    return CAIRN_OK;
}

void cairn_threads_join(pthread_t *threads, size_t count)
{
    for (size_t i = 0; i < count; i++)
        (void)pthread_join(threads[i], NULL);
}
