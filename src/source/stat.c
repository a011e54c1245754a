/* SPDX-License-Identifier: Apache-2.0 */
#include "source/stat.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#define WANTED (STATX_BASIC_STATS | STATX_BTIME | STATX_MNT_ID)

static struct cairn_stat_time time_of(const struct statx_timestamp *t)
{
    return (struct cairn_stat_time){t->tv_sec, t->tv_nsec};
}

static int fill(int dir, const char *name, int flags, struct cairn_stat *out)
{
    struct statx x;
    int n;
    do
        n = statx(dir, name, flags | AT_NO_AUTOMOUNT, WANTED, &x);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return -1;
    bool has_btime = (x.stx_mask & STATX_BTIME) != 0;
    bool has_mnt_id = (x.stx_mask & STATX_MNT_ID) != 0;
    *out = (struct cairn_stat){
        .mode = x.stx_mode,
        .uid = x.stx_uid,
        .gid = x.stx_gid,
        .nlink = x.stx_nlink,
        .size = x.stx_size,
        .blocks = x.stx_blocks,
        .ino = x.stx_ino,
        .dev_major = x.stx_dev_major,
        .dev_minor = x.stx_dev_minor,
        .rdev_major = x.stx_rdev_major,
        .rdev_minor = x.stx_rdev_minor,
        .mtime = time_of(&x.stx_mtime),
        .ctime = time_of(&x.stx_ctime),
        .atime = time_of(&x.stx_atime),
        .mnt_id = has_mnt_id ? x.stx_mnt_id : 0,
        .attributes = x.stx_attributes & x.stx_attributes_mask,
        .has_btime = has_btime,
        .has_mnt_id = has_mnt_id,
    };
    if (has_btime)
        out->btime = time_of(&x.stx_btime);
    return 0;
}

int cairn_stat_at(int dir, const char *name, struct cairn_stat *out)
{
    return fill(dir, name, AT_SYMLINK_NOFOLLOW, out);
}

int cairn_stat_at_following(int dir, const char *name, struct cairn_stat *out)
{
    return fill(dir, name, 0, out);
}

int cairn_stat_fd(int fd, struct cairn_stat *out)
{
    return fill(fd, "", AT_EMPTY_PATH, out);
}
