/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "backend/local_internal.h"
#include "base/io.h"

#define DIR_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW)

bool cairn_local_is_layout(const char *name)
{
    static const char *const first[] = {"keys/", "log/", "index/", "packs/"};
    for (size_t i = 0; i < sizeof(first) / sizeof(first[0]); i++) {
        if (strncmp(name, first[i], strlen(first[i])) == 0)
            return true;
    }
    return false;
}

/* Opens the next directory of a path, making it if make is set. */
static int open_step(int dir, const char *part, bool make)
{
    int fd = cairn_io_open(dir, part, DIR_FLAGS, 0);
    if (fd >= 0 || errno != ENOENT || !make)
        return fd;
    if (cairn_io()->mkdirat(dir, part, 0700) != 0 && errno != EEXIST)
        return -1;
    if (cairn_local_sync_dir(dir) != 0)
        return -1;
    return cairn_io_open(dir, part, DIR_FLAGS, 0);
}

static int open_parent(const struct cairn_local *local, const char *name, const char **leaf,
                       bool make)
{
    char part[CAIRN_BACKEND_NAME_MAX + 1];
    int dir = cairn_io_open(local->root, ".", DIR_FLAGS, 0);
    const char *at = name;
    for (const char *slash; dir >= 0 && (slash = strchr(at, '/')) != NULL; at = slash + 1) {
        memcpy(part, at, (size_t)(slash - at));
        part[slash - at] = '\0';
        bool basic = at == name && cairn_local_is_layout(name);
        int next = open_step(dir, part, make && !basic);
        int saved = errno;
        (void)cairn_io_close(dir);
        errno = basic && saved == ENOENT ? ENOTDIR : saved;
        dir = next;
    }
    if (dir >= 0)
        *leaf = at;
    return dir;
}

int cairn_local_open_parent(const struct cairn_local *local, const char *name, const char **leaf)
{
    return open_parent(local, name, leaf, false);
}

int cairn_local_make_parent(const struct cairn_local *local, const char *name, const char **leaf)
{
    return open_parent(local, name, leaf, true);
}

int cairn_local_open_object(const struct cairn_local *local, const char *name, struct stat *st)
{
    const char *leaf;
    int dir = cairn_local_open_parent(local, name, &leaf);
    if (dir < 0)
        return -1;
    /* O_NONBLOCK: a FIFO that somebody put there must not hold us up. */
    int fd = cairn_io_open(dir, leaf, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
    int saved = errno;
    (void)cairn_io_close(dir);
    errno = saved;
    if (fd < 0)
        return -1;
    int bad = cairn_io()->fstat(fd, st) != 0 ? errno : S_ISREG(st->st_mode) ? 0 : EINVAL;
    if (bad != 0) {
        (void)cairn_io_close(fd);
        errno = bad;
        return -1;
    }
    return fd;
}

int cairn_local_sync_dir(int dir)
{
    if (cairn_io_fsync(dir) == 0 || errno == EINVAL || errno == ENOSYS || errno == EOPNOTSUPP)
        return 0;
    return -1;
}

int cairn_local_walk(int dir, cairn_local_entry_fn fn, void *ctx)
{
    _Alignas(struct dirent64) char block[8192];
    for (;;) {
        ssize_t got = cairn_io()->getdents64(dir, block, sizeof(block));
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return (int)got;
        for (ssize_t at = 0; at < got;) {
            const struct dirent64 *entry = (const struct dirent64 *)(const void *)(block + at);
            at += entry->d_reclen;
            if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
                continue;
            int status = fn(ctx, dir, entry->d_name, entry->d_type);
            if (status != 0)
                return status;
        }
    }
}
