/* SPDX-License-Identifier: Apache-2.0 */
#include "source/inode_flags.h"

#include <errno.h>
#include <linux/fs.h>
#include <sys/ioctl.h>

#include "base/error.h"

#ifndef FS_DAX_FL
#define FS_DAX_FL 0x02000000
#endif
#ifndef FS_CASEFOLD_FL
#define FS_CASEFOLD_FL 0x40000000
#endif

/* What chattr can set on one of ext4, btrfs, xfs or f2fs; the rest describes how the file system
 * happens to store the file. */
#define SETTABLE                                                                                   \
    ((uint32_t)(FS_SECRM_FL | FS_UNRM_FL | FS_COMPR_FL | FS_SYNC_FL | FS_IMMUTABLE_FL |            \
                FS_APPEND_FL | FS_NODUMP_FL | FS_NOATIME_FL | FS_NOCOMP_FL | FS_JOURNAL_DATA_FL |  \
                FS_NOTAIL_FL | FS_DIRSYNC_FL | FS_TOPDIR_FL | FS_NOCOW_FL | FS_DAX_FL |            \
                FS_PROJINHERIT_FL | FS_CASEFOLD_FL))

static bool is_none(int os_errno)
{
    /* EBADF: an O_PATH descriptor. ENOSYS, EINVAL: FUSE servers. */
    return os_errno == ENOTTY || os_errno == EOPNOTSUPP || os_errno == ENOSYS ||
           os_errno == EINVAL || os_errno == EBADF;
}

int cairn_inode_flags_read(int fd, struct cairn_inode_flags *out, struct cairn_error *err)
{
    struct cairn_inode_flags result = {0, 0};
    int flags = 0; /* the kernel writes an int, whatever the request's name says */
    struct fsxattr extended;
    if (ioctl(fd, FS_IOC_GETFLAGS, &flags) == 0)
        result.flags = (uint32_t)flags & SETTABLE;
    else if (!is_none(errno))
        return cairn_error_set(err, CAIRN_IO, errno, "the inode flags cannot be read");
    if (ioctl(fd, FS_IOC_FSGETXATTR, &extended) == 0)
        result.project = extended.fsx_projid;
    else if (!is_none(errno))
        return cairn_error_set(err, CAIRN_IO, errno, "the project id cannot be read");
    *out = result;
    return CAIRN_OK;
}
