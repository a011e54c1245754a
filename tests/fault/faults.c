/* SPDX-License-Identifier: Apache-2.0 */
#include "faults.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"

#define FDS 4096
#define LOG_NAME_CHARS 16

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct faults_plan plan;
static struct faults_counts counts;
static bool is_upload[FDS], window_begun, window_ended;
static size_t since_window; /* calls since it began, also behind its end */

static void die(void)
{
    (void)kill(getpid(), SIGKILL);
    for (;;)
        (void)pause();
}

/* Counts a call; tells what it has to do. */
static enum faults_kind enter(const char *name)
{
    if (plan.syncs && strcmp(name, "fsync") != 0 && strcmp(name, "syncfs") != 0)
        return FAULTS_NONE;
    (void)pthread_mutex_lock(&lock);
    counts.calls++;
    counts.window += window_begun && !window_ended;
    since_window += window_begun;
    size_t number = plan.in_window ? since_window : counts.calls;
    bool is_hit = plan.kind != FAULTS_NONE && plan.at > 0 &&
                  (number == plan.at || (plan.forever && number > plan.at));
    enum faults_kind kind = is_hit ? plan.kind : FAULTS_NONE;
    if (is_hit && counts.hit++ == 0)
        counts.name = name;
    (void)pthread_mutex_unlock(&lock);
    if (kind == FAULTS_KILL_BEFORE || (kind == FAULTS_KILL_HALF && strcmp(name, "pwrite") != 0))
        die();
    return kind;
}

/* What a call returns in the end. */
static long leave(enum faults_kind kind, long result)
{
    if (kind == FAULTS_KILL_AFTER || kind == FAULTS_KILL_HALF)
        die();
    if (kind != FAULTS_ERRNO)
        return result;
    errno = plan.os_errno;
    return -1;
}

#define HIT(name)                                                                                  \
    enum faults_kind kind = enter(name);                                                           \
    if (kind == FAULTS_ERRNO)                                                                      \
    return (int)leave(kind, -1)

static int do_openat(int dir, const char *name, int flags, mode_t mode)
{
    HIT(flags & O_CREAT ? "create" : "open");
    int fd = cairn_io_system()->openat(dir, name, flags, mode);
    if (fd >= 0 && fd < FDS)
        is_upload[fd] = (flags & O_CREAT) && name[0] == 'u';
    return (int)leave(kind, fd);
}

static int do_close(int fd)
{
    enum faults_kind kind = enter("close");
    return (int)leave(kind, cairn_io_system()->close(fd)); /* it is closed in any case */
}

static size_t shortened(enum faults_kind kind, size_t len)
{
    if (kind != FAULTS_SHORT && kind != FAULTS_KILL_HALF)
        return len;
    return len >= 1024 ? len / 1024 * 512 : len / 2 + 1; /* direct writes end at a block */
}

static ssize_t do_pread(int fd, void *buf, size_t len, off_t at)
{
    HIT("pread");
    return leave(kind, cairn_io_system()->pread(fd, buf, shortened(kind, len), at));
}

static ssize_t do_read(int fd, void *buf, size_t len)
{
    HIT("read");
    return leave(kind, cairn_io_system()->read(fd, buf, shortened(kind, len)));
}

static ssize_t do_pwrite(int fd, const void *buf, size_t len, off_t at)
{
    HIT("pwrite");
    return leave(kind, cairn_io_system()->pwrite(fd, buf, shortened(kind, len), at));
}

static int do_fstat(int fd, struct stat *st)
{
    /* An upload is looked at when its last byte was written. */
    (void)pthread_mutex_lock(&lock);
    if (fd >= 0 && fd < FDS && is_upload[fd])
        window_begun = true;
    (void)pthread_mutex_unlock(&lock);
    HIT("fstat");
    return (int)leave(kind, cairn_io_system()->fstat(fd, st));
}

static int do_fstatat(int dir, const char *name, struct stat *st, int flags)
{
    HIT("fstatat");
    return (int)leave(kind, cairn_io_system()->fstatat(dir, name, st, flags));
}

static int do_fsync(int fd)
{
    (void)fd;
    HIT("fsync");
    return (int)leave(kind, 0);
}

static int do_syncfs(int fd)
{
    (void)fd;
    HIT("syncfs");
    return (int)leave(kind, 0);
}

static int do_ftruncate(int fd, off_t len)
{
    HIT("ftruncate");
    return (int)leave(kind, cairn_io_system()->ftruncate(fd, len));
}

static int do_fallocate(int fd, int mode, off_t at, off_t len)
{
    HIT("fallocate");
    return (int)leave(kind, cairn_io_system()->fallocate(fd, mode, at, len));
}

static int do_renameat2(int from_dir, const char *from, int to_dir, const char *to, unsigned flags)
{
    HIT("rename");
    int status = cairn_io_system()->renameat2(from_dir, from, to_dir, to, flags);
    if (kind == FAULTS_NONE && strlen(to) == LOG_NAME_CHARS) {
        int saved = errno;
        (void)pthread_mutex_lock(&lock);
        window_ended = window_begun;
        (void)pthread_mutex_unlock(&lock);
        errno = saved;
    }
    return (int)leave(kind, status);
}

static int do_linkat(int from_dir, const char *from, int to_dir, const char *to, int flags)
{
    HIT("link");
    return (int)leave(kind, cairn_io_system()->linkat(from_dir, from, to_dir, to, flags));
}

static int do_unlinkat(int dir, const char *name, int flags)
{
    HIT("unlink");
    return (int)leave(kind, cairn_io_system()->unlinkat(dir, name, flags));
}

static int do_mkdirat(int dir, const char *name, mode_t mode)
{
    HIT("mkdir");
    return (int)leave(kind, cairn_io_system()->mkdirat(dir, name, mode));
}

static ssize_t do_getdents64(int fd, void *buf, size_t len)
{
    HIT("getdents");
    return leave(kind, cairn_io_system()->getdents64(fd, buf, len));
}

static const struct cairn_io_ops faults_ops = {
    .openat = do_openat,
    .close = do_close,
    .pread = do_pread,
    .pwrite = do_pwrite,
    .read = do_read,
    .fstat = do_fstat,
    .fstatat = do_fstatat,
    .fsync = do_fsync,
    .fdatasync = do_fsync,
    .syncfs = do_syncfs,
    .ftruncate = do_ftruncate,
    .fallocate = do_fallocate,
    .renameat2 = do_renameat2,
    .linkat = do_linkat,
    .unlinkat = do_unlinkat,
    .mkdirat = do_mkdirat,
    .getdents64 = do_getdents64,
};

void faults_begin(const struct faults_plan *wanted)
{
    static const struct faults_plan nothing;
    plan = wanted ? *wanted : nothing;
    memset(&counts, 0, sizeof(counts));
    since_window = 0;
    window_begun = window_ended = false;
    cairn_io_set(&faults_ops);
}

struct faults_counts faults_end(void)
{
    plan.kind = FAULTS_NONE;
    return counts;
}
