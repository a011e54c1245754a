/* SPDX-License-Identifier: Apache-2.0 */
#include "source/file.h"

#include <errno.h>
#include <fcntl.h>

#include "base/error.h"
#include "base/io.h"

static int refuse(struct cairn_error *err, int os_errno, bool is_replaced)
{
    if (is_replaced) {
        (void)cairn_error_set(err, CAIRN_NOT_FOUND, 0,
                              "replaced by something else since it was "
                              "seen");
        if (err)
            err->os_errno = ESTALE;
        return CAIRN_NOT_FOUND;
    }
    if (os_errno == ENOENT)
        return cairn_error_set(err, CAIRN_NOT_FOUND, os_errno, "vanished");
    return cairn_error_set(err, CAIRN_IO, os_errno, "cannot be opened");
}

int cairn_file_open(int dir, const char *name, const struct cairn_stat *expected, int *fd,
                    struct cairn_stat *st, struct cairn_error *err)
{
    struct cairn_stat before, now;
    if (!expected) {
        /* Opening a device can do things; look first. */
        if (cairn_stat_at(dir, name, &before) < 0)
            return refuse(err, errno, false);
        expected = &before;
    }
    if (!cairn_stat_is_file(expected))
        return refuse(err, 0, true);
    int flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
    int file = cairn_io_open(dir, name, flags | O_NOATIME, 0);
    if (file < 0 && errno == EPERM)
        file = cairn_io_open(dir, name, flags, 0);
    if (file < 0)
        return refuse(err, errno, errno == ELOOP || errno == ENXIO || errno == ENODEV);
    int failed = cairn_stat_fd(file, &now) < 0 ? errno : 0;
    bool is_same = !failed && cairn_stat_is_file(&now) && cairn_stat_is_same_inode(&now, expected);
    if (!is_same) {
        (void)cairn_io_close(file);
        return refuse(err, failed, failed == 0);
    }
    *fd = file;
    if (st)
        *st = now;
    return CAIRN_OK;
}

int cairn_file_open_path(int dir, const char *name, const struct cairn_stat *expected, int *fd,
                         struct cairn_error *err)
{
    struct cairn_stat now;
    int file = cairn_io_open(dir, name, O_PATH | O_NOFOLLOW, 0);
    if (file < 0)
        return refuse(err, errno, false);
    int failed = cairn_stat_fd(file, &now) < 0 ? errno : 0;
    bool is_same = !failed && (!expected || (cairn_stat_is_same_inode(&now, expected) &&
                                             ((now.mode ^ expected->mode) & S_IFMT) == 0));
    if (!is_same) {
        (void)cairn_io_close(file);
        return refuse(err, failed, failed == 0);
    }
    *fd = file;
    return CAIRN_OK;
}
