/* SPDX-License-Identifier: Apache-2.0
 *
 * stat.h - what statx says of one file, as far as cairn keeps or compares it.
 */
#ifndef CAIRN_SOURCE_STAT_H
#define CAIRN_SOURCE_STAT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include <cairn/cairn.h>

/* Seconds since 1970 of either sign and nanoseconds below 10^9, never folded into one number. */
struct cairn_stat_time {
    int64_t sec;
    uint32_t nsec;
};

struct cairn_stat {
    uint32_t mode; /* type and permissions, as st_mode */
    uint32_t uid, gid;
    uint32_t nlink;
    uint64_t size;   /* bytes */
    uint64_t blocks; /* of 512 bytes */
    uint64_t ino;
    uint32_t dev_major, dev_minor;   /* where the file lies */
    uint32_t rdev_major, rdev_minor; /* what a device node names */
    struct cairn_stat_time mtime, ctime, atime;
    struct cairn_stat_time btime; /* zero unless has_btime */
    uint64_t mnt_id;              /* zero unless has_mnt_id; equal numbers: the same mount */
    uint64_t attributes;          /* STATX_ATTR_ bits, only those the file system knows */
    bool has_btime;
    bool has_mnt_id;
};

/* The device as one number: major << 32 | minor. */
static inline uint64_t cairn_stat_device(const struct cairn_stat *st)
{
    return (uint64_t)st->dev_major << 32 | st->dev_minor;
}

static inline bool cairn_stat_is_file(const struct cairn_stat *st)
{
    return S_ISREG(st->mode);
}

static inline bool cairn_stat_is_dir(const struct cairn_stat *st)
{
    return S_ISDIR(st->mode);
}

/* true: both describe the same inode of the same device. */
static inline bool cairn_stat_is_same_inode(const struct cairn_stat *a, const struct cairn_stat *b)
{
    return a->ino == b->ino && a->dev_major == b->dev_major && a->dev_minor == b->dev_minor;
}

/* Fills out for name within the directory open at dir (O_PATH will do). A symlink is described
 * itself and nothing is mounted. 0, or -1 and errno, out untouched. One system call. Any thread. */
int cairn_stat_at(int dir, const char *name, struct cairn_stat *out);

/* As cairn_stat_at, but a symlink is followed. */
int cairn_stat_at_following(int dir, const char *name, struct cairn_stat *out);

/* As cairn_stat_at for an open descriptor of any kind, O_PATH included. */
int cairn_stat_fd(int fd, struct cairn_stat *out);

#endif
