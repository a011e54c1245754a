/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <sys/sysmacros.h>

#include "base/alloc.h"
#include "base/io.h"
#include "source/dir_internal.h"

/* ---- the lists of descriptors nobody has pinned; caller holds the lock ----------------------- */

static int list_of(const struct cairn_dir *dir)
{
    return dir->depth % CAIRN_DIR_CHECKPOINT == 0;
}

static void list_remove(struct cairn_dir *dir)
{
    struct dir_cache *cache = dir->cache;
    int which = list_of(dir);
    *(dir->older ? &dir->older->newer : &cache->oldest[which]) = dir->newer;
    *(dir->newer ? &dir->newer->older : &cache->newest[which]) = dir->older;
    dir->older = dir->newer = NULL;
}

static void list_append(struct cairn_dir *dir)
{
    struct dir_cache *cache = dir->cache;
    int which = list_of(dir);
    dir->older = cache->newest[which];
    dir->newer = NULL;
    *(dir->older ? &dir->older->newer : &cache->oldest[which]) = dir;
    cache->newest[which] = dir;
}

/* Takes the descriptor that was unused for longest out of the cache; -1: all are pinned. */
static int take_oldest(struct dir_cache *cache)
{
    struct cairn_dir *dir = cache->oldest[0] ? cache->oldest[0] : cache->oldest[1];
    if (!dir)
        return -1;
    int fd = dir->fd;
    list_remove(dir);
    dir->fd = -1;
    cache->open--;
    return fd;
}

/* ---- opening --------------------------------------------------------------------------------- */

/* Closes all unpinned descriptors, because the process has run out of them. */
static void close_unpinned(struct dir_cache *cache)
{
    int fd;
    do {
        (void)pthread_mutex_lock(&cache->lock);
        fd = take_oldest(cache);
        (void)pthread_mutex_unlock(&cache->lock);
        if (fd >= 0)
            (void)cairn_io_close(fd);
    } while (fd >= 0);
}

static int open_flags(const struct cairn_dir *dir, int parent, int access)
{
    int flags = access | O_DIRECTORY | (dir->is_followed ? 0 : O_NOFOLLOW);
    int fd = cairn_io_open(parent, dir->parent ? dir->name : "/", flags, 0);
    if (fd < 0 && (errno == EMFILE || errno == ENFILE)) {
        close_unpinned(dir->cache);
        fd = cairn_io_open(parent, dir->parent ? dir->name : "/", flags, 0);
    }
    return fd;
}

/* Opens dir relative to its parent and makes sure that it is what was seen. 0 or an errno. */
static int open_step(const struct cairn_dir *dir, int parent, int *out, bool *is_path_only)
{
    bool path_only = false;
    int fd = open_flags(dir, parent, O_RDONLY | O_NOATIME);
    if (fd < 0 && errno == EPERM)
        fd = open_flags(dir, parent, O_RDONLY);
    if (fd < 0 && errno == EACCES) {
        path_only = true;
        fd = open_flags(dir, parent, O_PATH);
    }
    if (fd < 0)
        return errno == ENOTDIR || errno == ELOOP ? ESTALE : errno;

    struct stat st;
    int failed = cairn_io()->fstat(fd, &st) < 0 ? errno : 0;
    uint64_t device = 0;
    if (failed == 0)
        device = (uint64_t)major(st.st_dev) << 32 | minor(st.st_dev);
    bool is_same = st.st_ino == dir->ino && device == dir->device;
    if (failed == 0 && !is_same && !(dir->is_automount && device != dir->device))
        failed = ESTALE;
    if (failed) {
        (void)cairn_io_close(fd);
        return failed;
    }
    *out = fd;
    *is_path_only = path_only;
    return 0;
}

/* Gives dir the descriptor, pinned, unless another thread was faster: then that one is pinned. */
static void install(struct cairn_dir *dir, int fd, bool is_path_only)
{
    struct dir_cache *cache = dir->cache;
    int surplus = -1;
    (void)pthread_mutex_lock(&cache->lock);
    if (dir->fd >= 0) {
        surplus = fd;
        if (dir->pins == 0)
            list_remove(dir);
    } else {
        dir->fd = fd;
        dir->is_path_only = is_path_only;
        if (++cache->open > cache->limit)
            surplus = take_oldest(cache);
    }
    dir->pins++;
    (void)pthread_mutex_unlock(&cache->lock);
    if (surplus >= 0)
        (void)cairn_io_close(surplus);
}

/* Pins dir if it is open. Caller holds the lock. */
static bool pin_open(struct cairn_dir *dir)
{
    if (dir->fd < 0)
        return false;
    if (dir->pins++ == 0)
        list_remove(dir);
    return true;
}

/* Opens the closed handles of chain, outermost last, from `from` (pinned; NULL: from nowhere)
 * downwards. On success chain[0] is pinned. from is unpinned in any case. 0 or an errno. */
static int open_chain(struct cairn_dir **chain, size_t count, struct cairn_dir *from)
{
    int failed = 0;
    for (size_t i = count; i-- > 0 && failed == 0;) {
        int fd = -1;
        bool is_path_only = false;
        failed = open_step(chain[i], from ? from->fd : AT_FDCWD, &fd, &is_path_only);
        if (failed)
            break;
        install(chain[i], fd, is_path_only);
        if (from)
            cairn_dir_unpin(from);
        from = chain[i];
    }
    if (failed && from)
        cairn_dir_unpin(from);
    return failed;
}

int dir_pin(struct cairn_dir *dir, int *fd)
{
    struct dir_cache *cache = dir->cache;
    (void)pthread_mutex_lock(&cache->lock);
    bool is_open = pin_open(dir);
    size_t count = 1;
    struct cairn_dir *from = NULL;
    if (!is_open) {
        for (from = dir->parent; from && !pin_open(from); from = from->parent)
            count++;
    }
    (void)pthread_mutex_unlock(&cache->lock);
    if (is_open) {
        *fd = dir->fd;
        return 0;
    }
    struct cairn_dir *few[8];
    struct cairn_dir **chain = count <= 8 ? few : cairn_alloc(count, sizeof(struct cairn_dir *));
    if (!chain) {
        if (from)
            cairn_dir_unpin(from);
        return ENOMEM;
    }
    struct cairn_dir *at = dir;
    for (size_t i = 0; i < count; i++, at = at->parent)
        chain[i] = at;
    int failed = open_chain(chain, count, from);
    if (chain != few)
        cairn_free(chain);
    if (failed == 0)
        *fd = dir->fd;
    return failed;
}

void cairn_dir_unpin(struct cairn_dir *dir)
{
    struct dir_cache *cache = dir->cache;
    int surplus = -1;
    (void)pthread_mutex_lock(&cache->lock);
    if (--dir->pins == 0) {
        list_append(dir);
        /* Pins may have pushed the number above the limit; come back below it. */
        if (cache->open > cache->limit)
            surplus = take_oldest(cache);
    }
    (void)pthread_mutex_unlock(&cache->lock);
    if (surplus >= 0)
        (void)cairn_io_close(surplus);
}

void cairn_dir_unref(struct cairn_dir *dir)
{
    /* A loop, because a chain of handles may be some ten thousand long. */
    while (dir && atomic_fetch_sub(&dir->refs, 1) == 1) {
        struct dir_cache *cache = dir->cache;
        struct cairn_dir *parent = dir->parent;
        int fd;
        (void)pthread_mutex_lock(&cache->lock);
        fd = dir->fd;
        if (fd >= 0) {
            list_remove(dir);
            cache->open--;
        }
        (void)pthread_mutex_unlock(&cache->lock);
        if (fd >= 0)
            (void)cairn_io_close(fd);
        cairn_free(dir);
        dir_cache_unref(cache);
        dir = parent;
    }
}
