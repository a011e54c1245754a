/* SPDX-License-Identifier: Apache-2.0 */
#include "seam.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"

static struct seam seam;
static char root_path[512];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* The path behind a descriptor as the kernel knows it, cut down to what tests compare. */
static void path_of(int fd, const char *name, char out[200])
{
    char link[64], full[1024];
    (void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    ssize_t len = readlink(link, full, sizeof(full) - 1);
    full[len < 0 ? 0 : len] = '\0';
    const char *below = full;
    size_t root_len = strlen(root_path);
    if (strncmp(full, root_path, root_len) == 0)
        below = full[root_len] == '/' ? full + root_len + 1 : "";
    char joined[1300];
    bool dot = name == NULL || strcmp(name, ".") == 0;
    (void)snprintf(joined, sizeof(joined), "%s%s%s", below, below[0] && !dot ? "/" : "",
                   dot ? "" : name);
    if (strncmp(joined, "tmp/", 4) == 0 && strlen(joined) > 20 && joined[20] == '/')
        memmove(joined + 4, joined + 21, strlen(joined + 21) + 1);
    else if (strncmp(joined, "tmp/", 4) == 0 && strlen(joined) == 20)
        (void)strcpy(joined, "tmp/session");
    (void)snprintf(out, 200, "%.199s", joined[0] ? joined : ".");
}

/* Records the call before it is made, because descriptors and names are still there. Tells what it
 * is to do instead. */
static struct seam_call *enter(enum seam_op op, int fd, const char *name, int to,
                               const char *to_name, enum seam_fault *fault)
{
    static struct seam_call spare;
    pthread_mutex_lock(&lock);
    struct seam_call *call = seam.count < SEAM_CALLS_MAX ? &seam.calls[seam.count++] : &spare;
    call->op = op;
    call->result = 0;
    call->to[0] = '\0';
    path_of(fd, name, call->path);
    if (to_name != NULL)
        path_of(to, to_name, call->to);
    bool counts = seam.only < 0 || seam.only == (int)op;
    seam.matched += counts;
    *fault = SEAM_NONE;
    if (counts && seam.fail_at > 0 &&
        (seam.matched == seam.fail_at || (seam.forever && seam.matched > seam.fail_at)))
        *fault = seam.fault;
    pthread_mutex_unlock(&lock);
    return call;
}

static long leave(struct seam_call *call, long result)
{
    int saved = errno;
    pthread_mutex_lock(&lock);
    call->result = result < 0 ? saved : 0;
    pthread_mutex_unlock(&lock);
    errno = saved;
    return result;
}

static long refuse(struct seam_call *call)
{
    errno = seam.os_errno;
    return leave(call, -1);
}

static int seam_openat(int dir, const char *name, int flags, mode_t mode)
{
    enum seam_fault fault;
    struct seam_call *call =
        enter(flags & O_CREAT ? SEAM_CREATE : SEAM_OPEN, dir, name, -1, NULL, &fault);
    if (fault == SEAM_ERRNO)
        return (int)refuse(call);
    return (int)leave(call, cairn_io_system()->openat(dir, name, flags, mode));
}

static int seam_close(int fd)
{
    enum seam_fault fault;
    struct seam_call *call = enter(SEAM_CLOSE, fd, NULL, -1, NULL, &fault);
    int status = cairn_io_system()->close(fd); /* the descriptor is gone in any case */
    return fault == SEAM_ERRNO ? (int)refuse(call) : (int)leave(call, status);
}

static ssize_t seam_pread(int fd, void *buf, size_t len, off_t at)
{
    enum seam_fault fault;
    struct seam_call *call = enter(SEAM_READ, fd, NULL, -1, NULL, &fault);
    if (fault == SEAM_ERRNO)
        return refuse(call);
    if (fault == SEAM_SHORT)
        len = len / 2 + 1;
    return leave(call, cairn_io_system()->pread(fd, buf, len, at));
}

static ssize_t seam_pwrite(int fd, const void *buf, size_t len, off_t at)
{
    enum seam_fault fault;
    struct seam_call *call = enter(SEAM_WRITE, fd, NULL, -1, NULL, &fault);
    if (fault == SEAM_ERRNO)
        return refuse(call);
    /* A short direct write ends at a block. */
    if (fault == SEAM_SHORT)
        len = len >= 1024 ? len / 1024 * 512 : len / 2 + 1;
    return leave(call, cairn_io_system()->pwrite(fd, buf, len, at));
}

static int seam_fstat(int fd, struct stat *st)
{
    enum seam_fault fault;
    struct seam_call *call = enter(SEAM_STAT, fd, NULL, -1, NULL, &fault);
    return fault == SEAM_ERRNO ? (int)refuse(call)
                               : (int)leave(call, cairn_io_system()->fstat(fd, st));
}

static int seam_fstatat(int dir, const char *name, struct stat *st, int flags)
{
    enum seam_fault fault;
    struct seam_call *call = enter(SEAM_STAT, dir, name, -1, NULL, &fault);
    return fault == SEAM_ERRNO ? (int)refuse(call)
                               : (int)leave(call, cairn_io_system()->fstatat(dir, name, st, flags));
}

/* Which calls are made is what is tested; no test need wait for the disk. */
static int seam_fsync(int fd)
{
    enum seam_fault fault;
    struct seam_call *call = enter(SEAM_FSYNC, fd, NULL, -1, NULL, &fault);
    return fault == SEAM_ERRNO ? (int)refuse(call) : (int)leave(call, 0);
}

static int seam_syncfs(int fd)
{
    enum seam_fault fault;
    struct seam_call *call = enter(SEAM_SYNCFS, fd, NULL, -1, NULL, &fault);
    return fault == SEAM_ERRNO ? (int)refuse(call) : (int)leave(call, 0);
}

static int seam_renameat2(int from_dir, const char *from, int to_dir, const char *to,
                          unsigned flags)
{
    enum seam_fault fault;
    struct seam_call *call = enter(SEAM_RENAME, from_dir, from, to_dir, to, &fault);
    if (fault == SEAM_ERRNO)
        return (int)refuse(call);
    if (!(flags & RENAME_NOREPLACE))
        abort();
    return (int)leave(call, cairn_io_system()->renameat2(from_dir, from, to_dir, to, flags));
}

static int seam_linkat(int from_dir, const char *from, int to_dir, const char *to, int flags)
{
    enum seam_fault fault;
    struct seam_call *call = enter(SEAM_LINK, from_dir, from, to_dir, to, &fault);
    if (fault == SEAM_ERRNO)
        return (int)refuse(call);
    return (int)leave(call, cairn_io_system()->linkat(from_dir, from, to_dir, to, flags));
}

static int seam_unlinkat(int dir, const char *name, int flags)
{
    enum seam_fault fault;
    struct seam_call *call = enter(SEAM_UNLINK, dir, name, -1, NULL, &fault);
    return fault == SEAM_ERRNO ? (int)refuse(call)
                               : (int)leave(call, cairn_io_system()->unlinkat(dir, name, flags));
}

static int seam_mkdirat(int dir, const char *name, mode_t mode)
{
    enum seam_fault fault;
    struct seam_call *call = enter(SEAM_MKDIR, dir, name, -1, NULL, &fault);
    return fault == SEAM_ERRNO ? (int)refuse(call)
                               : (int)leave(call, cairn_io_system()->mkdirat(dir, name, mode));
}

static ssize_t seam_getdents64(int fd, void *buf, size_t len)
{
    enum seam_fault fault;
    struct seam_call *call = enter(SEAM_GETDENTS, fd, NULL, -1, NULL, &fault);
    return fault == SEAM_ERRNO ? refuse(call)
                               : leave(call, cairn_io_system()->getdents64(fd, buf, len));
}

struct seam *seam_begin(const char *root)
{
    static struct cairn_io_ops ops;
    memset(&seam, 0, sizeof(seam));
    seam.only = -1;
    if (realpath(root, root_path) == NULL)
        root_path[0] = '\0';
    ops = *cairn_io_system();
    ops.openat = seam_openat;
    ops.close = seam_close;
    ops.pread = seam_pread;
    ops.pwrite = seam_pwrite;
    ops.fstat = seam_fstat;
    ops.fstatat = seam_fstatat;
    ops.fsync = seam_fsync;
    ops.syncfs = seam_syncfs;
    ops.renameat2 = seam_renameat2;
    ops.linkat = seam_linkat;
    ops.unlinkat = seam_unlinkat;
    ops.mkdirat = seam_mkdirat;
    ops.getdents64 = seam_getdents64;
    cairn_io_set(&ops);
    return &seam;
}

void seam_end(void)
{
    cairn_io_set(NULL);
}

size_t seam_find(const struct seam *s, size_t from, enum seam_op op, const char *path)
{
    for (size_t i = from; i < s->count; i++) {
        if (s->calls[i].op == op && (path == NULL || strcmp(s->calls[i].path, path) == 0))
            return i;
    }
    return seam_none;
}

size_t seam_count(const struct seam *s, enum seam_op op, const char *path)
{
    size_t count = 0;
    for (size_t i = 0; i < s->count; i++)
        count += s->calls[i].op == op && s->calls[i].result == 0 &&
                 (path == NULL || strcmp(s->calls[i].path, path) == 0);
    return count;
}

void seam_print(const struct seam *s)
{
    static const char *const names[] = {"open",   "create", "close",   "read",   "write",
                                        "stat",   "fsync",  "syncfs",  "rename", "link",
                                        "unlink", "mkdir",  "getdents"};
    for (size_t i = 0; i < s->count; i++)
        (void)fprintf(stderr, "%4zu %s %s %s %d\n", i + 1, names[s->calls[i].op], s->calls[i].path,
                      s->calls[i].to, s->calls[i].result);
}
