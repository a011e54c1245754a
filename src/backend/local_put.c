/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "backend/local_internal.h"
#include "base/error.h"
#include "base/io.h"

/* Writes the temporary file and, with sync, makes it durable. 0, or -1 and errno. */
static int write_temp(const struct cairn_local *local, const char *temp, const void *data,
                      size_t len, bool sync, struct cairn_local_file *file)
{
    struct stat st;
    int fd =
        cairn_io_open(local->session_dir, temp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
    if (fd < 0)
        return -1;
    int status = cairn_io_pwrite_full(fd, data, len, 0);
    if (status == 0 && sync)
        status = cairn_io_fsync(fd);
    if (status == 0)
        status = cairn_io()->fstat(fd, &st);
    int saved = errno;
    /* Some network file systems tell of a failed write only here. */
    if (cairn_io_close(fd) != 0 && status == 0) {
        status = -1;
        saved = errno;
    }
    if (status != 0) {
        (void)cairn_io()->unlinkat(local->session_dir, temp, 0);
        errno = saved;
        return -1;
    }
    *file = (struct cairn_local_file){.dev = st.st_dev, .ino = st.st_ino, .size = len};
    return 0;
}

/* A log entry is what commits uploads. */
static void note_commit(struct cairn_local *local)
{
    pthread_mutex_lock(&local->lock);
    local->uncommitted = false;
    pthread_mutex_unlock(&local->lock);
}

int cairn_local_put(struct cairn_backend *backend, const char *name, const void *data, size_t len,
                    int level, struct cairn_error *err)
{
    struct cairn_local *local = cairn_local_from(backend);
    struct cairn_local_file file;
    char temp[CAIRN_LOCAL_TEMP_CHARS + 1];
    const char *leaf;
    bool sync = level != CAIRN_LEVEL_NONE;
    int status = cairn_local_check_writable(local, name, err);
    if (status == CAIRN_OK)
        status = cairn_local_session_begin(local, err);
    if (status != CAIRN_OK)
        return status;
    int dir = cairn_local_make_parent(local, name, &leaf);
    if (dir < 0)
        return cairn_local_write_error(local, name, errno, err);
    /* Whoever appends to the log meets taken names often; this spares them the sync. */
    struct stat st;
    if (cairn_io()->fstatat(dir, leaf, &st, AT_SYMLINK_NOFOLLOW) == 0)
        goto exists;
    cairn_local_session_temp(local, 'p', temp);
    if (write_temp(local, temp, data, len, sync, &file) != 0) {
        status = cairn_local_write_error(local, name, errno, err);
        goto out;
    }
    int placed = cairn_local_place(local->session_dir, temp, dir, leaf, &file);
    if (placed != 0) {
        status = cairn_local_write_error(local, name, errno, err);
        (void)cairn_io()->unlinkat(local->session_dir, temp, 0);
        if (placed > 0)
            goto exists;
        goto out;
    }
    if (sync && cairn_local_sync_dir(dir) != 0)
        status = cairn_local_write_error(local, name, errno, err);
    if (status == CAIRN_OK && strncmp(name, "log/", 4) == 0)
        note_commit(local);
    goto out;
exists:
    status = cairn_error_set(err, CAIRN_EXISTS, 0, "%s exists already in repository %s", name,
                             local->path);
out:
    (void)cairn_io_close(dir);
    return status;
}

int cairn_local_remove(struct cairn_backend *backend, const char *name, struct cairn_error *err)
{
    struct cairn_local *local = cairn_local_from(backend);
    const char *leaf;
    int status = cairn_local_check_writable(local, name, err);
    if (status != CAIRN_OK)
        return status;
    int dir = cairn_local_open_parent(local, name, &leaf);
    if (dir >= 0 && cairn_io()->unlinkat(dir, leaf, 0) == 0) {
        cairn_local_cache_drop(&local->cache, name);
    } else {
        /* A full disk must not be told of as a missing object, nor the reverse. */
        status = errno == ENOENT ? cairn_local_read_error(local, name, errno, err)
                                 : cairn_local_write_error(local, name, errno, err);
    }
    if (dir >= 0)
        (void)cairn_io_close(dir);
    return status;
}

int cairn_local_sync_object(struct cairn_backend *backend, const char *name,
                            struct cairn_error *err)
{
    struct cairn_local *local = cairn_local_from(backend);
    struct stat st;
    const char *leaf;
    int status = cairn_local_check_writable(local, name, err);
    if (status != CAIRN_OK)
        return status;
    int fd = cairn_local_open_object(local, name, &st);
    if (fd < 0)
        return cairn_local_read_error(local, name, errno, err);
    int dir = cairn_local_open_parent(local, name, &leaf);
    if (dir < 0 || cairn_io_fsync(fd) != 0 || cairn_local_sync_dir(dir) != 0)
        status = cairn_local_write_error(local, name, errno, err);
    if (dir >= 0)
        (void)cairn_io_close(dir);
    (void)cairn_io_close(fd);
    return status;
}
