/* SPDX-License-Identifier: Apache-2.0 */
#include "base/pool.h"

#include <pthread.h>
#include <stdbool.h>

#include "base/alloc.h"
#include "base/error.h"

/* Invariants, under lock: free_count + out == made <= count. */
struct cairn_pool {
    pthread_mutex_t lock;
    pthread_cond_t freed;
    size_t count, size, made, out, free_count;
    bool closed;
    void *free_list[];
};

int cairn_pool_new(size_t count, size_t size, struct cairn_pool **out, struct cairn_error *err)
{
    struct cairn_pool *pool = cairn_alloc_zero(1, sizeof(*pool) + count * sizeof(void *));
    if (pool == NULL)
        return cairn_error_no_memory(err, "a buffer pool");
    (void)pthread_mutex_init(&pool->lock, NULL);
    (void)pthread_cond_init(&pool->freed, NULL);
    pool->count = count;
    pool->size = size;
    *out = pool;
    return CAIRN_OK;
}

void cairn_pool_free(struct cairn_pool *pool)
{
    if (pool == NULL)
        return;
    for (size_t i = 0; i < pool->free_count; i++)
        cairn_free(pool->free_list[i]);
    (void)pthread_mutex_destroy(&pool->lock);
    (void)pthread_cond_destroy(&pool->freed);
    cairn_free(pool);
}

/* Under lock: a free or new buffer, or NULL. */
static void *take(struct cairn_pool *pool)
{
    void *buffer = NULL;
    if (pool->free_count > 0) {
        buffer = pool->free_list[--pool->free_count];
    } else if (pool->made < pool->count) {
        buffer = cairn_alloc_aligned(4096, pool->size);
        if (buffer)
            pool->made++;
    }
    if (buffer)
        pool->out++;
    return buffer;
}

void *cairn_pool_get(struct cairn_pool *pool)
{
    (void)pthread_mutex_lock(&pool->lock);
    void *buffer = pool->closed ? NULL : take(pool);
    while (buffer == NULL && !pool->closed && pool->out > 0) {
        (void)pthread_cond_wait(&pool->freed, &pool->lock);
        buffer = pool->closed ? NULL : take(pool);
    }
    (void)pthread_mutex_unlock(&pool->lock);
    return buffer;
}

void *cairn_pool_try_get(struct cairn_pool *pool)
{
    (void)pthread_mutex_lock(&pool->lock);
    void *buffer = pool->closed ? NULL : take(pool);
    (void)pthread_mutex_unlock(&pool->lock);
    return buffer;
}

void cairn_pool_put(struct cairn_pool *pool, void *buffer)
{
    if (buffer == NULL)
        return;
    (void)pthread_mutex_lock(&pool->lock);
    pool->free_list[pool->free_count++] = buffer;
    pool->out--;
    (void)pthread_cond_signal(&pool->freed);
    (void)pthread_mutex_unlock(&pool->lock);
}

void cairn_pool_close(struct cairn_pool *pool)
{
    (void)pthread_mutex_lock(&pool->lock);
    pool->closed = true;
    (void)pthread_cond_broadcast(&pool->freed);
    (void)pthread_mutex_unlock(&pool->lock);
}

size_t cairn_pool_buffer_size(const struct cairn_pool *pool)
{
    return pool->size;
}
