/* SPDX-License-Identifier: Apache-2.0
 *
 * threads.h - a bounded queue between pipeline stages, a set of worker threads, core count.
 */
#ifndef CAIRN_BASE_THREADS_H
#define CAIRN_BASE_THREADS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include <cairn/cairn.h>

/* How many cores this process may run on (its affinity mask), at least 1. */
unsigned cairn_cpu_count(void);

/* A bounded first-in first-out queue of pointers. Any number of threads on both sides. */
struct cairn_queue;

/* A queue that holds at most cap pointers. NO_MEMORY. */
int cairn_queue_new(size_t cap, struct cairn_queue **out, struct cairn_error *err);

/* Frees an empty or abandoned queue (what is still in it is not freed). No thread may wait on it.
 * NULL is allowed. */
void cairn_queue_free(struct cairn_queue *queue);

/* Appends item, waiting while the queue is full. false: the queue was closed; item was not taken.
 */
bool cairn_queue_push(struct cairn_queue *queue, void *item);

/* As push, but false at once when the queue is full or closed. */
bool cairn_queue_try_push(struct cairn_queue *queue, void *item);

/* Takes the oldest item, waiting while there is none. NULL: closed and empty. */
void *cairn_queue_pop(struct cairn_queue *queue);

/* As pop, but NULL at once when there is nothing. */
void *cairn_queue_try_pop(struct cairn_queue *queue);

/* No more pushes; those who wait are woken. Pops go on until the queue is empty. */
void cairn_queue_close(struct cairn_queue *queue);

/* Starts count threads that run fn(ctx); they are joined by cairn_threads_join. Signals are blocked
 * in them. On failure every thread already started is running: the caller ends them through ctx
 * and joins *started of them. */
int cairn_threads_start(pthread_t *threads, size_t count, void *(*fn)(void *), void *ctx,
                        size_t *started, struct cairn_error *err);

/* Waits for count threads. */
void cairn_threads_join(pthread_t *threads, size_t count);

#endif
