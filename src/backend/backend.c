/* SPDX-License-Identifier: Apache-2.0
 *
 * backend.c - checks names, then hands each call to the backend behind the handle.
 */
#include "backend/backend.h"

#include "backend/name.h"
#include "base/error.h"

static int bad_name(struct cairn_error *err)
{
    return cairn_error_set(err, CAIRN_MISUSE, 0, "this is not the name of an object");
}

void cairn_backend_close(struct cairn_backend *backend)
{
    if (backend != NULL)
        backend->ops->close(backend);
}

int cairn_backend_get(struct cairn_backend *backend, const char *name, size_t max,
                      struct cairn_buf *out, struct cairn_error *err)
{
    if (!cairn_backend_name_is_valid(name))
        return bad_name(err);
    return backend->ops->get(backend, name, max, out, err);
}

int cairn_backend_get_range(struct cairn_backend *backend, const char *name, uint64_t at, void *out,
                            size_t len, struct cairn_error *err)
{
    if (!cairn_backend_name_is_valid(name))
        return bad_name(err);
    return backend->ops->get_range(backend, name, at, out, len, err);
}

int cairn_backend_size(struct cairn_backend *backend, const char *name, uint64_t *size,
                       struct cairn_error *err)
{
    if (!cairn_backend_name_is_valid(name))
        return bad_name(err);
    return backend->ops->size(backend, name, size, err);
}

int cairn_backend_put(struct cairn_backend *backend, const char *name, const void *data, size_t len,
                      int level, struct cairn_error *err)
{
    if (!cairn_backend_name_is_valid(name))
        return bad_name(err);
    return backend->ops->put(backend, name, data, len, level, err);
}

int cairn_backend_list(struct cairn_backend *backend, const char *prefix, cairn_backend_list_fn fn,
                       void *ctx, struct cairn_error *err)
{
    if (!cairn_backend_prefix_is_valid(prefix))
        return bad_name(err);
    return backend->ops->list(backend, prefix, fn, ctx, err);
}

int cairn_backend_remove(struct cairn_backend *backend, const char *name, struct cairn_error *err)
{
    if (!cairn_backend_name_is_valid(name))
        return bad_name(err);
    return backend->ops->remove(backend, name, err);
}

int cairn_backend_upload_open(struct cairn_backend *backend, int level, struct cairn_upload **out,
                              struct cairn_error *err)
{
    return backend->ops->upload_open(backend, level, out, err);
}

int cairn_backend_upload_submit(struct cairn_upload *upload, const void *data, size_t len,
                                void *token, struct cairn_error *err)
{
    if (token == NULL || len == 0)
        return cairn_error_set(err, CAIRN_MISUSE, 0, "a piece of an upload is empty or unnamed");
    return upload->backend->ops->upload_submit(upload, data, len, token, err);
}

int cairn_backend_upload_reap(struct cairn_upload *upload, void **token, struct cairn_error *err)
{
    return upload->backend->ops->upload_reap(upload, token, err);
}

int cairn_backend_upload_finish(struct cairn_upload *upload, const char *name,
                                struct cairn_error *err)
{
    if (!cairn_backend_name_is_valid(name)) {
        upload->backend->ops->upload_abort(upload);
        return bad_name(err);
    }
    return upload->backend->ops->upload_finish(upload, name, err);
}

void cairn_backend_upload_abort(struct cairn_upload *upload)
{
    if (upload != NULL)
        upload->backend->ops->upload_abort(upload);
}

int cairn_backend_publish(struct cairn_backend *backend, int *level, struct cairn_error *err)
{
    return backend->ops->publish(backend, level, err);
}

int cairn_backend_sync_object(struct cairn_backend *backend, const char *name,
                              struct cairn_error *err)
{
    if (!cairn_backend_name_is_valid(name))
        return bad_name(err);
    return backend->ops->sync_object(backend, name, err);
}

int cairn_backend_adopt(struct cairn_backend *backend, cairn_backend_adopt_fn fn, void *ctx,
                        bool *found, struct cairn_error *err)
{
    return backend->ops->adopt(backend, fn, ctx, found, err);
}

uint64_t cairn_backend_free_space(struct cairn_backend *backend)
{
    return backend->ops->free_space(backend);
}
