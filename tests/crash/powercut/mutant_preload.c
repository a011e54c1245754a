/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mutant_preload: an LD_PRELOAD library that breaks one durability barrier of the program under
 * test, so that a proof of durability can be seen to fail. It stands between the program and
 * glibc's fsync, fdatasync, syncfs, sync, sync_file_range, rename, renameat, renameat2, link and
 * linkat. A sync that goes to the kernel by another way (io_uring, O_DSYNC, syscall(2)) is not
 * seen.
 *
 * CAIRN_MUTANT, one of
 *   skip-fsync-file  fsync and fdatasync of a regular file do nothing
 *   skip-fsync-named as skip-fsync-file, chosen by the name that the file gets afterwards: the sync
 * is held back until then, and only done if CAIRN_MUTANT_MATCH is not in that name skip-fsync-dir
 * fsync and fdatasync of a directory do nothing skip-syncfs      syncfs and sync do nothing
 *   skip-all-fsync   all of these and sync_file_range do nothing
 *   swap-dir-file    the sync of a regular file happens only after the next sync of a directory
 *                    that follows a rename or link: the name is durable before the bytes are
 *   swap-log         syncs of anything but the log happen only after the next log entry has got
 *                    its name and its directory has been synced: the commit is durable before
 *                    what it refers to
 *   swap-syncfs      as swap-log, but only syncfs moves
 *   none             everything is passed on; for the trace
 * CAIRN_MUTANT_MATCH    only calls on a path that contains this text are changed
 * CAIRN_MUTANT_LOG      the directory of log entries in a path, "/log/" if not set
 * CAIRN_MUTANT_TRACE    a file that gets a line for every call seen and what became of it. A mutant
 *                       whose trace has no "skip" or "postpone" has changed nothing: it is no
 *                       proof.
 * CAIRN_MUTANT_BUFFERED open and openat refuse O_DIRECT, as some file systems do. Not a mutant of
 * its own, but a direct write is on the disk as soon as it is done, and any flush makes it durable:
 * buffered, more barriers are needed.
 *
 * Invariants:
 * 1. `waiting` holds descriptors of its own (duplicates), closed when their sync has been done.
 * 2. The real functions are called without the lock held.
 * 3. What still waits when the process exits is synced then (not after _exit or a signal).
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define WAITING_MAX 1024
#define EXPORT __attribute__((visibility("default")))

enum mutant {
    NONE,
    SKIP_FSYNC_FILE,
    SKIP_FSYNC_NAMED,
    SKIP_FSYNC_DIR,
    SKIP_SYNCFS,
    SKIP_ALL_FSYNC,
    SWAP_DIR_FILE,
    SWAP_LOG,
    SWAP_SYNCFS,
};

static const char *const mutant_names[] = {
    "none",           "skip-fsync-file", "skip-fsync-named", "skip-fsync-dir", "skip-syncfs",
    "skip-all-fsync", "swap-dir-file",   "swap-log",         "swap-syncfs",
};

enum kind { FSYNC, FDATASYNC, SYNCFS, SYNC_RANGE };

static const char *const kind_names[] = {"fsync", "fdatasync", "syncfs", "sync_file_range"};

enum verdict { REAL, SKIP, POSTPONE };

static struct {
    int (*fsync)(int);
    int (*fdatasync)(int);
    int (*syncfs)(int);
    void (*sync)(void);
    int (*sync_file_range)(int, off64_t, off64_t, unsigned);
    int (*rename)(const char *, const char *);
    int (*renameat)(int, const char *, int, const char *);
    int (*renameat2)(int, const char *, int, const char *, unsigned);
    int (*link)(const char *, const char *);
    int (*linkat)(int, const char *, int, const char *, int);
    int (*open)(const char *, int, ...);
    int (*openat)(int, const char *, int, ...);
} real;

struct wait {
    int fd;
    enum kind kind;
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static enum mutant mutant;
static const char *match = "", *log_path = "/log/";
static int trace_fd = -1;
static bool buffered;

/* under `lock` */
static struct wait waiting[WAITING_MAX];
static size_t waiting_count;
static bool named;     /* a name was made since the last release */
static bool log_named; /* in the log */

__attribute__((noreturn)) static void refuse(const char *what, const char *detail)
{
    fprintf(stderr, "mutant_preload: %s %s\n", what, detail);
    _exit(2);
}

static void find_real(void *slot, const char *name)
{
    void *f = dlsym(RTLD_NEXT, name);
    if (!f)
        refuse("no function", name);
    memcpy(slot, &f, sizeof f);
}

static void parse_mutant(const char *name)
{
    for (size_t i = 0; i < sizeof mutant_names / sizeof *mutant_names; i++) {
        if (!strcmp(name, mutant_names[i])) {
            mutant = (enum mutant)i;
            return;
        }
    }
    refuse("unknown CAIRN_MUTANT", name);
}

static void start(void)
{
    find_real(&real.fsync, "fsync");
    find_real(&real.fdatasync, "fdatasync");
    find_real(&real.syncfs, "syncfs");
    find_real(&real.sync, "sync");
    find_real(&real.sync_file_range, "sync_file_range");
    find_real(&real.rename, "rename");
    find_real(&real.renameat, "renameat");
    find_real(&real.renameat2, "renameat2");
    find_real(&real.link, "link");
    find_real(&real.linkat, "linkat");
    find_real(&real.open, "open64");
    find_real(&real.openat, "openat64");
    buffered = getenv("CAIRN_MUTANT_BUFFERED") != NULL;
    const char *value = getenv("CAIRN_MUTANT");
    if (value && *value)
        parse_mutant(value);
    if ((value = getenv("CAIRN_MUTANT_MATCH")))
        match = value;
    if ((value = getenv("CAIRN_MUTANT_LOG")))
        log_path = value;
    value = getenv("CAIRN_MUTANT_TRACE");
    if (value && (trace_fd = real.open(value, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600)) < 0)
        refuse("cannot open the trace", value);
}

__attribute__((constructor)) static void start_early(void)
{
    pthread_once(&once, start);
}

static void trace(const char *what, const char *call, const char *path)
{
    if (trace_fd >= 0)
        dprintf(trace_fd, "%s %s %s\n", what, call, path);
}

/* The path of a descriptor; a directory's ends in '/', so that "/log/" finds the log itself. */
static void fd_path(int fd, bool directory, char out[PATH_MAX])
{
    char link[40];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, out, PATH_MAX - 2);
    if (n < 0)
        n = 0;
    if (directory)
        out[n++] = '/';
    out[n] = '\0';
}

static bool postponed(enum kind kind, bool directory, bool is_log)
{
    if (mutant == SWAP_DIR_FILE)
        return !directory && (kind == FSYNC || kind == FDATASYNC);
    if (mutant == SWAP_LOG)
        return !is_log && kind != SYNC_RANGE;
    return mutant == SWAP_SYNCFS && kind == SYNCFS;
}

static enum verdict judge(enum kind kind, bool directory, const char *path)
{
    bool single = kind == FSYNC || kind == FDATASYNC;
    if (mutant == SKIP_FSYNC_NAMED)
        return single && !directory ? POSTPONE : REAL;
    if (!strstr(path, match))
        return REAL;
    if ((mutant == SKIP_FSYNC_FILE && single && !directory) ||
        (mutant == SKIP_FSYNC_DIR && single && directory) ||
        (mutant == SKIP_SYNCFS && kind == SYNCFS) || mutant == SKIP_ALL_FSYNC)
        return SKIP;
    return postponed(kind, directory, strstr(path, log_path) != NULL) ? POSTPONE : REAL;
}

static int call_real(enum kind kind, int fd)
{
    if (kind == FDATASYNC)
        return real.fdatasync(fd);
    return kind == SYNCFS ? real.syncfs(fd) : real.fsync(fd);
}

static void postpone(enum kind kind, int fd)
{
    int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (copy < 0)
        refuse("cannot duplicate a descriptor:", strerror(errno));
    pthread_mutex_lock(&lock);
    if (waiting_count == WAITING_MAX)
        refuse("too many postponed syncs:", "no log entry follows?");
    waiting[waiting_count++] = (struct wait){.fd = copy, .kind = kind};
    pthread_mutex_unlock(&lock);
}

/*
 * Ends the wait of everything, or only of the syncs of the one file `only`: they are executed, or
 * skipped if `skipped` says for which path.
 */
static void release(const struct stat *only, const char *skipped)
{
    struct wait ready[WAITING_MAX];
    size_t count = 0, kept = 0;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < waiting_count; i++) {
        struct stat st;
        bool take = !only || (!fstat(waiting[i].fd, &st) && st.st_ino == only->st_ino &&
                              st.st_dev == only->st_dev && waiting[i].kind != SYNCFS);
        if (take)
            ready[count++] = waiting[i];
        else
            waiting[kept++] = waiting[i];
    }
    waiting_count = kept;
    pthread_mutex_unlock(&lock);
    for (size_t i = 0; i < count; i++) {
        if (!skipped)
            call_real(ready[i].kind, ready[i].fd);
        trace(skipped ? "skip" : "release", kind_names[ready[i].kind], skipped ? skipped : "");
        close(ready[i].fd);
    }
}

/* After a real sync of a directory: is it the one that the postponed syncs were waiting for? */
static void directory_synced(bool is_log)
{
    pthread_mutex_lock(&lock);
    bool due = (mutant == SWAP_DIR_FILE && named) ||
               ((mutant == SWAP_LOG || mutant == SWAP_SYNCFS) && log_named && is_log);
    if (due)
        named = log_named = false;
    pthread_mutex_unlock(&lock);
    if (due)
        release(NULL, NULL);
}

/* Has already arranged what SKIP and POSTPONE ask for; at REAL the caller does the sync. */
static enum verdict before_sync(enum kind kind, int fd, bool *directory, char path[PATH_MAX])
{
    static const char *const verdicts[] = {"real", "skip", "postpone"};
    pthread_once(&once, start);
    struct stat st;
    *directory = !fstat(fd, &st) && S_ISDIR(st.st_mode);
    fd_path(fd, *directory, path);
    enum verdict v = judge(kind, *directory, path);
    trace(v == POSTPONE && mutant == SKIP_FSYNC_NAMED ? "hold" : verdicts[v], kind_names[kind],
          path);
    if (v == POSTPONE)
        postpone(kind, fd);
    return v;
}

static int sync_one(enum kind kind, int fd)
{
    char path[PATH_MAX];
    bool directory;
    if (before_sync(kind, fd, &directory, path) != REAL)
        return 0;
    int rc = call_real(kind, fd);
    if (!rc && directory && kind != SYNCFS)
        directory_synced(strstr(path, log_path) != NULL);
    return rc;
}

EXPORT int fsync(int fd)
{
    return sync_one(FSYNC, fd);
}

EXPORT int fdatasync(int fd)
{
    return sync_one(FDATASYNC, fd);
}

EXPORT int syncfs(int fd)
{
    return sync_one(SYNCFS, fd);
}

EXPORT void sync(void)
{
    pthread_once(&once, start);
    bool skip = mutant == SKIP_ALL_FSYNC || mutant == SKIP_SYNCFS;
    trace(skip ? "skip" : "real", "sync", "");
    if (!skip)
        real.sync();
}

EXPORT int sync_file_range(int fd, off64_t offset, off64_t length, unsigned flags)
{
    char path[PATH_MAX];
    bool directory;
    if (before_sync(SYNC_RANGE, fd, &directory, path) != REAL)
        return 0;
    return real.sync_file_range(fd, offset, length, flags);
}

/*
 * The bytes of the log entry itself must not be late under swap-log, wherever its temporary file
 * lies: the mutant is about what the entry refers to.
 */
static void before_name(int old_dir, const char *old, int follow, int new_dir, const char *new)
{
    pthread_once(&once, start);
    char path[PATH_MAX] = "";
    if (new[0] != '/' && new_dir != AT_FDCWD)
        fd_path(new_dir, true, path);
    size_t used = strlen(path);
    snprintf(path + used, sizeof path - used, "%s%s", used || new[0] == '/' ? "" : "/", new);
    bool is_log = strstr(path, log_path) != NULL;
    trace("real", "name", path);
    struct stat st;
    if (((is_log && mutant == SWAP_LOG) || mutant == SKIP_FSYNC_NAMED) &&
        !fstatat(old_dir, old, &st,
                 (old[0] ? 0 : AT_EMPTY_PATH) | (follow ? 0 : AT_SYMLINK_NOFOLLOW)))
        release(&st, mutant == SKIP_FSYNC_NAMED && strstr(path, match) ? path : NULL);
    pthread_mutex_lock(&lock);
    named = true;
    log_named = log_named || is_log;
    pthread_mutex_unlock(&lock);
}

EXPORT int rename(const char *old, const char *new)
{
    before_name(AT_FDCWD, old, 0, AT_FDCWD, new);
    return real.rename(old, new);
}

EXPORT int renameat(int old_dir, const char *old, int new_dir, const char *new)
{
    before_name(old_dir, old, 0, new_dir, new);
    return real.renameat(old_dir, old, new_dir, new);
}

EXPORT int renameat2(int old_dir, const char *old, int new_dir, const char *new, unsigned flags)
{
    before_name(old_dir, old, 0, new_dir, new);
    return real.renameat2(old_dir, old, new_dir, new, flags);
}

EXPORT int link(const char *old, const char *new)
{
    before_name(AT_FDCWD, old, 0, AT_FDCWD, new);
    return real.link(old, new);
}

EXPORT int linkat(int old_dir, const char *old, int new_dir, const char *new, int flags)
{
    before_name(old_dir, old, flags & AT_SYMLINK_FOLLOW, new_dir, new);
    return real.linkat(old_dir, old, new_dir, new, flags);
}

/* true: the call is to fail; *mode is the argument after the flags, where they ask for one. */
static bool refused(int flags, va_list arguments, mode_t *mode)
{
    pthread_once(&once, start);
    *mode = 0;
    if ((flags & O_CREAT) || (flags & O_TMPFILE) == O_TMPFILE)
        *mode = (mode_t)va_arg(arguments, int);
    if (!buffered || !(flags & O_DIRECT))
        return false;
    errno = EINVAL;
    return true;
}

/* By their names in the library: with 64-bit offsets C's `open` is the library's open64. */
#define OPEN(name, symbol)                                                                         \
    EXPORT int name(const char *path, int flags, ...) __asm__(symbol);                             \
    int name(const char *path, int flags, ...)                                                     \
    {                                                                                              \
        mode_t mode;                                                                               \
        va_list arguments;                                                                         \
        va_start(arguments, flags);                                                                \
        bool refuse_it = refused(flags, arguments, &mode);                                         \
        va_end(arguments);                                                                         \
        return refuse_it ? -1 : real.open(path, flags, mode);                                      \
    }

#define OPENAT(name, symbol)                                                                       \
    EXPORT int name(int dir, const char *path, int flags, ...) __asm__(symbol);                    \
    int name(int dir, const char *path, int flags, ...)                                            \
    {                                                                                              \
        mode_t mode;                                                                               \
        va_list arguments;                                                                         \
        va_start(arguments, flags);                                                                \
        bool refuse_it = refused(flags, arguments, &mode);                                         \
        va_end(arguments);                                                                         \
        return refuse_it ? -1 : real.openat(dir, path, flags, mode);                               \
    }

OPEN(open_plain, "open")
OPEN(open_large, "open64")
OPENAT(openat_plain, "openat")
OPENAT(openat_large, "openat64")

__attribute__((destructor)) static void finish(void)
{
    pthread_once(&once, start);
    release(NULL, NULL);
}
