/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/io.h"
#include "engine/restore_internal.h"

static const char *kind_name(int type)
{
    switch (type) {
    case CAIRN_ENTRY_SYMLINK:
        return "making the symbolic link";
    case CAIRN_ENTRY_FIFO:
        return "making the FIFO";
    case CAIRN_ENTRY_SOCKET:
        return "making the socket";
    default:
        return "making the device";
    }
}

static int make(const struct cairn_restore_dir *dir, const struct cairn_entry *entry,
                const char *name, const char *link)
{
    if (entry->type == CAIRN_ENTRY_SYMLINK)
        return symlinkat(link, dir->fd, name);
    mode_t type = cairn_entry_st_mode(entry) & S_IFMT;
    dev_t dev = entry->type == CAIRN_ENTRY_BLOCK || entry->type == CAIRN_ENTRY_CHARACTER
                    ? makedev(entry->rdev_major, entry->rdev_minor)
                    : 0;
    return mknodat(dir->fd, name, type | 0600, dev);
}

/* Holds what was made. -1 and errno; EEXIST: something else is under the name now. */
static int hold(const struct cairn_restore_dir *dir, const struct cairn_entry *entry,
                const char *name)
{
    struct stat st;
    int fd = cairn_io_open(dir->fd, name, O_PATH | O_NOFOLLOW, 0);
    if (fd < 0)
        return -1;
    if (cairn_io()->fstat(fd, &st) != 0 || st.st_nlink != 1 ||
        (st.st_mode & S_IFMT) != (cairn_entry_st_mode(entry) & S_IFMT)) {
        (void)cairn_io_close(fd);
        errno = EEXIST;
        return -1;
    }
    return fd;
}

/* What the entry got from the target's default ACL is not the snapshot's. */
static void drop_inherited_acl(int fd)
{
    char path[40];
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    (void)removexattr(path, "system.posix_acl_access");
}

int cairn_restore_node(struct cairn_restore *r, struct cairn_restore_dir *dir,
                       const struct cairn_entry *entry, uint64_t number, struct cairn_error *err)
{
    struct cairn_restore_loss loss = {0};
    struct cairn_restore_meta meta;
    int status = CAIRN_OK, fd = -1;
    char *link = NULL;
    char *name = cairn_strndup((const char *)entry->name.data, entry->name.len);
    if (entry->type == CAIRN_ENTRY_SYMLINK)
        link = cairn_strndup((const char *)entry->link.data, entry->link.len);
    if (name == NULL || (entry->type == CAIRN_ENTRY_SYMLINK && link == NULL)) {
        status = cairn_error_no_memory(err, "a name");
        goto out;
    }
    if (make(dir, entry, name, link) != 0 || (fd = hold(dir, entry, name)) < 0) {
        int why = errno;
        if (!cairn_restore_is_fatal(r, why))
            cairn_restore_problem(r, dir, name, number, true, why, "%s", kind_name(entry->type));
        goto out;
    }
    cairn_restore_meta_from(&meta, entry);
    meta.flags = 0; /* these types have none that can be set */
    meta.project = 0;
    if (dir->has_default_acl && entry->type != CAIRN_ENTRY_SYMLINK)
        drop_inherited_acl(fd);
    cairn_restore_meta_apply(r, r->fetcher, fd, true, &meta, dir->gives_own_ids, false, &loss);
    cairn_restore_loss_report(r, &loss, &meta, dir, name, number);
    if (entry->hardlink_group != 0)
        (void)cairn_restore_links_keep(r, fd, entry->hardlink_group);
    atomic_fetch_add(&r->others_done, 1);
    cairn_restore_item(r, dir, name);
out:
    if (fd >= 0)
        (void)cairn_io_close(fd);
    cairn_free(name);
    cairn_free(link);
    return status;
}
