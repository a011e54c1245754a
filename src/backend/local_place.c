/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "backend/local_internal.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/io.h"

/* After EEXIST, ENOENT or an answer that was lost: what is under the name now? */
static int settle(int from_dir, const char *temp, int dir, const char *leaf,
                  const struct cairn_local_file *file, int os_errno)
{
    struct stat st;
    if (cairn_io()->fstatat(dir, leaf, &st, AT_SYMLINK_NOFOLLOW) != 0) {
        errno = os_errno;
        return -1;
    }
    if (st.st_dev != file->dev || st.st_ino != file->ino)
        return 1;
    /* Ours: renamed by an adopter, or linked by an attempt whose answer was lost. */
    if (cairn_io()->unlinkat(from_dir, temp, 0) != 0 && errno != ENOENT)
        return -1;
    return 0;
}

/* For file systems without RENAME_NOREPLACE: a link does not replace either. */
static int place_by_link(int from_dir, const char *temp, int dir, const char *leaf,
                         const struct cairn_local_file *file)
{
    int status;
    do
        status = cairn_io()->linkat(from_dir, temp, dir, leaf, 0);
    while (status != 0 && errno == EINTR);
    if (status != 0 && (errno == EEXIST || errno == ENOENT))
        return settle(from_dir, temp, dir, leaf, file, errno);
    if (status != 0)
        return -1;
    /* The object is complete under its name; a second name in tmp is removed with the session. */
    (void)cairn_io()->unlinkat(from_dir, temp, 0);
    return 0;
}

int cairn_local_place(int from_dir, const char *temp, int dir, const char *leaf,
                      const struct cairn_local_file *file)
{
    int status;
    do
        status = cairn_io()->renameat2(from_dir, temp, dir, leaf, RENAME_NOREPLACE);
    while (status != 0 && errno == EINTR);
    if (status == 0)
        return 0;
    if (errno == EINVAL || errno == ENOSYS)
        return place_by_link(from_dir, temp, dir, leaf, file);
    if (errno == EEXIST || errno == ENOENT)
        return settle(from_dir, temp, dir, leaf, file, errno);
    return -1;
}

/* An object of an upload's name is there already: it has to be the whole object, and as durable as
 * ours would be. */
static int accept_existing(struct cairn_local *local, int from_dir,
                           const struct cairn_local_pending *pending, bool sync, bool *sync_failed,
                           struct cairn_error *err)
{
    struct stat st;
    int fd = cairn_local_open_object(local, pending->name, &st);
    if (fd < 0)
        return cairn_local_write_error(local, pending->name, errno, err);
    int status = CAIRN_OK;
    if ((uint64_t)st.st_size != pending->file.size) {
        status = cairn_error_set(err, CAIRN_CORRUPT, 0,
                                 "%s in repository %s has a wrong size; run cairn check",
                                 pending->name, local->path);
    } else if (sync && cairn_io_fsync(fd) != 0) {
        *sync_failed = true;
        status = cairn_local_write_error(local, pending->name, errno, err);
    }
    (void)cairn_io_close(fd);
    if (status == CAIRN_OK)
        (void)cairn_io()->unlinkat(from_dir, pending->temp, 0);
    return status;
}

static size_t dir_length(const char *name)
{
    const char *slash = strrchr(name, '/');
    return slash ? (size_t)(slash - name) : 0;
}

static bool same_dir(const char *a, const char *b)
{
    size_t len = dir_length(a);
    return len == dir_length(b) && memcmp(a, b, len) == 0;
}

/* Merge sort by name, so that objects of one directory stand together. */
static struct cairn_local_pending *sorted(struct cairn_local_pending *list)
{
    struct cairn_local_pending *half = list, *end = list, *out = NULL, **tail = &out;
    if (list == NULL || list->next == NULL)
        return list;
    while (end->next != NULL && end->next->next != NULL) {
        end = end->next->next;
        half = half->next;
    }
    struct cairn_local_pending *right = sorted(half->next);
    half->next = NULL;
    struct cairn_local_pending *left = sorted(list);
    while (left != NULL && right != NULL) {
        struct cairn_local_pending **least = strcmp(left->name, right->name) <= 0 ? &left : &right;
        *tail = *least;
        tail = &(*tail)->next;
        *least = *tail;
    }
    *tail = left != NULL ? left : right;
    return out;
}

/* Places the uploads at the head of the list that go to one directory, then syncs it. */
static int place_group(struct cairn_local *local, int from_dir, struct cairn_local_pending **list,
                       bool sync, bool *sync_failed, struct cairn_error *err)
{
    char first[CAIRN_BACKEND_NAME_MAX + 1];
    const char *leaf;
    int status = CAIRN_OK;
    memcpy(first, (*list)->name, sizeof(first));
    int dir = cairn_local_make_parent(local, first, &leaf);
    if (dir < 0)
        return cairn_local_write_error(local, first, errno, err);
    size_t skip = (size_t)(leaf - first);
    while (*list != NULL && same_dir(first, (*list)->name)) {
        struct cairn_local_pending *pending = *list;
        int placed =
            cairn_local_place(from_dir, pending->temp, dir, pending->name + skip, &pending->file);
        if (placed < 0)
            status = cairn_local_write_error(local, pending->name, errno, err);
        else if (placed > 0)
            status = accept_existing(local, from_dir, pending, sync, sync_failed, err);
        if (status != CAIRN_OK)
            break;
        *list = pending->next;
        cairn_free(pending);
    }
    /* Also after a failure: what got its name is no longer on the list, and has to keep it. */
    if (sync && cairn_local_sync_dir(dir) != 0) {
        *sync_failed = true;
        status = cairn_local_write_error(local, first, errno, err);
    }
    (void)cairn_io_close(dir);
    return status;
}

int cairn_local_place_all(struct cairn_local *local, int from_dir,
                          struct cairn_local_pending **list, bool sync, bool *sync_failed,
                          struct cairn_error *err)
{
    int status = CAIRN_OK;
    *list = sorted(*list);
    while (*list != NULL && status == CAIRN_OK)
        status = place_group(local, from_dir, list, sync, sync_failed, err);
    return status;
}
