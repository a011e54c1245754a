/* SPDX-License-Identifier: Apache-2.0 */
#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>

static _Atomic(const struct cairn_io_ops *) current;

const struct cairn_io_ops *cairn_io(void)
{
    const struct cairn_io_ops *ops = atomic_load_explicit(&current, memory_order_relaxed);
    return ops ? ops : cairn_io_system();
}

void cairn_io_set(const struct cairn_io_ops *ops)
{
    atomic_store(&current, ops);
}

bool cairn_io_is_system(void)
{
    return atomic_load_explicit(&current, memory_order_relaxed) == NULL;
}

int cairn_io_open(int dir, const char *name, int flags, mode_t mode)
{
    int fd;
    do
        fd = cairn_io()->openat(dir, name, flags | O_CLOEXEC, mode);
    while (fd < 0 && errno == EINTR);
    return fd;
}

int cairn_io_close(int fd)
{
    /* After EINTR the descriptor is closed on Linux; closing again could hit another thread's. */
    int n = cairn_io()->close(fd);
    return n < 0 && errno == EINTR ? 0 : n;
}

ssize_t cairn_io_pread_full(int fd, void *buf, size_t len, off_t at)
{
    size_t done = 0;
    while (done < len) {
        ssize_t n = cairn_io()->pread(fd, (char *)buf + done, len - done, at + (off_t)done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        if (n == 0)
            break;
        done += (size_t)n;
    }
    return (ssize_t)done;
}

int cairn_io_pwrite_full(int fd, const void *buf, size_t len, off_t at)
{
    size_t done = 0;
    while (done < len) {
        ssize_t n = cairn_io()->pwrite(fd, (const char *)buf + done, len - done, at + (off_t)done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        if (n == 0) {
            errno = ENOSPC;
            return -1;
        }
        done += (size_t)n;
    }
    return 0;
}

int cairn_io_fsync(int fd)
{
    int n;
    do
        n = cairn_io()->fsync(fd);
    while (n < 0 && errno == EINTR);
    return n;
}

int cairn_io_fdatasync(int fd)
{
    int n;
    do
        n = cairn_io()->fdatasync(fd);
    while (n < 0 && errno == EINTR);
    return n;
}

int cairn_io_syncfs(int fd)
{
    int n;
    do
        n = cairn_io()->syncfs(fd);
    while (n < 0 && errno == EINTR);
    return n;
}
