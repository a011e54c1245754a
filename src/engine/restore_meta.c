/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/io.h"
#include "engine/restore_internal.h"

void cairn_restore_meta_from(struct cairn_restore_meta *meta, const struct cairn_entry *entry)
{
    *meta = (struct cairn_restore_meta){
        .type = entry->type,
        .mode = entry->mode,
        .uid = entry->uid,
        .gid = entry->gid,
        .mtime = entry->mtime,
        .atime = entry->atime,
        .has_atime = entry->has_atime,
        .has_xattrs_ref = entry->has_xattrs_ref,
        .flags = entry->has_flags ? (uint32_t)entry->flags & CAIRN_RESTORE_FLAGS : 0,
        .project = entry->has_project ? (uint32_t)entry->project : 0,
        .unknown_field = entry->unknown_field,
        .xattrs = entry->xattrs,
        .xattrs_ref = entry->xattrs_ref,
    };
}

bool cairn_restore_meta_has_xattrs(const struct cairn_restore_meta *meta)
{
    return meta->xattrs.len > 0 || meta->has_xattrs_ref;
}

void cairn_restore_loss_add(struct cairn_restore_loss *loss, int os_errno, const char *what)
{
    size_t len = strlen(loss->what);
    if (len == 0)
        loss->os_errno = os_errno;
    (void)snprintf(loss->what + len, sizeof(loss->what) - len, "%s%s", len ? ", " : "", what);
}

void cairn_restore_loss_report(struct cairn_restore *r, const struct cairn_restore_loss *loss,
                               const struct cairn_restore_meta *meta,
                               const struct cairn_restore_dir *dir, const char *name,
                               uint64_t number)
{
    if (loss->what[0])
        cairn_restore_problem(r, dir, name, number, false, loss->os_errno,
                              "restored, but not its %s", loss->what);
    else if (meta->unknown_field != 0)
        cairn_restore_problem(r, dir, name, number, false, 0,
                              "restored, but not its field %llu, which needs a newer cairn",
                              (unsigned long long)meta->unknown_field);
}

/* The name under which a held descriptor can be given to calls that take paths only. */
static void proc_path(char out[40], int fd)
{
    (void)snprintf(out, 40, "/proc/self/fd/%d", fd);
}

/* Returns whether the owner is right now. */
static bool set_owner(const struct cairn_restore *r, int fd, bool is_path,
                      const struct cairn_restore_meta *meta, struct cairn_restore_loss *loss)
{
    int rc = is_path ? fchownat(fd, "", meta->uid, meta->gid, AT_EMPTY_PATH)
                     : fchown(fd, meta->uid, meta->gid);
    if (rc == 0)
        return true;
    int why = errno;
    const char *what = "owner and group";
    if (why == EPERM && r->uid != 0) {
        /* Without privileges a group of one's own can still be set. */
        rc = is_path ? fchownat(fd, "", (uid_t)-1, meta->gid, AT_EMPTY_PATH)
                     : fchown(fd, (uid_t)-1, meta->gid);
        if (rc == 0 && meta->uid == r->uid)
            return true;
        if (rc == 0)
            what = "owner";
        else if (meta->uid == r->uid)
            what = "group";
    }
    cairn_restore_loss_add(loss, why, what);
    return false;
}

static void set_xattrs(int fd, bool is_path, struct cairn_slice pairs,
                       struct cairn_restore_loss *loss)
{
    struct cairn_reader reader;
    struct cairn_slice name, value;
    char key[256], shown[300], path[40];
    cairn_reader_init(&reader, pairs.data, pairs.len);
    proc_path(path, fd);
    while (cairn_xattr_decode(&reader, &name, &value)) {
        int rc = -1;
        errno = ERANGE;
        if (name.len < sizeof(key)) {
            memcpy(key, name.data, name.len);
            key[name.len] = 0;
            rc = is_path ? setxattr(path, key, value.data, value.len, 0)
                         : fsetxattr(fd, key, value.data, value.len, 0);
        }
        if (rc != 0) {
            int why = errno;
            (void)snprintf(shown, sizeof(shown), "attribute ");
            cairn_escape(shown + 10, sizeof(shown) - 10, (const char *)name.data, name.len);
            cairn_restore_loss_add(loss, why, shown);
        }
    }
    if (reader.failed)
        cairn_restore_loss_add(loss, 0, "extended attributes (malformed)");
}

static void set_all_xattrs(struct cairn_fetcher *fetcher, int fd, bool is_path,
                           const struct cairn_restore_meta *meta, struct cairn_restore_loss *loss)
{
    struct cairn_slice large;
    struct cairn_error err;
    if (meta->xattrs.len > 0)
        set_xattrs(fd, is_path, meta->xattrs, loss);
    if (!meta->has_xattrs_ref)
        return;
    if (cairn_fetcher_get(fetcher, CAIRN_KIND_METADATA, &meta->xattrs_ref, &large, &err) ==
        CAIRN_OK)
        set_xattrs(fd, is_path, large, loss);
    else
        cairn_restore_loss_add(loss, 0, "extended attributes (the repository lost them)");
}

static void set_mode(int fd, bool is_path, mode_t mode, struct cairn_restore_loss *loss)
{
    char path[40];
    proc_path(path, fd);
    /* fchmod refuses O_PATH descriptors; the link in /proc leads to the held inode itself. */
    if ((is_path ? chmod(path, mode) : fchmod(fd, mode)) != 0)
        cairn_restore_loss_add(loss, errno, "mode");
}

static void set_times(int fd, bool is_path, const struct cairn_restore_meta *meta,
                      struct cairn_restore_loss *loss)
{
    const struct timespec times[2] = {
        {meta->atime.sec, meta->has_atime ? (long)meta->atime.nsec : UTIME_OMIT},
        {meta->mtime.sec, (long)meta->mtime.nsec},
    };
    char path[40];
    int rc = is_path ? utimensat(fd, "", times, AT_EMPTY_PATH) : futimens(fd, times);
    if (rc != 0 && is_path && errno == EINVAL) {
        proc_path(path, fd);
        rc = utimensat(AT_FDCWD, path, times, 0);
    }
    if (rc != 0) {
        cairn_restore_loss_add(loss, errno, "times");
        return;
    }
    /* File systems clamp silently what their inodes cannot hold. */
    struct stat st;
    if ((meta->mtime.sec < 0 || meta->mtime.sec > INT32_MAX) && cairn_io()->fstat(fd, &st) == 0 &&
        st.st_mtim.tv_sec != meta->mtime.sec)
        cairn_restore_loss_add(loss, EOVERFLOW, "time of modification");
}

void cairn_restore_meta_apply(const struct cairn_restore *r, struct cairn_fetcher *fetcher, int fd,
                              bool is_path, const struct cairn_restore_meta *meta,
                              bool owner_is_right, bool mode_is_right,
                              struct cairn_restore_loss *loss)
{
    mode_t mode = meta->mode;
    /* Owner first: changing it drops set-id bits and capabilities. The mode after the attributes: a
     * file that is not writable takes no user attributes from its owner. */
    if ((!owner_is_right || meta->uid != r->uid || meta->gid != r->gid) &&
        !set_owner(r, fd, is_path, meta, loss) && meta->type != CAIRN_ENTRY_DIRECTORY)
        mode &= ~(mode_t)(S_ISUID | S_ISGID); /* never with another owner than it was given for */
    if (cairn_restore_meta_has_xattrs(meta))
        set_all_xattrs(fetcher, fd, is_path, meta, loss);
    if (!mode_is_right && meta->type != CAIRN_ENTRY_SYMLINK)
        set_mode(fd, is_path, mode, loss);
    set_times(fd, is_path, meta, loss);
}

void cairn_restore_meta_early(int fd, const struct cairn_restore_meta *meta)
{
    int flags = 0;
    if ((meta->flags & CAIRN_RESTORE_FLAG_NOCOW) && ioctl(fd, FS_IOC_GETFLAGS, &flags) == 0) {
        /* A failure shows when all flags are set at the end. */
        flags |= (int)CAIRN_RESTORE_FLAG_NOCOW;
        (void)ioctl(fd, FS_IOC_SETFLAGS, &flags);
    }
}

void cairn_restore_meta_flags(int fd, const struct cairn_restore_meta *meta,
                              struct cairn_restore_loss *loss)
{
    struct fsxattr attributes;
    int flags = 0;
    if (meta->project != 0) {
        int rc = ioctl(fd, FS_IOC_FSGETXATTR, &attributes);
        if (rc == 0 && attributes.fsx_projid != meta->project) {
            attributes.fsx_projid = meta->project;
            rc = ioctl(fd, FS_IOC_FSSETXATTR, &attributes);
        }
        if (rc != 0)
            cairn_restore_loss_add(loss, errno, "project id");
    }
    if (meta->flags == 0)
        return;
    int rc = ioctl(fd, FS_IOC_GETFLAGS, &flags);
    if (rc == 0 && ((uint32_t)flags & CAIRN_RESTORE_FLAGS) != meta->flags) {
        flags = (int)(((uint32_t)flags & ~CAIRN_RESTORE_FLAGS) | meta->flags);
        rc = ioctl(fd, FS_IOC_SETFLAGS, &flags);
    }
    if (rc != 0)
        cairn_restore_loss_add(loss, errno, "inode flags");
}
