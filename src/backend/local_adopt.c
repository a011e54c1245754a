/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "backend/local_internal.h"
#include "backend/name.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/io.h"

#define STOP 1 /* ends a walk; the reason is in status */

struct adopt {
    struct cairn_local *local;
    cairn_backend_adopt_fn fn;
    void *ctx;
    bool found;
    const char *session;
    int status;
    struct cairn_error *err;
};

static int fail(struct adopt *adopt, const char *name, int os_errno)
{
    adopt->status = cairn_local_write_error(adopt->local, name, os_errno, adopt->err);
    return STOP;
}

/* From the first thing that is taken from a dead session on, its objects may stand under final
 * names without a commit, and its directory may be gone: ours tells the next writer, should this
 * one die too. */
static int begin_session(struct adopt *adopt)
{
    adopt->status = cairn_local_session_begin(adopt->local, adopt->err);
    if (adopt->status != CAIRN_OK)
        return STOP;
    pthread_mutex_lock(&adopt->local->lock);
    adopt->local->uncommitted = true;
    pthread_mutex_unlock(&adopt->local->lock);
    return 0;
}

/* Syncs a file that is to be kept, gives it its name and syncs that. */
static int keep(struct adopt *adopt, int dir, const char *temp, const char *name)
{
    struct stat st;
    bool sync_failed = false;
    if (!cairn_backend_name_is_valid(name) ||
        cairn_local_check_writable(adopt->local, name, NULL) != CAIRN_OK) {
        adopt->status = cairn_error_set(adopt->err, CAIRN_MISUSE, 0, "not the name of an object");
        return STOP;
    }
    struct cairn_local_pending *pending = cairn_alloc_zero(1, sizeof(*pending));
    if (pending == NULL) {
        adopt->status = cairn_error_no_memory(adopt->err, "an upload");
        return STOP;
    }
    int fd = cairn_io_open(dir, temp, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
    int status = fd < 0 ? -1 : cairn_io()->fstat(fd, &st);
    if (status == 0) {
        status = cairn_io_fsync(fd);
        /* Verified, perhaps, from pages that will now never reach the disk. */
        if (status != 0) {
            int saved = errno;
            (void)cairn_io()->unlinkat(dir, temp, 0);
            errno = saved;
        }
    }
    int saved = errno;
    if (fd >= 0)
        (void)cairn_io_close(fd);
    if (status != 0) {
        cairn_free(pending);
        return fail(adopt, name, saved);
    }
    pending->fd = -1;
    pending->file =
        (struct cairn_local_file){.dev = st.st_dev, .ino = st.st_ino, .size = (uint64_t)st.st_size};
    (void)snprintf(pending->temp, sizeof(pending->temp), "%s", temp);
    (void)snprintf(pending->name, sizeof(pending->name), "%s", name);
    adopt->status =
        cairn_local_place_all(adopt->local, dir, &pending, true, &sync_failed, adopt->err);
    cairn_free(pending);
    return adopt->status == CAIRN_OK ? 0 : STOP;
}

/* Offers an upload. 0: kept; 1: to be removed; 2: the search ends. */
static int offer(struct adopt *adopt, int dir, const char *temp, uint64_t size)
{
    char path[CAIRN_BACKEND_NAME_MAX + 1], name[CAIRN_BACKEND_NAME_MAX + 1] = "";
    bool wanted = false;
    (void)snprintf(path, sizeof(path), "tmp/%s/%s", adopt->session, temp);
    adopt->status = adopt->fn(adopt->ctx, path, size, name, &wanted, adopt->err);
    cairn_local_cache_drop(&adopt->local->cache, path);
    if (adopt->status != CAIRN_OK)
        return 2;
    if (!wanted)
        return 1;
    return keep(adopt, dir, temp, name) == 0 ? 0 : 2;
}

static bool is_upload(const char *entry, const struct stat *st)
{
    return S_ISREG(st->st_mode) && st->st_size > 0 && st->st_size % CAIRN_LOCAL_ALIGN == 0 &&
           entry[0] != 'p' && strlen(entry) <= CAIRN_LOCAL_TEMP_CHARS &&
           cairn_backend_name_is_valid(entry);
}

static int visit_file(void *ctx, int dir, const char *entry, unsigned char type)
{
    struct adopt *adopt = ctx;
    struct stat st;
    (void)type;
    if (strcmp(entry, CAIRN_LOCAL_LOCK_NAME) == 0)
        return 0;
    if (cairn_io()->fstatat(dir, entry, &st, AT_SYMLINK_NOFOLLOW) != 0)
        return errno == ENOENT ? 0 : fail(adopt, "", errno);
    if (is_upload(entry, &st)) {
        int answer = offer(adopt, dir, entry, (uint64_t)st.st_size);
        if (answer != 1)
            return answer == 0 ? 0 : STOP;
    }
    /* What cannot be removed now is tried again by the next writer. */
    (void)cairn_io()->unlinkat(dir, entry, 0);
    return 0;
}

static int visit_session(void *ctx, int tmp, const char *entry, unsigned char type)
{
    struct adopt *adopt = ctx;
    int lock;
    (void)type;
    if (!cairn_local_is_session(entry))
        return 0;
    int dir = cairn_io_open(tmp, entry, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
    if (dir < 0)
        return errno == ENOENT || errno == EACCES ? 0 : fail(adopt, "", errno);
    if (!cairn_local_session_take(dir, &lock)) {
        (void)cairn_io_close(dir);
        return 0;
    }
    adopt->found = true;
    adopt->session = entry;
    int status = begin_session(adopt);
    if (status == 0)
        status = cairn_local_walk(dir, visit_file, adopt);
    /* ENOENT: its owner lived, lost the lock to this and has removed the directory itself. */
    if (status < 0)
        status = errno == ENOENT ? 0 : fail(adopt, "", errno);
    if (status == 0) {
        (void)cairn_io()->unlinkat(dir, CAIRN_LOCAL_LOCK_NAME, 0);
        (void)cairn_io()->unlinkat(tmp, entry, AT_REMOVEDIR);
    }
    (void)cairn_io_close(dir);
    (void)cairn_io_close(lock);
    return status;
}

/* What an earlier session of this handle has left behind gets its names: it is then found like that
 * of the dead. */
static int name_own(struct cairn_local *local, bool *found, struct cairn_error *err)
{
    int level = CAIRN_LEVEL_FILESYSTEM;
    pthread_mutex_lock(&local->lock);
    *found = local->uncommitted;
    pthread_mutex_unlock(&local->lock);
    return *found ? cairn_local_publish(&local->base, &level, err) : CAIRN_OK;
}

int cairn_local_adopt(struct cairn_backend *backend, cairn_backend_adopt_fn fn, void *ctx,
                      bool *found, struct cairn_error *err)
{
    struct cairn_local *local = cairn_local_from(backend);
    struct adopt adopt = {.local = local, .fn = fn, .ctx = ctx, .err = err};
    int status = cairn_local_check_writable(local, "", err);
    if (status == CAIRN_OK)
        status = name_own(local, &adopt.found, err);
    if (status != CAIRN_OK)
        return status;
    int tmp = cairn_io_open(local->root, "tmp", O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
    if (tmp < 0 && errno != ENOENT)
        return cairn_local_read_error(local, "tmp", errno, err);
    if (tmp >= 0) {
        if (cairn_local_walk(tmp, visit_session, &adopt) < 0)
            (void)fail(&adopt, "", errno);
        (void)cairn_io_close(tmp);
    }
    if (adopt.status == CAIRN_OK)
        *found = adopt.found;
    return adopt.status;
}
