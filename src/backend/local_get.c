/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <sys/stat.h>

#include "backend/local_internal.h"
#include "base/error.h"
#include "base/io.h"

static int too_short(const struct cairn_local *local, const char *name, struct cairn_error *err)
{
    return cairn_error_set(err, CAIRN_CORRUPT, 0,
                           "%s in repository %s ends too early; run cairn check", name,
                           local->path);
}

/* Reads len bytes at `at`, no fewer. */
static int read_exactly(const struct cairn_local *local, const char *name, int fd, uint64_t at,
                        void *out, size_t len, struct cairn_error *err)
{
    if (at > INT64_MAX || len > INT64_MAX - at)
        return too_short(local, name, err);
    ssize_t got = cairn_io_pread_full(fd, out, len, (off_t)at);
    if (got < 0)
        return cairn_local_read_error(local, name, errno, err);
    return (size_t)got == len ? CAIRN_OK : too_short(local, name, err);
}

int cairn_local_get(struct cairn_backend *backend, const char *name, size_t max,
                    struct cairn_buf *out, struct cairn_error *err)
{
    struct cairn_local *local = cairn_local_from(backend);
    struct stat st;
    int fd = cairn_local_open_object(local, name, &st);
    if (fd < 0)
        return cairn_local_read_error(local, name, errno, err);
    int status = CAIRN_OK;
    if ((uint64_t)st.st_size > max) {
        status =
            cairn_error_set(err, CAIRN_LIMIT, 0, "%s in repository %s is larger than %zu bytes",
                            name, local->path, max);
        goto out;
    }
    size_t len = (size_t)st.st_size;
    cairn_buf_clear(out);
    if (!cairn_buf_reserve(out, len)) {
        status = cairn_error_no_memory(err, name);
        goto out;
    }
    status = read_exactly(local, name, fd, 0, out->data, len, err);
    if (status == CAIRN_OK)
        out->len = len;
out:
    (void)cairn_io_close(fd);
    return status;
}

int cairn_local_get_range(struct cairn_backend *backend, const char *name, uint64_t at, void *out,
                          size_t len, struct cairn_error *err)
{
    struct cairn_local *local = cairn_local_from(backend);
    int fd = cairn_local_cache_get(local, name);
    if (fd < 0)
        return cairn_local_read_error(local, name, errno, err);
    int status = read_exactly(local, name, fd, at, out, len, err);
    cairn_local_cache_put(local, fd);
    return status;
}

int cairn_local_size(struct cairn_backend *backend, const char *name, uint64_t *size,
                     struct cairn_error *err)
{
    struct cairn_local *local = cairn_local_from(backend);
    struct stat st;
    int fd = cairn_local_open_object(local, name, &st);
    if (fd < 0)
        return cairn_local_read_error(local, name, errno, err);
    (void)cairn_io_close(fd);
    *size = (uint64_t)st.st_size;
    return CAIRN_OK;
}
