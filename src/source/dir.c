/* SPDX-License-Identifier: Apache-2.0 */
#include "source/dir_internal.h"

#include <errno.h>
#include <string.h>
#include <sys/resource.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/io.h"

struct dir_cache *dir_cache_new(void)
{
    struct dir_cache *cache = cairn_alloc_zero(1, sizeof(*cache));
    if (!cache)
        return NULL;
    atomic_init(&cache->refs, 1);
    (void)pthread_mutex_init(&cache->lock, NULL);
    /* Files, the repository and other walks need descriptors too. */
    struct rlimit limit;
    cache->limit = CAIRN_DIR_OPEN_MAX;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur / 4 < cache->limit)
        cache->limit = (unsigned)(limit.rlim_cur / 4);
    if (cache->limit < CAIRN_DIR_OPEN_MIN)
        cache->limit = CAIRN_DIR_OPEN_MIN;
    return cache;
}

void dir_cache_unref(struct dir_cache *cache)
{
    if (!cache || atomic_fetch_sub(&cache->refs, 1) != 1)
        return;
    (void)pthread_mutex_destroy(&cache->lock);
    cairn_free(cache);
}

struct cairn_dir *dir_new(struct dir_cache *cache, struct cairn_dir *parent, const char *name,
                          size_t name_len, const struct cairn_stat *st, bool is_followed)
{
    struct cairn_dir *dir = cairn_alloc(1, sizeof(*dir) + name_len + 1);
    if (!dir)
        return NULL;
    *dir = (struct cairn_dir){
        .cache = cache,
        .parent = parent ? cairn_dir_ref(parent) : NULL,
        .ino = st->ino,
        .device = cairn_stat_device(st),
        .depth = parent ? parent->depth + 1 : 0,
        .fd = -1,
        .is_followed = is_followed,
        .is_automount = (st->attributes & STATX_ATTR_AUTOMOUNT) != 0,
        .name_len = name_len,
    };
    atomic_init(&dir->refs, 1);
    atomic_fetch_add(&cache->refs, 1);
    memcpy(dir->name, name, name_len);
    dir->name[name_len] = '\0';
    return dir;
}

struct cairn_dir *cairn_dir_ref(struct cairn_dir *dir)
{
    atomic_fetch_add(&dir->refs, 1);
    return dir;
}

struct cairn_dir *cairn_dir_get_parent(const struct cairn_dir *dir)
{
    return dir->parent;
}

unsigned cairn_dir_get_depth(const struct cairn_dir *dir)
{
    return dir->depth;
}

uint64_t cairn_dir_get_device(const struct cairn_dir *dir)
{
    return dir->device;
}

unsigned cairn_dir_get_given_depth(const struct cairn_dir *dir)
{
    unsigned depth = dir->is_followed ? dir->depth + 1 : dir->depth;
    for (; dir && !dir->is_followed; dir = dir->parent)
        depth = dir->depth;
    return depth;
}

void cairn_dir_append_path(const struct cairn_dir *dir, const char *name, struct cairn_buf *out)
{
    size_t name_len = name ? strlen(name) : 0;
    size_t len = name ? 1 + name_len : 0;
    for (const struct cairn_dir *d = dir; d->parent; d = d->parent)
        len += 1 + d->name_len;
    if (len == 0) {
        cairn_buf_put(out, "/", 1);
        return;
    }
    if (!cairn_buf_reserve(out, len))
        return;
    uint8_t *at = out->data + out->len + len;
    if (name) {
        at -= name_len;
        memcpy(at, name, name_len);
        *--at = '/';
    }
    for (const struct cairn_dir *d = dir; d->parent; d = d->parent) {
        at -= d->name_len;
        memcpy(at, d->name, d->name_len);
        *--at = '/';
    }
    out->len += len;
}

int cairn_dir_pin(struct cairn_dir *dir, int *fd, struct cairn_error *err)
{
    int failed = dir_pin(dir, fd);
    if (failed == 0)
        return CAIRN_OK;
    if (failed == ENOMEM)
        return cairn_error_no_memory(err, "a directory's path");
    struct cairn_buf path = CAIRN_BUF_INIT;
    cairn_dir_append_path(dir, NULL, &path);
    cairn_buf_put_u8(&path, 0);
    const char *text = path.failed ? "a directory" : (const char *)path.data;
    int status = CAIRN_IO;
    if (failed == ENOENT || failed == ESTALE)
        status = CAIRN_NOT_FOUND;
    status = cairn_error_set(err, status, failed == ESTALE ? 0 : failed, "%s: %s", text,
                             failed == ESTALE ? "replaced by something else since it was seen"
                                              : "cannot open the directory");
    if (err)
        err->os_errno = failed;
    cairn_buf_release(&path);
    return status;
}
