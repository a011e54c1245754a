/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/error.h"
#include "base/io.h"
#include "engine/backup_internal.h"
#include "source/file.h"
#include "source/inode_flags.h"

/* How often a file that changes while it is read is read again. */
#define READ_ATTEMPTS 2

/* Encodes the attributes that were read into the item. */
static int keep_xattrs(struct worker *w, struct item *item, struct cairn_error *err)
{
    cairn_buf_clear(&item->xattrs);
    for (size_t i = 0; i < w->xattrs.count; i++) {
        const struct cairn_xattr *x = &w->xattrs.items[i];
        cairn_xattr_encode(&item->xattrs, x->name, x->name_len, x->value, x->value_len);
    }
    if (w->xattrs.is_lossy)
        cairn_backup_item_problem(item, false, w->xattrs.lost_errno,
                                  "not all extended attributes can be read");
    return cairn_buf_check(&item->xattrs, "extended attributes", err);
}

/* Attributes, flags and project id of an open file or directory. */
static int read_attributes(struct worker *w, struct item *item, int fd, struct cairn_error *err)
{
    struct cairn_inode_flags flags = {0, 0};
    int status = cairn_xattrs_read(fd, &w->xattrs, err);
    if (status == CAIRN_OK)
        status = keep_xattrs(w, item, err);
    if (status != CAIRN_OK)
        return status;
    struct cairn_error local = {0};
    if (cairn_inode_flags_read(fd, &flags, &local) != CAIRN_OK)
        cairn_backup_item_problem(item, false, local.os_errno, "its inode flags cannot be read");
    item->has_flags = flags.flags != 0;
    item->flags = flags.flags;
    item->has_project = flags.project != 0;
    item->project = flags.project;
    return CAIRN_OK;
}

static bool is_same_state(const struct cairn_stat *a, const struct cairn_stat *b)
{
    return a->size == b->size && a->mtime.sec == b->mtime.sec && a->mtime.nsec == b->mtime.nsec &&
           a->ctime.sec == b->ctime.sec && a->ctime.nsec == b->ctime.nsec;
}

/* Waits until no other worker is at work on the item's chunks. */
static void settle(struct backup *b, struct item *item)
{
    (void)pthread_mutex_lock(&b->lock);
    atomic_fetch_add(&b->settling, 1);
    while (atomic_load(&item->pending) > 1 && !atomic_load(&b->failed))
        (void)pthread_cond_wait(&b->ready, &b->lock);
    atomic_fetch_sub(&b->settling, 1);
    (void)pthread_mutex_unlock(&b->lock);
}

/* Reads an open file until it holds still, at most READ_ATTEMPTS times. */
static int read_open_file(struct worker *w, struct item *item, int fd, struct cairn_error *err)
{
    for (int attempt = 1;; attempt++) {
        struct cairn_stat after;
        int status = read_attributes(w, item, fd, err);
        if (status == CAIRN_OK)
            status = cairn_backup_read_content(w, item, fd, err);
        if (status != CAIRN_OK)
            return status;
        if (cairn_stat_fd(fd, &after) != 0 || is_same_state(&item->stat, &after))
            return CAIRN_OK;
        if (attempt == READ_ATTEMPTS) {
            cairn_backup_item_problem(item, false, 0,
                                      "it changed while it was read; what was read is stored");
            return CAIRN_OK;
        }
        settle(w->backup, item);
        cairn_backup_item_drop_content(item);
        item->stat = after;
    }
}

static int read_file(struct worker *w, struct item *item, int dir, struct cairn_error *err)
{
    struct cairn_stat now;
    struct cairn_error local = {0};
    int fd = -1;
    int status =
        cairn_file_open(dir, (const char *)item->name.data, &item->stat, &fd, &now, &local);
    if (status == CAIRN_NO_MEMORY)
        return cairn_error_set(err, status, 0, "%s", local.message);
    if (status != CAIRN_OK) {
        cairn_backup_item_problem(item, true, local.os_errno,
                                  local.os_errno == ESTALE   ? "it was replaced by something else"
                                  : local.os_errno == ENOENT ? "it vanished"
                                                             : "cannot be read");
        return CAIRN_OK;
    }
    item->stat = now;
    status = read_open_file(w, item, fd, err);
    (void)cairn_io_close(fd);
    return item->is_lost ? CAIRN_OK : status;
}

/* Symlinks, devices, FIFOs, sockets: never opened. */
static int read_other(struct worker *w, struct item *item, int dir, struct cairn_error *err)
{
    const char *name = (const char *)item->name.data;
    struct cairn_error local = {0};
    int status = CAIRN_OK;
    if (S_ISLNK(item->stat.mode)) {
        status = cairn_link_read(dir, name, &item->inline_data, &local);
        if (status == CAIRN_NO_MEMORY)
            return cairn_error_set(err, status, 0, "%s", local.message);
        if (status != CAIRN_OK || item->inline_data.len == 0) {
            cairn_backup_item_problem(item, true, local.os_errno, "the symlink cannot be read");
            return CAIRN_OK;
        }
    }
    status = cairn_xattrs_read_at(dir, name, &w->xattrs, err);
    return status == CAIRN_OK ? keep_xattrs(w, item, err) : status;
}

void cairn_backup_read(struct worker *w, struct item *item)
{
    struct cairn_error error = {0}, local = {0};
    int fd = -1;
    int status = cairn_dir_pin(item->dir, &fd, &local);
    if (status == CAIRN_NO_MEMORY) {
        cairn_backup_fail(w->backup, status, &local);
        return;
    }
    if (status != CAIRN_OK) {
        /* A directory's own attributes are lost, not the directory: its entries speak for
         * themselves. */
        cairn_backup_item_problem(item, item->kind != ITEM_ENTER, local.os_errno,
                                  "its directory cannot be opened any more");
        return;
    }
    if (item->kind == ITEM_ENTER)
        status = read_attributes(w, item, fd, &error);
    else if (S_ISREG(item->stat.mode))
        status = read_file(w, item, fd, &error);
    else
        status = read_other(w, item, fd, &error);
    cairn_dir_unpin(item->dir);
    if (status != CAIRN_OK)
        cairn_backup_fail(w->backup, status, &error);
}
