/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/fault.h"

#include "base/alloc.h"
#include "base/error.h"

struct fault {
    struct cairn_backend base;
    struct cairn_backend *inner;
    cairn_fault_fn fn;
    void *ctx;
};

struct fault_upload {
    struct cairn_upload base;
    struct cairn_upload *inner;
};

static struct fault *from(struct cairn_backend *backend)
{
    return (struct fault *)backend;
}

static int ask(struct fault *fault, const char *op, const char *name, struct cairn_error *err)
{
    int status = fault->fn(fault->ctx, op, name);
    if (status == CAIRN_OK)
        return CAIRN_OK;
    return cairn_error_set(err, status, 0, "injected failure of %s %s", op, name);
}

static void fault_close(struct cairn_backend *backend)
{
    cairn_free(from(backend));
}

static int fault_get(struct cairn_backend *backend, const char *name, size_t max,
                     struct cairn_buf *out, struct cairn_error *err)
{
    struct fault *fault = from(backend);
    int status = ask(fault, "get", name, err);
    if (status == CAIRN_OK)
        status = cairn_backend_get(fault->inner, name, max, out, err);
    return status != CAIRN_OK ? status : ask(fault, "get:after", name, err);
}

static int fault_get_range(struct cairn_backend *backend, const char *name, uint64_t at, void *out,
                           size_t len, struct cairn_error *err)
{
    struct fault *fault = from(backend);
    int status = ask(fault, "get_range", name, err);
    if (status == CAIRN_OK)
        status = cairn_backend_get_range(fault->inner, name, at, out, len, err);
    return status != CAIRN_OK ? status : ask(fault, "get_range:after", name, err);
}

static int fault_size(struct cairn_backend *backend, const char *name, uint64_t *size,
                      struct cairn_error *err)
{
    struct fault *fault = from(backend);
    uint64_t got = 0;
    int status = ask(fault, "size", name, err);
    if (status == CAIRN_OK)
        status = cairn_backend_size(fault->inner, name, &got, err);
    if (status == CAIRN_OK)
        status = ask(fault, "size:after", name, err);
    if (status == CAIRN_OK)
        *size = got;
    return status;
}

static int fault_put(struct cairn_backend *backend, const char *name, const void *data, size_t len,
                     int level, struct cairn_error *err)
{
    struct fault *fault = from(backend);
    int status = ask(fault, "put", name, err);
    if (status == CAIRN_OK)
        status = cairn_backend_put(fault->inner, name, data, len, level, err);
    return status != CAIRN_OK ? status : ask(fault, "put:after", name, err);
}

static int fault_list(struct cairn_backend *backend, const char *prefix, cairn_backend_list_fn fn,
                      void *ctx, struct cairn_error *err)
{
    struct fault *fault = from(backend);
    int status = ask(fault, "list", prefix, err);
    if (status == CAIRN_OK)
        status = cairn_backend_list(fault->inner, prefix, fn, ctx, err);
    return status != CAIRN_OK ? status : ask(fault, "list:after", prefix, err);
}

static int fault_remove(struct cairn_backend *backend, const char *name, struct cairn_error *err)
{
    struct fault *fault = from(backend);
    int status = ask(fault, "remove", name, err);
    if (status == CAIRN_OK)
        status = cairn_backend_remove(fault->inner, name, err);
    return status != CAIRN_OK ? status : ask(fault, "remove:after", name, err);
}

static void upload_abort(struct cairn_upload *upload)
{
    struct fault_upload *wrapped = (struct fault_upload *)upload;
    cairn_backend_upload_abort(wrapped->inner);
    cairn_free(wrapped);
}

static int fault_upload_open(struct cairn_backend *backend, int level, struct cairn_upload **out,
                             struct cairn_error *err)
{
    struct fault *fault = from(backend);
    int status = ask(fault, "upload_open", "", err);
    if (status != CAIRN_OK)
        return status;
    struct fault_upload *upload = cairn_alloc_zero(1, sizeof(*upload));
    if (upload == NULL)
        return cairn_error_no_memory(err, "an upload");
    upload->base.backend = backend;
    status = cairn_backend_upload_open(fault->inner, level, &upload->inner, err);
    if (status == CAIRN_OK)
        status = ask(fault, "upload_open:after", "", err);
    if (status != CAIRN_OK) {
        upload_abort(&upload->base);
        return status;
    }
    *out = &upload->base;
    return CAIRN_OK;
}

static int fault_upload_submit(struct cairn_upload *upload, const void *data, size_t len,
                               void *token, struct cairn_error *err)
{
    struct fault *fault = from(upload->backend);
    struct cairn_upload *inner = ((struct fault_upload *)upload)->inner;
    int status = ask(fault, "upload_submit", "", err);
    if (status == CAIRN_OK)
        status = cairn_backend_upload_submit(inner, data, len, token, err);
    return status != CAIRN_OK ? status : ask(fault, "upload_submit:after", "", err);
}

static int fault_upload_reap(struct cairn_upload *upload, void **token, struct cairn_error *err)
{
    struct fault *fault = from(upload->backend);
    struct cairn_upload *inner = ((struct fault_upload *)upload)->inner;
    void *got = NULL;
    int status = ask(fault, "upload_reap", "", err);
    if (status == CAIRN_OK)
        status = cairn_backend_upload_reap(inner, &got, err);
    if (status == CAIRN_OK)
        status = ask(fault, "upload_reap:after", "", err);
    if (status == CAIRN_OK)
        *token = got;
    return status;
}

static int fault_upload_finish(struct cairn_upload *upload, const char *name,
                               struct cairn_error *err)
{
    struct fault *fault = from(upload->backend);
    struct fault_upload *wrapped = (struct fault_upload *)upload;
    int status = ask(fault, "upload_finish", name, err);
    if (status != CAIRN_OK) {
        upload_abort(upload);
        return status;
    }
    status = cairn_backend_upload_finish(wrapped->inner, name, err);
    cairn_free(wrapped);
    return status != CAIRN_OK ? status : ask(fault, "upload_finish:after", name, err);
}

static int fault_publish(struct cairn_backend *backend, int *level, struct cairn_error *err)
{
    struct fault *fault = from(backend);
    int holds = *level;
    int status = ask(fault, "publish", "", err);
    if (status == CAIRN_OK)
        status = cairn_backend_publish(fault->inner, &holds, err);
    if (status == CAIRN_OK)
        status = ask(fault, "publish:after", "", err);
    if (status == CAIRN_OK)
        *level = holds;
    return status;
}

static int fault_sync_object(struct cairn_backend *backend, const char *name,
                             struct cairn_error *err)
{
    struct fault *fault = from(backend);
    int status = ask(fault, "sync_object", name, err);
    if (status == CAIRN_OK)
        status = cairn_backend_sync_object(fault->inner, name, err);
    return status != CAIRN_OK ? status : ask(fault, "sync_object:after", name, err);
}

static int fault_adopt(struct cairn_backend *backend, cairn_backend_adopt_fn fn, void *ctx,
                       bool *found, struct cairn_error *err)
{
    struct fault *fault = from(backend);
    bool got = false;
    int status = ask(fault, "adopt", "", err);
    if (status == CAIRN_OK)
        status = cairn_backend_adopt(fault->inner, fn, ctx, &got, err);
    if (status == CAIRN_OK)
        status = ask(fault, "adopt:after", "", err);
    if (status == CAIRN_OK)
        *found = got;
    return status;
}

static uint64_t fault_free_space(struct cairn_backend *backend)
{
    return cairn_backend_free_space(from(backend)->inner);
}

static const struct cairn_backend_ops fault_ops = {
    .kind = "fault",
    .close = fault_close,
    .get = fault_get,
    .get_range = fault_get_range,
    .size = fault_size,
    .put = fault_put,
    .list = fault_list,
    .remove = fault_remove,
    .upload_open = fault_upload_open,
    .upload_submit = fault_upload_submit,
    .upload_reap = fault_upload_reap,
    .upload_finish = fault_upload_finish,
    .upload_abort = upload_abort,
    .publish = fault_publish,
    .sync_object = fault_sync_object,
    .adopt = fault_adopt,
    .free_space = fault_free_space,
};

int cairn_fault_backend_new(struct cairn_backend *inner, cairn_fault_fn fn, void *ctx,
                            struct cairn_backend **out, struct cairn_error *err)
{
    struct fault *fault = cairn_alloc_zero(1, sizeof(*fault));
    if (fault == NULL)
        return cairn_error_no_memory(err, "a backend");
    fault->base.ops = &fault_ops;
    fault->inner = inner;
    fault->fn = fn;
    fault->ctx = ctx;
    *out = &fault->base;
    return CAIRN_OK;
}
