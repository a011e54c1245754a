/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/memory.h"

#include <stdio.h>
#include <string.h>

#include "backend/memory_internal.h"
#include "base/alloc.h"
#include "base/error.h"

static struct cairn_memory *from(struct cairn_backend *backend)
{
    return (struct cairn_memory *)backend;
}

size_t cairn_memory_find(const struct cairn_memory *memory, const char *name, bool *found)
{
    size_t low = 0, high = memory->count;
    *found = false;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(memory->objects[middle].name, name);
        if (order == 0) {
            *found = true;
            return middle;
        }
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

int cairn_memory_insert(struct cairn_memory *memory, const struct cairn_memory_object *object,
                        struct cairn_error *err)
{
    bool found;
    size_t at = cairn_memory_find(memory, object->name, &found);
    if (found)
        return cairn_error_set(err, CAIRN_EXISTS, 0, "%s exists already", object->name);
    if (memory->count == memory->cap) {
        size_t cap = memory->cap ? memory->cap * 2 : 64;
        struct cairn_memory_object *more =
            cairn_realloc(memory->objects, cap, sizeof(*memory->objects));
        if (more == NULL)
            return cairn_error_no_memory(err, "an object");
        memory->objects = more;
        memory->cap = cap;
    }
    memmove(memory->objects + at + 1, memory->objects + at,
            (memory->count - at) * sizeof(*memory->objects));
    memory->objects[at] = *object;
    memory->count++;
    return CAIRN_OK;
}

static int make_object(struct cairn_memory_object *object, const char *name, const void *data,
                       size_t len, struct cairn_error *err)
{
    (void)snprintf(object->name, sizeof(object->name), "%s", name);
    object->data = cairn_alloc(len ? len : 1, 1);
    object->len = len;
    if (object->data == NULL)
        return cairn_error_no_memory(err, "an object");
    if (len > 0)
        memcpy(object->data, data, len);
    return CAIRN_OK;
}

static int not_found(const char *name, struct cairn_error *err)
{
    return cairn_error_set(err, CAIRN_NOT_FOUND, 0, "%s does not exist", name);
}

static void memory_close(struct cairn_backend *backend)
{
    struct cairn_memory *memory = from(backend);
    for (size_t i = 0; i < memory->count; i++)
        cairn_free(memory->objects[i].data);
    cairn_free(memory->objects);
    while (memory->pending != NULL) {
        struct cairn_memory_pending *next = memory->pending->next;
        cairn_free(memory->pending->object.data);
        cairn_free(memory->pending);
        memory->pending = next;
    }
    pthread_mutex_destroy(&memory->lock);
    cairn_free(memory);
}

static int memory_get(struct cairn_backend *backend, const char *name, size_t max,
                      struct cairn_buf *out, struct cairn_error *err)
{
    struct cairn_memory *memory = from(backend);
    bool found;
    int status = CAIRN_OK;
    pthread_mutex_lock(&memory->lock);
    size_t at = cairn_memory_find(memory, name, &found);
    if (!found) {
        status = not_found(name, err);
    } else if (memory->objects[at].len > max) {
        status = cairn_error_set(err, CAIRN_LIMIT, 0, "%s is larger than %zu bytes", name, max);
    } else {
        cairn_buf_clear(out);
        cairn_buf_put(out, memory->objects[at].data, memory->objects[at].len);
        status = cairn_buf_check(out, name, err);
    }
    pthread_mutex_unlock(&memory->lock);
    return status;
}

static int memory_get_range(struct cairn_backend *backend, const char *name, uint64_t offset,
                            void *out, size_t len, struct cairn_error *err)
{
    struct cairn_memory *memory = from(backend);
    bool found;
    int status = CAIRN_OK;
    pthread_mutex_lock(&memory->lock);
    size_t at = cairn_memory_find(memory, name, &found);
    if (!found) {
        status = not_found(name, err);
    } else {
        const struct cairn_memory_object *object = &memory->objects[at];
        if (offset > object->len || object->len - offset < len)
            status = cairn_error_set(err, CAIRN_CORRUPT, 0, "%s ends too early", name);
        else if (len > 0)
            memcpy(out, object->data + offset, len);
    }
    pthread_mutex_unlock(&memory->lock);
    return status;
}

static int memory_size(struct cairn_backend *backend, const char *name, uint64_t *size,
                       struct cairn_error *err)
{
    struct cairn_memory *memory = from(backend);
    bool found;
    pthread_mutex_lock(&memory->lock);
    size_t at = cairn_memory_find(memory, name, &found);
    if (found)
        *size = memory->objects[at].len;
    pthread_mutex_unlock(&memory->lock);
    return found ? CAIRN_OK : not_found(name, err);
}

static int memory_put(struct cairn_backend *backend, const char *name, const void *data, size_t len,
                      int level, struct cairn_error *err)
{
    struct cairn_memory *memory = from(backend);
    struct cairn_memory_object object;
    (void)level;
    int status = make_object(&object, name, data, len, err);
    if (status != CAIRN_OK)
        return status;
    pthread_mutex_lock(&memory->lock);
    status = cairn_memory_insert(memory, &object, err);
    pthread_mutex_unlock(&memory->lock);
    if (status != CAIRN_OK)
        cairn_free(object.data);
    return status;
}

struct entry {
    char name[CAIRN_BACKEND_NAME_MAX + 1];
    uint64_t size;
};

/* fn may call back into the backend, so it is given a copy of the list. */
static int memory_list(struct cairn_backend *backend, const char *prefix, cairn_backend_list_fn fn,
                       void *ctx, struct cairn_error *err)
{
    struct cairn_memory *memory = from(backend);
    size_t len = strlen(prefix), count = 0;
    int status = CAIRN_OK;
    pthread_mutex_lock(&memory->lock);
    struct entry *entries = cairn_alloc(memory->count + 1, sizeof(*entries));
    for (size_t i = 0; entries != NULL && i < memory->count; i++) {
        if (strncmp(memory->objects[i].name, prefix, len) != 0)
            continue;
        memcpy(entries[count].name, memory->objects[i].name, sizeof(entries[count].name));
        entries[count++].size = memory->objects[i].len;
    }
    pthread_mutex_unlock(&memory->lock);
    if (entries == NULL)
        return cairn_error_no_memory(err, "a list of objects");
    for (size_t i = 0; status == CAIRN_OK && i < count; i++)
        status = fn(ctx, entries[i].name, entries[i].size);
    cairn_free(entries);
    return status;
}

static int memory_remove(struct cairn_backend *backend, const char *name, struct cairn_error *err)
{
    struct cairn_memory *memory = from(backend);
    bool found;
    pthread_mutex_lock(&memory->lock);
    size_t at = cairn_memory_find(memory, name, &found);
    if (found) {
        cairn_free(memory->objects[at].data);
        memory->count--;
        memmove(memory->objects + at, memory->objects + at + 1,
                (memory->count - at) * sizeof(*memory->objects));
    }
    pthread_mutex_unlock(&memory->lock);
    return found ? CAIRN_OK : not_found(name, err);
}

static int memory_sync_object(struct cairn_backend *backend, const char *name,
                              struct cairn_error *err)
{
    uint64_t size;
    return memory_size(backend, name, &size, err);
}

static int memory_adopt(struct cairn_backend *backend, cairn_backend_adopt_fn fn, void *ctx,
                        bool *found, struct cairn_error *err)
{
    (void)backend;
    (void)fn;
    (void)ctx;
    (void)err;
    *found = true;
    return CAIRN_OK;
}

static uint64_t memory_free_space(struct cairn_backend *backend)
{
    (void)backend;
    return UINT64_MAX;
}

static const struct cairn_backend_ops memory_ops = {
    .kind = "memory",
    .close = memory_close,
    .get = memory_get,
    .get_range = memory_get_range,
    .size = memory_size,
    .put = memory_put,
    .list = memory_list,
    .remove = memory_remove,
    .upload_open = cairn_memory_upload_open,
    .upload_submit = cairn_memory_upload_submit,
    .upload_reap = cairn_memory_upload_reap,
    .upload_finish = cairn_memory_upload_finish,
    .upload_abort = cairn_memory_upload_abort,
    .publish = cairn_memory_publish,
    .sync_object = memory_sync_object,
    .adopt = memory_adopt,
    .free_space = memory_free_space,
};

int cairn_memory_backend_new(struct cairn_backend **out, struct cairn_error *err)
{
    struct cairn_memory *memory = cairn_alloc_zero(1, sizeof(*memory));
    if (memory == NULL)
        return cairn_error_no_memory(err, "a backend");
    memory->base.ops = &memory_ops;
    pthread_mutex_init(&memory->lock, NULL);
    *out = &memory->base;
    return CAIRN_OK;
}

int cairn_memory_backend_clone(struct cairn_backend *backend, struct cairn_backend **out,
                               struct cairn_error *err)
{
    struct cairn_memory *memory = from(backend);
    struct cairn_backend *copy = NULL;
    int status = cairn_memory_backend_new(&copy, err);
    if (status != CAIRN_OK)
        return status;
    pthread_mutex_lock(&memory->lock);
    for (size_t i = 0; status == CAIRN_OK && i < memory->count; i++) {
        const struct cairn_memory_object *object = &memory->objects[i];
        status = memory_put(copy, object->name, object->data, object->len, CAIRN_LEVEL_NONE, err);
    }
    pthread_mutex_unlock(&memory->lock);
    if (status != CAIRN_OK) {
        memory_close(copy);
        return status;
    }
    *out = copy;
    return CAIRN_OK;
}

int cairn_memory_backend_set(struct cairn_backend *backend, const char *name, const void *data,
                             size_t len, struct cairn_error *err)
{
    struct cairn_memory *memory = from(backend);
    struct cairn_memory_object object;
    bool found;
    int status = make_object(&object, name, data, len, err);
    if (status != CAIRN_OK)
        return status;
    pthread_mutex_lock(&memory->lock);
    size_t at = cairn_memory_find(memory, name, &found);
    if (found) {
        cairn_free(memory->objects[at].data);
        memory->objects[at] = object;
    } else {
        status = cairn_memory_insert(memory, &object, err);
    }
    pthread_mutex_unlock(&memory->lock);
    if (status != CAIRN_OK)
        cairn_free(object.data);
    return status;
}

uint8_t *cairn_memory_backend_data(struct cairn_backend *backend, const char *name, size_t *len)
{
    struct cairn_memory *memory = from(backend);
    bool found;
    size_t at = cairn_memory_find(memory, name, &found);
    if (!found)
        return NULL;
    *len = memory->objects[at].len;
    return memory->objects[at].data;
}

size_t cairn_memory_backend_count(struct cairn_backend *backend)
{
    return from(backend)->count;
}

const char *cairn_memory_backend_name(struct cairn_backend *backend, size_t index)
{
    struct cairn_memory *memory = from(backend);
    return index < memory->count ? memory->objects[index].name : NULL;
}
