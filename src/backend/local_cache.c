/* SPDX-License-Identifier: Apache-2.0
 *
 * local_cache.c - a few descriptors of objects that are read by range, so that a restore does not
 * open a pack for each piece of it. Objects never change, so a descriptor never goes stale; remove
 * drops it so that the space is given back.
 */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "backend/local_internal.h"
#include "base/io.h"

void cairn_local_cache_init(struct cairn_local_cache *cache)
{
    pthread_mutex_init(&cache->lock, NULL);
    cache->clock = 0;
    for (size_t i = 0; i < CAIRN_LOCAL_CACHE_FILES; i++)
        cache->files[i].fd = -1;
}

void cairn_local_cache_release(struct cairn_local_cache *cache)
{
    for (size_t i = 0; i < CAIRN_LOCAL_CACHE_FILES; i++) {
        if (cache->files[i].fd >= 0)
            (void)cairn_io_close(cache->files[i].fd);
    }
    pthread_mutex_destroy(&cache->lock);
}

static struct cairn_local_cached *find(struct cairn_local_cache *cache, const char *name)
{
    for (size_t i = 0; i < CAIRN_LOCAL_CACHE_FILES; i++) {
        struct cairn_local_cached *file = &cache->files[i];
        if (file->fd >= 0 && !file->dropped && strcmp(file->name, name) == 0)
            return file;
    }
    return NULL;
}

/* A slot that is free or whose file nobody uses now; *close_fd is to be closed by the caller. */
static struct cairn_local_cached *take_slot(struct cairn_local_cache *cache, int *close_fd)
{
    struct cairn_local_cached *oldest = NULL;
    for (size_t i = 0; i < CAIRN_LOCAL_CACHE_FILES; i++) {
        struct cairn_local_cached *file = &cache->files[i];
        if (file->fd < 0)
            return file;
        if (file->users == 0 && (oldest == NULL || file->used_at < oldest->used_at))
            oldest = file;
    }
    if (oldest != NULL) {
        *close_fd = oldest->fd;
        oldest->fd = -1;
    }
    return oldest;
}

int cairn_local_cache_get(struct cairn_local *local, const char *name)
{
    struct cairn_local_cache *cache = &local->cache;
    struct stat st;
    int close_fd = -1, fd = -1;
    pthread_mutex_lock(&cache->lock);
    struct cairn_local_cached *file = find(cache, name);
    if (file != NULL) {
        file->users++;
        file->used_at = ++cache->clock;
        fd = file->fd;
    }
    pthread_mutex_unlock(&cache->lock);
    if (fd >= 0)
        return fd;
    fd = cairn_local_open_object(local, name, &st);
    if (fd < 0)
        return -1;
    pthread_mutex_lock(&cache->lock);
    /* Another thread may have opened it meanwhile; then this descriptor stays out of the cache. */
    file = find(cache, name) == NULL ? take_slot(cache, &close_fd) : NULL;
    if (file != NULL) {
        memcpy(file->name, name, strlen(name) + 1);
        file->fd = fd;
        file->users = 1;
        file->dropped = false;
        file->used_at = ++cache->clock;
    }
    pthread_mutex_unlock(&cache->lock);
    if (close_fd >= 0)
        (void)cairn_io_close(close_fd);
    return fd;
}

void cairn_local_cache_put(struct cairn_local *local, int fd)
{
    struct cairn_local_cache *cache = &local->cache;
    bool keep = false;
    pthread_mutex_lock(&cache->lock);
    for (size_t i = 0; i < CAIRN_LOCAL_CACHE_FILES; i++) {
        struct cairn_local_cached *file = &cache->files[i];
        if (file->fd != fd)
            continue;
        keep = --file->users > 0 || !file->dropped;
        if (!keep)
            file->fd = -1;
        break;
    }
    pthread_mutex_unlock(&cache->lock);
    if (!keep)
        (void)cairn_io_close(fd);
}

void cairn_local_cache_drop(struct cairn_local_cache *cache, const char *name)
{
    int fd = -1;
    pthread_mutex_lock(&cache->lock);
    struct cairn_local_cached *file = find(cache, name);
    if (file != NULL && file->users > 0) {
        file->dropped = true;
    } else if (file != NULL) {
        fd = file->fd;
        file->fd = -1;
    }
    pthread_mutex_unlock(&cache->lock);
    if (fd >= 0)
        (void)cairn_io_close(fd);
}
