/* SPDX-License-Identifier: Apache-2.0
 *
 * dir.h - a handle of one directory of the source, by which files in it are opened from any thread
 * long after the walk has passed, with few descriptors open at a time.
 *
 * A handle knows its parent, its name in it, and its device and inode. Its descriptor is opened
 * when it is needed, kept while it is pinned, and may be closed otherwise; opening it again goes
 * down from the nearest ancestor that is open, one component at a time, without following symlinks,
 * and each step must find the device and inode that were seen before.
 */
#ifndef CAIRN_SOURCE_DIR_H
#define CAIRN_SOURCE_DIR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cairn/cairn.h>

#include "base/buffer.h"

/* Reference counted; every function may be called by any thread. */
struct cairn_dir;

/* One more reference to dir, which is returned. */
struct cairn_dir *cairn_dir_ref(struct cairn_dir *dir);

/* Gives a reference back. With the last one the descriptor is closed and the parent's reference is
 * given back. NULL is allowed. */
void cairn_dir_unref(struct cairn_dir *dir);

/* Pins the directory's descriptor: *fd stays open, with the same number, until as many
 * cairn_dir_unpin. It is borrowed: for openat, fstat, readlinkat, xattrs, ioctl; never closed,
 * never read with getdents. Hold it for one file, not for a whole tree. It was opened O_RDONLY,
 * or, where only searching is permitted, O_PATH (fgetxattr and ioctl then fail with EBADF; the
 * readers in xattrs.h and inode_flags.h know).
 * NOT_FOUND: the directory was moved, removed or replaced since (os_errno ENOENT or ESTALE).
 * IO: it cannot be opened. NO_MEMORY. The message names the path. */
int cairn_dir_pin(struct cairn_dir *dir, int *fd, struct cairn_error *err);

/* Ends one cairn_dir_pin. */
void cairn_dir_unpin(struct cairn_dir *dir);

/* The containing directory, borrowed from dir; NULL for "/". */
struct cairn_dir *cairn_dir_get_parent(const struct cairn_dir *dir);

/* How far below "/": 0 for "/" itself. */
unsigned cairn_dir_get_depth(const struct cairn_dir *dir);

/* The device that the directory lies on, as cairn_stat_device gives it. */
uint64_t cairn_dir_get_device(const struct cairn_dir *dir);

/* The depth of the given path that dir is, or is below: 0 for "/". Of a directory that only leads
 * to given paths: one more than its own, as of any given path in it. */
unsigned cairn_dir_get_given_depth(const struct cairn_dir *dir);

/* Appends the absolute path of name in dir, without NUL. name NULL: of dir itself ("/" for the
 * root). For messages and for matching, never for opening. out->failed: no memory. */
void cairn_dir_append_path(const struct cairn_dir *dir, const char *name, struct cairn_buf *out);

#endif
