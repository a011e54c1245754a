/* SPDX-License-Identifier: Apache-2.0
 *
 * memory_internal.h - what the files of the memory backend share.
 */
#ifndef CAIRN_BACKEND_MEMORY_INTERNAL_H
#define CAIRN_BACKEND_MEMORY_INTERNAL_H

#include <pthread.h>

#include "backend/backend.h"

struct cairn_memory_object {
    char name[CAIRN_BACKEND_NAME_MAX + 1];
    uint8_t *data;
    size_t len;
};

/* A finished upload that waits for publish. */
struct cairn_memory_pending {
    struct cairn_memory_pending *next;
    struct cairn_memory_object object;
};

struct cairn_memory {
    struct cairn_backend base;
    pthread_mutex_t lock;                /* guards what follows */
    struct cairn_memory_object *objects; /* sorted by name */
    size_t count, cap;
    struct cairn_memory_pending *pending;
};

/* The object's place, or the place where it belongs; *found tells which. The caller holds the lock.
 */
size_t cairn_memory_find(const struct cairn_memory *memory, const char *name, bool *found);

/* Inserts an object at its place; its data then belong to the backend. EXISTS, NO_MEMORY: they stay
 * the caller's. The caller holds the lock. */
int cairn_memory_insert(struct cairn_memory *memory, const struct cairn_memory_object *object,
                        struct cairn_error *err);

/* The operations of struct cairn_backend_ops of the same names. */
int cairn_memory_upload_open(struct cairn_backend *backend, int level, struct cairn_upload **out,
                             struct cairn_error *err);
int cairn_memory_upload_submit(struct cairn_upload *upload, const void *data, size_t len,
                               void *token, struct cairn_error *err);
int cairn_memory_upload_reap(struct cairn_upload *upload, void **token, struct cairn_error *err);
int cairn_memory_upload_finish(struct cairn_upload *upload, const char *name,
                               struct cairn_error *err);
void cairn_memory_upload_abort(struct cairn_upload *upload);
int cairn_memory_publish(struct cairn_backend *backend, int *level, struct cairn_error *err);

#endif
