/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/io.h"
#include "engine/restore_internal.h"

static struct cairn_restore_dir *new_dir(struct cairn_restore_dir *parent,
                                         const struct cairn_entry *entry, uint64_t number)
{
    size_t name_len = parent && entry ? entry->name.len : 0;
    size_t xattrs = entry ? entry->xattrs.len : 0;
    struct cairn_restore_dir *dir = cairn_alloc_zero(1, sizeof(*dir) + name_len + 1 + xattrs);
    if (dir == NULL)
        return NULL;
    atomic_init(&dir->refs, 1);
    atomic_init(&dir->pins, 0);
    dir->fd = -1;
    dir->number = number;
    dir->parent = parent;
    dir->name_len = name_len;
    if (name_len > 0)
        memcpy(dir->name, entry->name.data, name_len);
    if (entry) {
        dir->apply = true;
        cairn_restore_meta_from(&dir->meta, entry);
        if (xattrs > 0)
            memcpy(dir->name + name_len + 1, entry->xattrs.data, xattrs);
        dir->meta.xattrs = (struct cairn_slice){(uint8_t *)dir->name + name_len + 1, xattrs};
    }
    if (parent)
        atomic_fetch_add(&parent->refs, 1);
    return dir;
}

void cairn_restore_dir_unref(struct cairn_restore_dir *dir)
{
    while (dir && atomic_fetch_sub(&dir->refs, 1) == 1) {
        struct cairn_restore_dir *parent = dir->parent;
        cairn_free(dir);
        dir = parent;
    }
}

void cairn_restore_dir_pin(struct cairn_restore_dir *dir)
{
    atomic_fetch_add(&dir->refs, 1);
    atomic_fetch_add(&dir->pins, 1);
}

static void finish(struct cairn_restore *r, struct cairn_fetcher *fetcher,
                   struct cairn_restore_dir *dir, int fd)
{
    struct cairn_restore_loss loss = {0};
    if (!dir->apply || atomic_load(&r->stop))
        return;
    /* New directories are 0700, so the mode is right only by chance; set it always. */
    cairn_restore_meta_apply(r, fetcher, fd, false, &dir->meta, dir->gives_own_ids, false, &loss);
    cairn_restore_meta_flags(fd, &dir->meta, &loss);
    cairn_restore_loss_report(r, &loss, &dir->meta, dir, NULL, dir->number);
}

/* Gives up a pin. fd is read before: once no pin is left the walker may put another one there. The
 * flag comes with the count, so that exactly one caller sees the end. */
void cairn_restore_dir_unpin(struct cairn_restore *r, struct cairn_fetcher *fetcher,
                             struct cairn_restore_dir *dir)
{
    int fd = dir->fd;
    int before = atomic_fetch_sub(&dir->pins, 1);
    if ((before & ~CAIRN_RESTORE_DIR_WALKED) != 1)
        return;
    if (before & CAIRN_RESTORE_DIR_WALKED)
        finish(r, fetcher, dir, fd);
    (void)cairn_io_close(fd);
}

void cairn_restore_dir_end(struct cairn_restore *r, struct cairn_restore_dir *dir)
{
    atomic_fetch_or(&dir->pins, CAIRN_RESTORE_DIR_WALKED);
    cairn_restore_dir_leave(r, dir);
    cairn_restore_dir_unref(dir);
}

void cairn_restore_dir_leave(struct cairn_restore *r, struct cairn_restore_dir *dir)
{
    dir->in_window = false;
    cairn_restore_dir_unpin(r, r->fetcher, dir);
}

int cairn_restore_dir_return(struct cairn_restore_dir *dir, int below_fd, struct cairn_error *err)
{
    struct stat st;
    int pins = atomic_load(&dir->pins);
    while (pins > 0 && !atomic_compare_exchange_weak(&dir->pins, &pins, pins + 1))
        ;
    if (pins == 0) {
        int fd = cairn_io_open(below_fd, "..", O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
        if (fd < 0)
            return cairn_error_set(err, CAIRN_IO, errno, "going back to a directory");
        if (cairn_io()->fstat(fd, &st) != 0 || st.st_dev != dir->dev || st.st_ino != dir->ino) {
            (void)cairn_io_close(fd);
            return cairn_error_set(err, CAIRN_IO, 0, "a directory was moved while it was restored");
        }
        dir->fd = fd;
        atomic_store(&dir->pins, 1);
    }
    dir->in_window = true;
    return CAIRN_OK;
}

/* What a fresh directory inherits from the target is not the snapshot's. */
static void drop_inherited_acls(int fd)
{
    (void)fremovexattr(fd, "system.posix_acl_default");
    (void)fremovexattr(fd, "system.posix_acl_access");
}

int cairn_restore_dir_make(struct cairn_restore *r, struct cairn_restore_dir *parent,
                           const struct cairn_entry *entry, uint64_t number,
                           struct cairn_restore_dir **out, struct cairn_error *err)
{
    struct cairn_restore_dir *dir = new_dir(parent, entry, number);
    struct stat st;
    const char *what = "making the directory";
    if (dir == NULL)
        return cairn_error_no_memory(err, "a directory");
    *out = NULL;
    int fd = -1, rc = cairn_io()->mkdirat(parent->fd, dir->name, 0700);
    if (rc == 0) {
        what = "opening the directory";
        fd = cairn_io_open(parent->fd, dir->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
        rc = fd < 0 ? -1 : cairn_io()->fstat(fd, &st);
    }
    if (rc != 0) {
        int why = errno;
        if (!cairn_restore_is_fatal(r, why))
            cairn_restore_problem(r, parent, dir->name, number, true, why, "%s", what);
        if (fd >= 0)
            (void)cairn_io_close(fd);
        cairn_restore_dir_unref(dir);
        return CAIRN_OK;
    }
    if (parent->has_default_acl)
        drop_inherited_acls(fd);
    dir->fd = fd;
    dir->dev = st.st_dev;
    dir->ino = st.st_ino;
    dir->gives_own_ids = st.st_uid == r->uid && st.st_gid == r->gid;
    dir->in_window = true;
    atomic_store(&dir->pins, 1);
    atomic_fetch_add(&r->dirs_done, 1);
    *out = dir;
    return CAIRN_OK;
}

int cairn_restore_dir_reopen(struct cairn_restore *r, struct cairn_restore_dir *parent,
                             const struct cairn_entry *entry, uint64_t number,
                             struct cairn_restore_dir **out, struct cairn_error *err)
{
    struct stat st;
    *out = NULL;
    if (cairn_restore_set_has(&r->lost, number))
        return CAIRN_OK;
    struct cairn_restore_dir *dir = new_dir(parent, entry, number);
    if (dir == NULL)
        return cairn_error_no_memory(err, "a directory");
    dir->apply = false;
    dir->fd = cairn_io_open(parent->fd, dir->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
    if (dir->fd < 0 || cairn_io()->fstat(dir->fd, &st) != 0) {
        cairn_restore_problem(r, parent, dir->name, number, false, errno, "cannot be read back");
        if (dir->fd >= 0)
            (void)cairn_io_close(dir->fd);
        cairn_restore_dir_unref(dir);
        return CAIRN_OK;
    }
    dir->dev = st.st_dev;
    dir->ino = st.st_ino;
    dir->in_window = true;
    atomic_store(&dir->pins, 1);
    *out = dir;
    return CAIRN_OK;
}

int cairn_restore_dir_target(struct cairn_restore *r, const struct cairn_entry *entry,
                             struct cairn_restore_dir **out, struct cairn_error *err)
{
    struct stat st;
    struct cairn_restore_dir *dir = new_dir(NULL, entry, 0);
    if (dir == NULL)
        return cairn_error_no_memory(err, "a directory");
    int fd = cairn_io_open(r->target_fd, ".", O_RDONLY | O_DIRECTORY, 0);
    if (fd < 0 || cairn_io()->fstat(fd, &st) != 0) {
        int status = cairn_error_set(err, CAIRN_IO, errno, "opening the target");
        if (fd >= 0)
            (void)cairn_io_close(fd);
        cairn_restore_dir_unref(dir);
        return status;
    }
    dir->fd = fd;
    dir->dev = st.st_dev;
    dir->ino = st.st_ino;
    if (dir->apply) /* the snapshot's attributes take the place of the target's */
        drop_inherited_acls(fd);
    dir->has_default_acl = fgetxattr(fd, "system.posix_acl_default", NULL, 0) > 0;
    dir->in_window = true;
    atomic_store(&dir->pins, 1);
    *out = dir;
    return CAIRN_OK;
}
