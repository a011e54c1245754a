/* SPDX-License-Identifier: Apache-2.0
 *
 * pool.h - a fixed number of equal buffers that are reused, so that memory is bounded and pages
 * stay mapped (fresh pages cost more than the copy into them).
 */
#ifndef CAIRN_BASE_POOL_H
#define CAIRN_BASE_POOL_H

#include <stddef.h>
#include <stdint.h>

#include <cairn/cairn.h>

struct cairn_pool;

/* A pool of at most count buffers of size bytes, each aligned to 4096. Buffers are allocated when
 * they are first needed. */
int cairn_pool_new(size_t count, size_t size, struct cairn_pool **out, struct cairn_error *err);

/* Frees the pool and its buffers; all must have been put back. NULL is allowed. */
void cairn_pool_free(struct cairn_pool *pool);

/* A buffer, waiting until one is put back if all are out. NULL: memory ran out while none was out
 * (so waiting would be for ever), or the pool was closed. Any thread. */
void *cairn_pool_get(struct cairn_pool *pool);

/* As get, but NULL at once when none is free. */
void *cairn_pool_try_get(struct cairn_pool *pool);

/* Gives a buffer back; NULL is ignored. Any thread. */
void cairn_pool_put(struct cairn_pool *pool, void *buffer);

/* Wakes everyone who waits; from now on get returns NULL. */
void cairn_pool_close(struct cairn_pool *pool);

/* The size of each buffer in bytes. */
size_t cairn_pool_buffer_size(const struct cairn_pool *pool);

#endif
