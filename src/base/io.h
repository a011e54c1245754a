/* SPDX-License-Identifier: Apache-2.0
 *
 * io.h - the one seam through which cairn makes file system calls, so that tests can record every
 * call, make any of them fail, and build the states a crash could leave.
 *
 * The functions have the meaning, results and errno of the system calls whose names they bear.
 * Helpers below them add what every caller wants (retry after EINTR, whole transfers).
 */
#ifndef CAIRN_BASE_IO_H
#define CAIRN_BASE_IO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include <cairn/cairn.h>

struct cairn_io_ops {
    int (*openat)(int dir, const char *name, int flags, mode_t mode);
    int (*close)(int fd);
    ssize_t (*pread)(int fd, void *buf, size_t len, off_t at);
    ssize_t (*pwrite)(int fd, const void *buf, size_t len, off_t at);
    ssize_t (*read)(int fd, void *buf, size_t len);
    int (*fstat)(int fd, struct stat *st);
    int (*fstatat)(int dir, const char *name, struct stat *st, int flags);
    int (*fsync)(int fd);
    int (*fdatasync)(int fd);
    int (*syncfs)(int fd);
    int (*ftruncate)(int fd, off_t len);
    int (*fallocate)(int fd, int mode, off_t at, off_t len);
    int (*renameat2)(int from_dir, const char *from, int to_dir, const char *to, unsigned flags);
    int (*linkat)(int from_dir, const char *from, int to_dir, const char *to, int flags);
    int (*unlinkat)(int dir, const char *name, int flags);
    int (*mkdirat)(int dir, const char *name, mode_t mode);
    ssize_t (*getdents64)(int fd, void *buf, size_t len);
};

/* The operations in force: the system's own unless a test has set others. */
const struct cairn_io_ops *cairn_io(void);

/* For tests: puts other operations in force; NULL restores the system's. While others are in force
 * nothing goes past the seam (no io_uring). Not while other threads do I/O. */
void cairn_io_set(const struct cairn_io_ops *ops);

/* The system's own operations, for wrappers. */
const struct cairn_io_ops *cairn_io_system(void);

/* true: the system's own operations are in force, so that io_uring may be used beside them. */
bool cairn_io_is_system(void);

/* openat with O_CLOEXEC added, repeated after EINTR. -1 and errno. */
int cairn_io_open(int dir, const char *name, int flags, mode_t mode);

/* Closes fd; a failure of close is returned (-1 and errno), the descriptor is gone in any case. */
int cairn_io_close(int fd);

/* Reads up to len bytes at `at`, repeated after EINTR and short reads until len, end or error.
 * Returns how many bytes, or -1 and errno. */
ssize_t cairn_io_pread_full(int fd, void *buf, size_t len, off_t at);

/* Writes all len bytes at `at`. 0, or -1 and errno (a write of nothing is ENOSPC). */
int cairn_io_pwrite_full(int fd, const void *buf, size_t len, off_t at);

/* fsync, fdatasync, syncfs, repeated after EINTR only. */
int cairn_io_fsync(int fd);
int cairn_io_fdatasync(int fd);
int cairn_io_syncfs(int fd);

#endif
