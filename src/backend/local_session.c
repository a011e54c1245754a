/* SPDX-License-Identifier: Apache-2.0
 *
 * local_session.c - the directory in which a writer keeps what is not finished, and the lock that
 * tells the others that it lives.
 *
 * The owner makes the directory, then the lock file, then locks it; an adopter may come between any
 * two of these steps, take the lock and remove everything. So the owner creates the lock file
 * exclusively, locks without waiting, and looks whether the file it locked is still the one of that
 * name; if anything fails it begins again with another name, having written nothing yet.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "backend/local_internal.h"
#include "base/error.h"
#include "base/hex.h"
#include "base/io.h"
#include "base/random.h"

#define ATTEMPTS 16

bool cairn_local_is_session(const char *name)
{
    return strlen(name) == CAIRN_LOCAL_SESSION_CHARS &&
           strspn(name, "0123456789abcdef") == CAIRN_LOCAL_SESSION_CHARS;
}

static int lock_now(int fd)
{
    int status;
    do
        status = flock(fd, LOCK_EX | LOCK_NB);
    while (status != 0 && errno == EINTR);
    return status;
}

static bool is_lock_of(int session_dir, int fd)
{
    struct stat held, named;
    return cairn_io()->fstat(fd, &held) == 0 &&
           cairn_io()->fstatat(session_dir, CAIRN_LOCAL_LOCK_NAME, &named, AT_SYMLINK_NOFOLLOW) ==
               0 &&
           held.st_dev == named.st_dev && held.st_ino == named.st_ino;
}

bool cairn_local_session_take(int session_dir, int *out)
{
    int fd = cairn_io_open(session_dir, CAIRN_LOCAL_LOCK_NAME, O_RDWR | O_CREAT | O_NOFOLLOW, 0600);
    if (fd < 0)
        return false;
    if (lock_now(fd) != 0 || !is_lock_of(session_dir, fd)) {
        (void)cairn_io_close(fd);
        return false;
    }
    *out = fd;
    return true;
}

/* 0: the session is ours; 1: an adopter was faster, try another name; -1 and errno. */
static int claim(int tmp, const char *session, int *dir_out, int *lock_out)
{
    int saved, fd = -1;
    if (cairn_io()->mkdirat(tmp, session, 0700) != 0)
        return errno == EEXIST || errno == EINTR ? 1 : -1;
    int dir = cairn_io_open(tmp, session, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
    if (dir < 0)
        goto fail;
    fd = cairn_io_open(dir, CAIRN_LOCAL_LOCK_NAME, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
    if (fd < 0)
        goto fail;
    /* Where locks are not supported at all nobody can take this one for dead either. */
    if (lock_now(fd) != 0 && errno != ENOLCK && errno != ENOSYS && errno != EOPNOTSUPP)
        goto fail;
    if (!is_lock_of(dir, fd)) {
        errno = EEXIST;
        goto fail;
    }
    *dir_out = dir;
    *lock_out = fd;
    return 0;
fail:
    saved = errno;
    if (fd >= 0) {
        (void)cairn_io()->unlinkat(dir, CAIRN_LOCAL_LOCK_NAME, 0);
        (void)cairn_io_close(fd);
    }
    if (dir >= 0)
        (void)cairn_io_close(dir);
    (void)cairn_io()->unlinkat(tmp, session, AT_REMOVEDIR);
    errno = saved;
    return saved == ENOENT || saved == EEXIST || saved == EWOULDBLOCK ? 1 : -1;
}

static int begin(struct cairn_local *local, struct cairn_error *err)
{
    int tmp, claimed = 1, dir, fd;
    char name[CAIRN_LOCAL_SESSION_CHARS + 1];
    if (cairn_io()->mkdirat(local->root, "tmp", 0700) != 0 && errno != EEXIST)
        return cairn_local_write_error(local, "", errno, err);
    tmp = cairn_io_open(local->root, "tmp", O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
    if (tmp < 0)
        return cairn_local_write_error(local, "", errno, err);
    for (int i = 0; i < ATTEMPTS && claimed > 0; i++) {
        uint8_t bytes[CAIRN_LOCAL_SESSION_CHARS / 2];
        int status = cairn_random_bytes(bytes, sizeof(bytes), err);
        if (status != CAIRN_OK) {
            (void)cairn_io_close(tmp);
            return status;
        }
        cairn_hex_encode(name, bytes, sizeof(bytes));
        claimed = claim(tmp, name, &dir, &fd);
    }
    int saved = errno;
    (void)cairn_io_close(tmp);
    if (claimed != 0)
        return cairn_local_write_error(local, "", saved, err);
    memcpy(local->session, name, sizeof(name));
    local->session_dir = dir;
    local->session_lock = fd;
    return CAIRN_OK;
}

int cairn_local_session_begin(struct cairn_local *local, struct cairn_error *err)
{
    int status = CAIRN_OK;
    pthread_mutex_lock(&local->lock);
    if (local->session_dir < 0)
        status = begin(local, err);
    pthread_mutex_unlock(&local->lock);
    return status;
}

void cairn_local_session_end(struct cairn_local *local)
{
    if (local->session_dir < 0)
        return;
    /* Objects that got their names but no commit are found by the next writer only because this
     * directory is. */
    if (!local->uncommitted) {
        int tmp = cairn_io_open(local->root, "tmp", O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
        (void)cairn_io()->unlinkat(local->session_dir, CAIRN_LOCAL_LOCK_NAME, 0);
        if (tmp >= 0) {
            (void)cairn_io()->unlinkat(tmp, local->session, AT_REMOVEDIR);
            (void)cairn_io_close(tmp);
        }
    }
    (void)cairn_io_close(local->session_dir);
    (void)cairn_io_close(local->session_lock);
    local->session_dir = local->session_lock = -1;
}

void cairn_local_session_temp(struct cairn_local *local, char kind,
                              char out[CAIRN_LOCAL_TEMP_CHARS + 1])
{
    pthread_mutex_lock(&local->lock);
    uint64_t number = ++local->temp_count;
    pthread_mutex_unlock(&local->lock);
    (void)snprintf(out, CAIRN_LOCAL_TEMP_CHARS + 1, "%c%" PRIx64, kind, number);
}
