/* SPDX-License-Identifier: Apache-2.0 */
#include "base/io.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

static int real_openat(int dir, const char *name, int flags, mode_t mode)
{
    return openat(dir, name, flags, mode);
}

static int real_renameat2(int from_dir, const char *from, int to_dir, const char *to,
                          unsigned flags)
{
    return renameat2(from_dir, from, to_dir, to, flags);
}

static ssize_t real_getdents64(int fd, void *buf, size_t len)
{
    return getdents64(fd, buf, len);
}

static int real_fstat(int fd, struct stat *st)
{
    return fstat(fd, st);
}

static int real_fstatat(int dir, const char *name, struct stat *st, int flags)
{
    return fstatat(dir, name, st, flags);
}

static const struct cairn_io_ops system_ops = {
    .openat = real_openat,
    .close = close,
    .pread = pread,
    .pwrite = pwrite,
    .read = read,
    .fstat = real_fstat,
    .fstatat = real_fstatat,
    .fsync = fsync,
    .fdatasync = fdatasync,
    .syncfs = syncfs,
    .ftruncate = ftruncate,
    .fallocate = fallocate,
    .renameat2 = real_renameat2,
    .linkat = linkat,
    .unlinkat = unlinkat,
    .mkdirat = mkdirat,
    .getdents64 = real_getdents64,
};

const struct cairn_io_ops *cairn_io_system(void)
{
    return &system_ops;
}
