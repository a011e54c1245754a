/* SPDX-License-Identifier: Apache-2.0
 *
 * memory.h - a backend in memory with the semantics of an object store, for tests: put-if-absent,
 * whole immutable objects, no order in time but that of the calls.
 *
 * It is stricter than it need be, so that callers that lean on accidents fail: the bytes of an
 * upload are taken when the piece is reaped, not when it is submitted; pieces are reaped out of
 * order; uploads at CAIRN_LEVEL_FILESYSTEM are invisible until cairn_backend_publish.
 */
#ifndef CAIRN_BACKEND_MEMORY_H
#define CAIRN_BACKEND_MEMORY_H

#include "backend/backend.h"

/* An empty backend; free with cairn_backend_close. NO_MEMORY. */
int cairn_memory_backend_new(struct cairn_backend **out, struct cairn_error *err);

/* A second backend with copies of every visible object of backend (a memory backend). Unpublished
 * uploads are not copied: the copy is what a crash at this moment would leave. NO_MEMORY. */
int cairn_memory_backend_clone(struct cairn_backend *backend, struct cairn_backend **out,
                               struct cairn_error *err);

/* For tests that damage or forge: creates or replaces an object, whatever was there. NO_MEMORY. */
int cairn_memory_backend_set(struct cairn_backend *backend, const char *name, const void *data,
                             size_t len, struct cairn_error *err);

/* For tests that flip bits: the object's bytes, borrowed and writable until the object is replaced
 * or removed; *len its size. NULL: no such object. Not while other threads use the backend. */
uint8_t *cairn_memory_backend_data(struct cairn_backend *backend, const char *name, size_t *len);

/* How many objects there are, and the name of one (0 to count - 1, sorted by bytes), borrowed until
 * the next change; NULL past the end. */
size_t cairn_memory_backend_count(struct cairn_backend *backend);
const char *cairn_memory_backend_name(struct cairn_backend *backend, size_t index);

#endif
