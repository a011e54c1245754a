/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/error.h"
#include "base/io.h"
#include "engine/restore_internal.h"

void cairn_restore_file_fail(struct cairn_restore *r, struct cairn_restore_file *file, int os_errno,
                             const char *message)
{
    if (!atomic_exchange(&file->failed, true) && !atomic_load(&r->stop))
        cairn_restore_problem(r, file->dir, file->name, file->number, true, os_errno,
                              "not restored: %s", message);
}

/* A system call on the target failed. */
static void target_failed(struct cairn_restore *r, struct cairn_restore_file *file, int os_errno,
                          const char *what)
{
    if (cairn_restore_is_fatal(r, os_errno))
        atomic_store(&file->failed, true);
    else
        cairn_restore_file_fail(r, file, os_errno, what);
}

pthread_mutex_t *cairn_restore_stripe(struct cairn_restore *r,
                                      const struct cairn_restore_file *file)
{
    return &r->stripes[((uintptr_t)file >> 6) % CAIRN_RESTORE_STRIPES];
}

/* Makes the file. Its final mode is given at once where nothing that is still to be done depends on
 * it, which saves a call for nearly every file. */
static int make(struct cairn_restore *r, struct cairn_restore_file *file)
{
    const struct cairn_restore_meta *m = &file->meta;
    bool is_final = file->dir->gives_own_ids && m->uid == r->uid && m->gid == r->gid &&
                    !file->dir->has_default_acl && (m->mode & (07000u | r->umask)) == 0 &&
                    !cairn_restore_meta_has_xattrs(m);
    int fd = cairn_io_open(file->dir->fd, file->name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW,
                           is_final ? (mode_t)m->mode : 0600);
    if (fd < 0) {
        target_failed(r, file, errno, "making the file");
        return -1;
    }
    if (file->dir->has_default_acl)
        (void)fremovexattr(fd, "system.posix_acl_access");
    if (m->flags & CAIRN_RESTORE_FLAG_NOCOW)
        cairn_restore_meta_early(fd, m);
    file->mode_is_right = is_final;
    cairn_restore_direct_open(r, file, fd);
    atomic_store(&file->fd, fd);
    return fd;
}

/* The descriptor, after making the file if that was not done. -1: it failed. */
static int ensure(struct cairn_restore *r, struct cairn_restore_file *file)
{
    int fd = atomic_load(&file->fd);
    if (fd >= 0)
        return fd;
    if (file->is_whole)
        return make(r, file);
    pthread_mutex_t *stripe = cairn_restore_stripe(r, file);
    (void)pthread_mutex_lock(stripe);
    fd = atomic_load(&file->fd);
    if (fd < 0 && !atomic_load(&file->failed))
        fd = make(r, file);
    (void)pthread_mutex_unlock(stripe);
    return fd;
}

void cairn_restore_file_write(struct cairn_restore *r, struct cairn_restore_file *file,
                              const void *data, size_t len, uint64_t at)
{
    if (atomic_load(&file->failed))
        return;
    const uint8_t *bytes = data;
    int fd = ensure(r, file);
    if (fd < 0)
        return;
    struct cairn_restore_span direct = {0, 0};
    int status = cairn_restore_direct_write(r, file, bytes, len, at, &direct);
    size_t rest = direct.from + direct.len;
    if (status != 0 || cairn_io_pwrite_full(fd, bytes, direct.from, (off_t)at) != 0 ||
        cairn_io_pwrite_full(fd, bytes + rest, len - rest, (off_t)(at + rest)) != 0)
        target_failed(r, file, errno, "writing the file");
}

static void set_attributes(struct cairn_restore *r, struct cairn_fetcher *fetcher,
                           struct cairn_restore_file *file, int fd)
{
    struct cairn_restore_loss loss = {0};
    struct cairn_error err;
    const struct cairn_restore_meta *m = &file->meta;
    cairn_restore_meta_apply(r, fetcher, fd, false, m, file->dir->gives_own_ids,
                             file->mode_is_right, &loss);
    if (file->group != 0)
        /* Where this fails every further name says so. */
        (void)cairn_restore_links_keep(r, fd, file->group);
    if (m->flags != 0 || m->project != 0) {
        if (file->group == 0)
            cairn_restore_meta_flags(fd, m, &loss);
        else if (cairn_restore_links_flags_later(r, file, &err) != CAIRN_OK)
            cairn_restore_stop(r, CAIRN_NO_MEMORY, &err);
    }
    cairn_restore_loss_report(r, &loss, m, file->dir, file->name, file->number);
}

static void finish(struct cairn_restore *r, struct cairn_fetcher *fetcher,
                   struct cairn_restore_file *file)
{
    int fd = atomic_load(&file->failed) ? -1 : ensure(r, file);
    if (file->inline_data.len > 0)
        cairn_restore_file_write(r, file, file->inline_data.data, file->inline_data.len, 0);
    if (fd >= 0 && !atomic_load(&file->failed) && file->ends_in_hole &&
        cairn_io()->ftruncate(fd, (off_t)file->size) != 0)
        target_failed(r, file, errno, "setting the file's length");
    if (fd >= 0 && !atomic_load(&file->failed))
        set_attributes(r, fetcher, file, fd);
    fd = atomic_load(&file->fd);
    bool is_closed = cairn_restore_direct_close(file) == 0;
    /* Some file systems tell of failed writes only now. */
    if (fd >= 0 && (cairn_io_close(fd) != 0 || !is_closed))
        target_failed(r, file, errno, "closing the file");
    if (!atomic_load(&file->failed)) {
        atomic_fetch_add(&r->files_done, 1);
        atomic_fetch_add(&r->bytes_done, file->size);
    } else if (fd >= 0) {
        (void)cairn_io()->unlinkat(file->dir->fd, file->name, 0);
    }
}

void cairn_restore_file_drop(struct cairn_restore *r, struct cairn_fetcher *fetcher,
                             struct cairn_restore_file *file)
{
    struct cairn_restore_dir *dir = file->dir;
    if (atomic_fetch_sub(&file->pending, 1) != 1)
        return;
    finish(r, fetcher, file);
    cairn_restore_dir_unpin(r, fetcher, dir);
}
