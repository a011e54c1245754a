/* SPDX-License-Identifier: Apache-2.0
 *
 * file.h - opening one regular file of the source and reading it.
 */
#ifndef CAIRN_SOURCE_FILE_H
#define CAIRN_SOURCE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <cairn/cairn.h>

#include "base/buffer.h"
#include "source/stat.h"

/* Opens name in the directory open at dir for reading. Symlinks are not followed, FIFOs and devices
 * do not block and are never read from, the access time is left alone where that is permitted.
 * expected (may be NULL) is what the walk saw: another inode or device is refused. *fd: the caller
 * closes it with cairn_io_close. *st (may be NULL): what the descriptor says now; the caller
 * compares size and times. NOT_FOUND: gone (os_errno ENOENT), or replaced by something that is no
 * regular file or another one (os_errno ESTALE). IO: os_errno says why. The message does not name
 * the file. */
int cairn_file_open(int dir, const char *name, const struct cairn_stat *expected, int *fd,
                    struct cairn_stat *st, struct cairn_error *err);

/* Opens name in dir, whatever it is (symlinks, devices, FIFOs, sockets, files without permission),
 * with O_PATH: for cairn_xattrs_read. Statuses and expected as for cairn_file_open. */
int cairn_file_open_path(int dir, const char *name, const struct cairn_stat *expected, int *fd,
                         struct cairn_error *err);

/* Replaces the contents of out with the target of the symlink name in dir: bytes, no NUL.
 * NOT_FOUND: gone (ENOENT) or no symlink any more (ESTALE). LIMIT: longer than 1 MiB. IO.
 * NO_MEMORY. */
int cairn_link_read(int dir, const char *name, struct cairn_buf *out, struct cairn_error *err);

/* Reads a file from beginning to end (roughly: any order is correct) so that what was in the page
 * cache before stays there and what was not does not push other things out. Plain data; no clean-up
 * is needed beyond cairn_file_reader_end. One thread at a time. */
struct cairn_file_reader {
    int fd;
    int mode;           /* internal: how the cache is spared */
    uint64_t size;      /* expected size */
    uint64_t cold_from; /* internal: read, not cached before and not dropped yet */
    uint64_t cold_to;
};

/* Begins reading fd, which stays the caller's. Files below 1 MiB are read plainly. */
void cairn_file_reader_begin(struct cairn_file_reader *reader, int fd, uint64_t size);

/* Reads up to len bytes at `at`; short only at the end of the file. Returns how many, or -1 and
 * errno. */
ssize_t cairn_file_reader_pread(struct cairn_file_reader *reader, void *buf, size_t len,
                                uint64_t at);

/* Ends reading, before fd is closed. */
void cairn_file_reader_end(struct cairn_file_reader *reader);

#endif
