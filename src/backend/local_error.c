/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "backend/local_internal.h"
#include "base/error.h"

static const char *remedy(int os_errno)
{
    switch (os_errno) {
    case ENOSPC:
    case EDQUOT:
        return "; free some space or run cairn prune";
    case EACCES:
    case EPERM:
        return "; check the owner and the permissions of the directory";
    case EROFS:
        return "; mount the file system writable";
    case EIO:
        return "; check the disk and the system's log";
    case EMFILE:
    case ENFILE:
        return "; raise the limit of open files (ulimit -n)";
    case ENOTDIR:
    case ELOOP:
    case ESTALE:
        return "; a directory of the repository is missing or replaced: check that it is mounted";
    default:
        return "";
    }
}

static int set(struct cairn_error *err, int status, int os_errno, const char *verb,
               const char *name, const char *between, const struct cairn_local *local)
{
    char text[128];
    const char *said = strerror_r(os_errno, text, sizeof(text));
    cairn_error_set(err, status, 0, "cannot %s %s%srepository %s: %s%s", verb, name, between,
                    local->path, said, remedy(os_errno));
    if (err != NULL)
        err->os_errno = os_errno;
    return status;
}

int cairn_local_read_error(const struct cairn_local *local, const char *name, int os_errno,
                           struct cairn_error *err)
{
    int status = cairn_status_from_errno(os_errno);
    return set(err, status, os_errno, "read", name, name[0] ? " in " : "", local);
}

int cairn_local_write_error(const struct cairn_local *local, const char *name, int os_errno,
                            struct cairn_error *err)
{
    int status = cairn_status_from_errno(os_errno);
    if (status == CAIRN_NOT_FOUND || status == CAIRN_EXISTS)
        status = CAIRN_IO;
    return set(err, status, os_errno, "write", name, name[0] ? " to " : "to ", local);
}

int cairn_local_check_writable(const struct cairn_local *local, const char *name,
                               struct cairn_error *err)
{
    if (local->read_only)
        return cairn_error_set(err, CAIRN_MISUSE, 0, "repository %s was opened for reading only",
                               local->path);
    if (strncmp(name, "tmp/", 4) == 0 || strcmp(name, "tmp") == 0)
        return cairn_error_set(err, CAIRN_MISUSE, 0, "%s is not the name of an object", name);
    return CAIRN_OK;
}
