/* SPDX-License-Identifier: Apache-2.0
 *
 * Hard links. The first name of each group is linked into a private directory of the target under
 * the group's number; further names are linked from there. So no descriptor, path or lookup is
 * needed however many groups there are, and what is linked is what this restore made.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/hex.h"
#include "base/io.h"
#include "base/random.h"
#include "engine/restore_internal.h"

static void group_name(char out[20], uint64_t group)
{
    (void)snprintf(out, 20, "%016llx", (unsigned long long)group);
}

static int make_staging(struct cairn_restore *r, struct cairn_error *err)
{
    uint8_t random[8];
    char hex[17];
    int status = cairn_random_bytes(random, sizeof(random), err);
    if (status != CAIRN_OK)
        return status;
    cairn_hex_encode(hex, random, sizeof(random));
    (void)snprintf(r->staging_name, sizeof(r->staging_name), ".cairn-links-%s", hex);
    if (cairn_io()->mkdirat(r->target_fd, r->staging_name, 0700) == 0)
        r->staging_fd =
            cairn_io_open(r->target_fd, r->staging_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
    if (r->staging_fd < 0)
        return cairn_error_set(err, errno == ENOSPC ? CAIRN_NO_SPACE : CAIRN_IO, errno,
                               "making %s in the target", r->staging_name);
    return CAIRN_OK;
}

int cairn_restore_links_is_first(struct cairn_restore *r, uint64_t group, bool *is_first,
                                 struct cairn_error *err)
{
    int status = r->staging_fd < 0 ? make_staging(r, err) : CAIRN_OK;
    return status == CAIRN_OK ? cairn_restore_set_add(&r->groups, group, is_first, err) : status;
}

int cairn_restore_links_keep(struct cairn_restore *r, int fd, uint64_t group)
{
    char name[20], path[40];
    group_name(name, group);
    if (cairn_io()->linkat(fd, "", r->staging_fd, name, AT_EMPTY_PATH) == 0)
        return 0;
    /* Without the capability that AT_EMPTY_PATH may need. */
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    return cairn_io()->linkat(AT_FDCWD, path, r->staging_fd, name, AT_SYMLINK_FOLLOW);
}

void cairn_restore_links_make(struct cairn_restore *r, const struct cairn_restore_link *link)
{
    char name[20];
    group_name(name, link->group);
    if (cairn_io()->linkat(r->staging_fd, name, link->dir->fd, link->name, 0) != 0) {
        int why = errno;
        if (cairn_restore_is_fatal(r, why))
            return;
        if (why == ENOENT)
            cairn_restore_problem(r, link->dir, link->name, link->number, true, 0,
                                  "not linked: the file it is a name of was not restored");
        else
            cairn_restore_problem(r, link->dir, link->name, link->number, true, why,
                                  "making the hard link");
        return;
    }
    if (link->is_file) {
        atomic_fetch_add(&r->files_done, 1);
        atomic_fetch_add(&r->bytes_done, link->size);
    } else {
        atomic_fetch_add(&r->others_done, 1);
    }
    cairn_restore_item(r, link->dir, link->name);
}

int cairn_restore_links_flags_later(struct cairn_restore *r, const struct cairn_restore_file *file,
                                    struct cairn_error *err)
{
    struct cairn_restore_late_flags late = {
        .dir = file->dir,
        .name = cairn_strndup(file->name, file->name_len),
        .group = file->group,
        .number = file->number,
        .meta = {.flags = file->meta.flags, .project = file->meta.project},
    };
    int status = late.name ? CAIRN_OK : CAIRN_NO_MEMORY;
    (void)pthread_mutex_lock(&r->lock);
    if (status == CAIRN_OK && r->late_count == r->late_cap) {
        size_t cap = r->late_cap ? r->late_cap * 2 : 16;
        struct cairn_restore_late_flags *grown = cairn_realloc(r->late, cap, sizeof(*grown));
        if (grown) {
            r->late = grown;
            r->late_cap = cap;
        } else {
            status = CAIRN_NO_MEMORY;
        }
    }
    if (status == CAIRN_OK) {
        atomic_fetch_add(&file->dir->refs, 1);
        r->late[r->late_count++] = late;
    }
    (void)pthread_mutex_unlock(&r->lock);
    if (status != CAIRN_OK) {
        cairn_free(late.name);
        return cairn_error_no_memory(err, "flags of a hard link");
    }
    return CAIRN_OK;
}

/* Removes the kept name of a file, then sets its flags, which might forbid that. */
static void set_late(struct cairn_restore *r, const struct cairn_restore_late_flags *late)
{
    struct cairn_restore_loss loss = {0};
    char name[20];
    group_name(name, late->group);
    int fd = cairn_io_open(r->staging_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
    int why = errno;
    (void)cairn_io()->unlinkat(r->staging_fd, name, 0);
    if (fd >= 0) {
        cairn_restore_meta_flags(fd, &late->meta, &loss);
        (void)cairn_io_close(fd);
    } else if (why != ENOENT) {
        cairn_restore_loss_add(&loss, why, "inode flags");
    }
    cairn_restore_loss_report(r, &loss, &late->meta, late->dir, late->name, late->number);
}

void cairn_restore_links_end(struct cairn_restore *r)
{
    char name[20];
    for (size_t i = 0; i < r->late_count; i++) {
        set_late(r, &r->late[i]);
        cairn_restore_dir_unref(r->late[i].dir);
        cairn_free(r->late[i].name);
    }
    cairn_free(r->late);
    r->late = NULL;
    r->late_count = r->late_cap = 0;
    if (r->staging_fd >= 0) {
        for (size_t i = 0; i < r->groups.cap; i++) {
            if (r->groups.slots[i] == 0)
                continue;
            group_name(name, r->groups.slots[i]);
            (void)cairn_io()->unlinkat(r->staging_fd, name, 0);
        }
        (void)cairn_io_close(r->staging_fd);
        (void)cairn_io()->unlinkat(r->target_fd, r->staging_name, AT_REMOVEDIR);
        r->staging_fd = -1;
    }
    cairn_restore_set_release(&r->groups);
}
