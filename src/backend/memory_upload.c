/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "backend/memory_internal.h"
#include "base/alloc.h"
#include "base/error.h"

struct piece {
    const void *data;
    size_t len, at;
    void *token;
};

struct memory_upload {
    struct cairn_upload base;
    int level;
    bool ended; /* a piece whose length is no multiple of 4096 was submitted */
    struct cairn_buf bytes;
    struct piece *pieces;
    size_t count, cap;
};

static struct memory_upload *from(struct cairn_upload *upload)
{
    return (struct memory_upload *)upload;
}

int cairn_memory_upload_open(struct cairn_backend *backend, int level, struct cairn_upload **out,
                             struct cairn_error *err)
{
    struct memory_upload *upload = cairn_alloc_zero(1, sizeof(*upload));
    if (upload == NULL)
        return cairn_error_no_memory(err, "an upload");
    upload->base.backend = backend;
    upload->level = level;
    *out = &upload->base;
    return CAIRN_OK;
}

int cairn_memory_upload_submit(struct cairn_upload *base, const void *data, size_t len, void *token,
                               struct cairn_error *err)
{
    struct memory_upload *upload = from(base);
    if (upload->ended)
        return cairn_error_set(err, CAIRN_MISUSE, 0, "the upload has had its last piece");
    if (upload->count == upload->cap) {
        size_t cap = upload->cap + CAIRN_UPLOAD_DEPTH;
        struct piece *more = cairn_realloc(upload->pieces, cap, sizeof(*more));
        if (more == NULL)
            return cairn_error_no_memory(err, "an upload");
        upload->pieces = more;
        upload->cap = cap;
    }
    upload->pieces[upload->count++] =
        (struct piece){.data = data, .len = len, .at = upload->bytes.len, .token = token};
    upload->ended = len % 4096 != 0;
    cairn_buf_put_zero(&upload->bytes, len);
    return cairn_buf_check(&upload->bytes, "an upload", err);
}

int cairn_memory_upload_reap(struct cairn_upload *base, void **token, struct cairn_error *err)
{
    struct memory_upload *upload = from(base);
    (void)err;
    if (upload->count == 0) {
        *token = NULL;
        return CAIRN_OK;
    }
    struct piece *piece = &upload->pieces[upload->count / 2];
    if (!upload->bytes.failed)
        memcpy(upload->bytes.data + piece->at, piece->data, piece->len);
    *token = piece->token;
    upload->count--;
    memmove(piece, piece + 1, (size_t)(upload->pieces + upload->count - piece) * sizeof(*piece));
    return CAIRN_OK;
}

void cairn_memory_upload_abort(struct cairn_upload *base)
{
    struct memory_upload *upload = from(base);
    cairn_buf_release(&upload->bytes);
    cairn_free(upload->pieces);
    cairn_free(upload);
}

/* Takes the object over in either case of success. */
static int take(struct cairn_memory *memory, struct cairn_memory_pending *pending,
                struct cairn_error *err)
{
    int status = cairn_memory_insert(memory, &pending->object, err);
    if (status != CAIRN_OK && status != CAIRN_EXISTS)
        return status;
    if (status == CAIRN_EXISTS)
        cairn_free(pending->object.data);
    cairn_free(pending);
    return CAIRN_OK;
}

int cairn_memory_upload_finish(struct cairn_upload *base, const char *name, struct cairn_error *err)
{
    struct memory_upload *upload = from(base);
    struct cairn_memory *memory = (struct cairn_memory *)base->backend;
    struct cairn_memory_pending *pending = cairn_alloc_zero(1, sizeof(*pending));
    int status = cairn_buf_check(&upload->bytes, "an upload", err);
    if (status == CAIRN_OK && upload->count > 0)
        status = cairn_error_set(err, CAIRN_MISUSE, 0, "an upload has pieces under way");
    if (status == CAIRN_OK && pending == NULL)
        status = cairn_error_no_memory(err, "an upload");
    if (status != CAIRN_OK) {
        cairn_free(pending);
        cairn_memory_upload_abort(base);
        return status;
    }
    (void)snprintf(pending->object.name, sizeof(pending->object.name), "%s", name);
    pending->object.data = upload->bytes.data;
    pending->object.len = upload->bytes.len;
    upload->bytes = (struct cairn_buf)CAIRN_BUF_INIT;
    pthread_mutex_lock(&memory->lock);
    if (upload->level == CAIRN_LEVEL_FILESYSTEM) {
        pending->next = memory->pending;
        memory->pending = pending;
    } else {
        status = take(memory, pending, err);
    }
    pthread_mutex_unlock(&memory->lock);
    if (status != CAIRN_OK) {
        cairn_free(pending->object.data);
        cairn_free(pending);
    }
    cairn_memory_upload_abort(base);
    return status;
}

int cairn_memory_publish(struct cairn_backend *backend, int *level, struct cairn_error *err)
{
    struct cairn_memory *memory = (struct cairn_memory *)backend;
    int status = CAIRN_OK;
    (void)level;
    pthread_mutex_lock(&memory->lock);
    while (memory->pending != NULL) {
        struct cairn_memory_pending *next = memory->pending->next;
        status = take(memory, memory->pending, err);
        if (status != CAIRN_OK)
            break;
        memory->pending = next;
    }
    pthread_mutex_unlock(&memory->lock);
    return status;
}
