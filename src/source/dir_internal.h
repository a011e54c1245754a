/* SPDX-License-Identifier: Apache-2.0
 *
 * dir_internal.h - how directory handles share a bounded number of descriptors.
 *
 * Invariants
 * 1. fd, pins and the list links of every handle are guarded by its cache's lock.
 * 2. A handle is in one of the cache's lists exactly while fd >= 0 and pins == 0; only such a
 *    descriptor may be closed under it.
 * 3. A handle has a reference to its parent and to the cache, so that a chain of handles outlives
 *    the walk that made it.
 * 4. No system call is made under the lock but those of closing nothing: opening and closing happen
 *    outside it.
 * Every CAIRN_DIR_CHECKPOINT-th level goes to a list of its own, which is emptied last: in a very
 * deep tree a closed descriptor is then never more than so many steps away from an open one.
 */
#ifndef CAIRN_SOURCE_DIR_INTERNAL_H
#define CAIRN_SOURCE_DIR_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "source/dir.h"
#include "source/stat.h"

#define CAIRN_DIR_OPEN_MAX 256u
#define CAIRN_DIR_OPEN_MIN 8u
#define CAIRN_DIR_CHECKPOINT 128u

struct dir_cache {
    atomic_size_t refs;
    pthread_mutex_t lock;
    unsigned limit; /* descriptors, pinned ones included where possible */
    unsigned open;
    struct cairn_dir *oldest[2], *newest[2]; /* [1]: checkpoints */
};

struct cairn_dir {
    atomic_size_t refs;
    struct dir_cache *cache;
    struct cairn_dir *parent;
    struct cairn_dir *older, *newer;
    uint64_t ino, device;
    unsigned depth;
    unsigned pins;
    int fd;
    bool is_followed;  /* a parent of a given path: symlinks lead to it */
    bool is_automount; /* opening it may put another file system here */
    bool is_path_only; /* fd is O_PATH: may be searched, not read */
    size_t name_len;
    char name[];
};

/* A cache with one reference. NULL: no memory. */
struct dir_cache *dir_cache_new(void);
void dir_cache_unref(struct dir_cache *cache);

/* A handle with one reference; takes references of its own to cache and parent. Opens nothing.
 * NULL: no memory. */
struct cairn_dir *dir_new(struct dir_cache *cache, struct cairn_dir *parent, const char *name,
                          size_t name_len, const struct cairn_stat *st, bool is_followed);

/* As cairn_dir_pin; 0 or an errno (ESTALE: it is not the directory that was seen). */
int dir_pin(struct cairn_dir *dir, int *fd);

#endif
