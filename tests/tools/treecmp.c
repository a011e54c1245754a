/* SPDX-License-Identifier: Apache-2.0 */
/*
 * treecmp: compares two directory trees in everything that a restore has to bring back. It shares
 * no code with the program it judges.
 *
 * Usage: treecmp [--ignore LIST] [--no-extents] [--slack BYTES] [--skip-holes] [--quiet] A B
 *   --ignore LIST   attributes not compared, separated by commas, of
 *                   mode uid gid size mtime target rdev xattr flags projid links data extents,
 *                   and xattr=NAME for one extended attribute
 *   --no-extents    the same as --ignore extents
 *   --slack BYTES   how much more B may have allocated than a sparse A (65536)
 *   --skip-holes    do not read where both files report a hole (SEEK_DATA is then trusted)
 *   --quiet         only the summary
 *
 * One line for each difference: ATTRIBUTE, a space, the path with everything but printable ASCII
 * escaped, a colon, the two values. Exit status: 0 equal, 1 different, 2 something could not be
 * read or compared (the rest has been).
 *
 * Not compared: atime, ctime, birth time, inode and device numbers, the size of directories, where
 * extents lie. Of the inode flags those that a user can set (FLAG_MASK).
 *
 * Invariants of the walk:
 * 1. Only the two current directories are open, whatever the depth. The way up is "..", and what it
 *    leads to must have the device and inode number of the directory that was left; if not, the
 *    tree was changed meanwhile and the comparison ends with status 2.
 * 2. An object is opened once with O_PATH|O_NOFOLLOW; type, attributes and content all come from
 *    that descriptor (content through a second open that must give the same inode).
 * 3. Path strings are built for messages only.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/fs.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#define BUFFER_BYTES (256u * 1024u)
#define XATTR_ROUNDS 8
#define FLAG_MASK                                                                                  \
    (FS_SECRM_FL | FS_UNRM_FL | FS_COMPR_FL | FS_SYNC_FL | FS_IMMUTABLE_FL | FS_APPEND_FL |        \
     FS_NODUMP_FL | FS_NOATIME_FL | FS_NOCOMP_FL | FS_JOURNAL_DATA_FL | FS_NOTAIL_FL |             \
     FS_DIRSYNC_FL | FS_TOPDIR_FL | FS_NOCOW_FL | FS_DAX_FL | FS_PROJINHERIT_FL | FS_CASEFOLD_FL)

enum attribute {
    TYPE,
    MODE,
    UID,
    GID,
    SIZE,
    MTIME,
    TARGET,
    RDEV,
    XATTR,
    FLAGS,
    PROJID,
    LINKS,
    DATA,
    EXTENTS,
    NAME,
    ATTRIBUTES
};

static const char *const attribute_names[ATTRIBUTES] = {
    "type",  "mode",  "uid",    "gid",   "size", "mtime",   "target", "rdev",
    "xattr", "flags", "projid", "links", "data", "extents", "name",
};

/* Sorted by their bytes. */
struct names {
    char **list;
    size_t count, next;
};

struct level {
    struct names side[2];
    struct stat st[2]; /* of the two directories of this level */
    char *name;        /* in its parent */
};

struct link_entry {
    dev_t dev;
    ino_t ino;
    dev_t peer_dev;
    ino_t peer_ino;
    char *path; /* escaped, of the first pair */
};

struct link_map {
    struct link_entry *slots;
    size_t used, room; /* room is 0 or a power of two */
};

struct object {
    int fd; /* O_PATH */
    struct stat st;
};

static struct {
    bool ignored[ATTRIBUTES];
    const char *ignored_xattrs[64];
    size_t ignored_xattr_count;
    uint64_t slack;
    bool skip_holes, quiet;
} options = {.slack = 65536};

static struct level *levels;
static size_t depth, level_room;
static struct link_map link_maps[2];
static uint64_t differences, errors, compared;
static const char *const sides = "AB";

__attribute__((noreturn)) static void give_up(const char *what)
{
    fprintf(stderr, "treecmp: %s: %s\n", what, strerror(errno));
    exit(2);
}

static void *resize(void *old, size_t count, size_t size)
{
    if (size && count > SIZE_MAX / size) {
        errno = ENOMEM;
        give_up("too large");
    }
    size_t bytes = count * size;
    void *p = realloc(old, bytes ? bytes : 1);
    if (!p)
        give_up("out of memory");
    return p;
}

/* --- messages ---------------------------------------------------------------------------------*/

static void put_escaped(FILE *out, const char *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)bytes[i];
        if (c == '\\')
            fputs("\\\\", out);
        else if (c == '\n')
            fputs("\\n", out);
        else if (c == '\t')
            fputs("\\t", out);
        else if (c < 0x20 || c > 0x7e)
            fprintf(out, "\\x%02x", c);
        else
            putc(c, out);
    }
}

static void put_path(FILE *out, const char *name)
{
    putc('.', out);
    for (size_t i = 1; i < depth; i++) {
        putc('/', out);
        put_escaped(out, levels[i].name, strlen(levels[i].name));
    }
    if (name) {
        putc('/', out);
        put_escaped(out, name, strlen(name));
    }
}

__attribute__((format(printf, 3, 4))) static void differ(enum attribute a, const char *name,
                                                         const char *format, ...)
{
    differences++;
    if (options.quiet)
        return;
    printf("%s ", attribute_names[a]);
    put_path(stdout, name);
    fputs(": ", stdout);
    va_list args;
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    putchar('\n');
}

static void report_error(int side, const char *name, const char *what)
{
    int saved = errno;
    errors++;
    fflush(stdout);
    fprintf(stderr, "treecmp: error %c ", sides[side]);
    put_path(stderr, name);
    fprintf(stderr, ": %s: %s\n", what, strerror(saved));
}

static char *escaped_path(const char *name)
{
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);
    if (!f)
        give_up("out of memory");
    put_path(f, name);
    if (fclose(f))
        give_up("out of memory");
    return text;
}

/* --- opening ----------------------------------------------------------------------------------*/

static bool same_inode(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

static bool open_object(int dir, const char *name, int side, struct object *o)
{
    o->fd = openat(dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (o->fd < 0 || fstat(o->fd, &o->st)) {
        report_error(side, name, "open");
        if (o->fd >= 0)
            close(o->fd);
        return false;
    }
    return true;
}

/* A descriptor that can be read, of the very object `o`; -1 with errno. */
static int open_content(int dir, const char *name, const struct object *o, int flags)
{
    flags |= O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
    int fd = openat(dir, name, flags | O_NOATIME);
    if (fd < 0 && errno == EPERM)
        fd = openat(dir, name, flags);
    struct stat st;
    if (fd >= 0 && (fstat(fd, &st) || !same_inode(&st, &o->st))) {
        close(fd);
        errno = ESTALE;
        return -1;
    }
    return fd;
}

/* --- extended attributes ----------------------------------------------------------------------*/

/* xattr calls refuse O_PATH descriptors; their /proc name leads to the object itself, also to a
 * symbolic link. */
static ssize_t xattr_read(int fd, const char *attribute, char **out)
{
    char path[40];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    for (int round = 0; round < XATTR_ROUNDS; round++) {
        ssize_t n = attribute ? getxattr(path, attribute, NULL, 0) : listxattr(path, NULL, 0);
        if (n < 0)
            return errno == EOPNOTSUPP ? 0 : -1;
        *out = resize(*out, (size_t)n + 1, 1);
        n = attribute ? getxattr(path, attribute, *out, (size_t)n)
                      : listxattr(path, *out, (size_t)n);
        if (n >= 0 || errno != ERANGE) {
            (*out)[n > 0 ? n : 0] = '\0';
            return n;
        }
    }
    return -1;
}

static int compare_strings(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool xattr_ignored(const char *attribute)
{
    for (size_t i = 0; i < options.ignored_xattr_count; i++)
        if (!strcmp(options.ignored_xattrs[i], attribute))
            return true;
    return false;
}

/* The names point into `list`. */
static bool xattr_names(const struct object *o, char **list, struct names *out)
{
    ssize_t n = xattr_read(o->fd, NULL, list);
    if (n < 0)
        return false;
    for (char *p = *list; p < *list + n; p += strlen(p) + 1) {
        if (xattr_ignored(p))
            continue;
        out->list = resize(out->list, out->count + 1, sizeof *out->list);
        out->list[out->count++] = p;
    }
    if (out->count)
        qsort(out->list, out->count, sizeof *out->list, compare_strings);
    return true;
}

static void compare_xattr_value(const struct object o[2], const char *name, const char *attribute)
{
    char *value[2] = {NULL, NULL};
    ssize_t length[2] = {0, 0};
    bool good = true;
    for (int s = 0; s < 2; s++) {
        length[s] = xattr_read(o[s].fd, attribute, &value[s]);
        if (length[s] < 0) {
            report_error(s, name, attribute);
            good = false;
        }
    }
    if (good &&
        (length[0] != length[1] || (length[0] && memcmp(value[0], value[1], (size_t)length[0]))))
        differ(XATTR, name, "%s: value differs, %zd and %zd bytes", attribute, length[0],
               length[1]);
    free(value[0]);
    free(value[1]);
}

static void compare_xattrs(const struct object o[2], const char *name)
{
    char *list[2] = {NULL, NULL};
    struct names n[2] = {{0}};
    bool good = true;
    for (int s = 0; s < 2; s++) {
        if (!xattr_names(&o[s], &list[s], &n[s])) {
            report_error(s, name, "list of extended attributes");
            good = false;
        }
    }
    while (good && (n[0].next < n[0].count || n[1].next < n[1].count)) {
        const char *a = n[0].next < n[0].count ? n[0].list[n[0].next] : NULL;
        const char *b = n[1].next < n[1].count ? n[1].list[n[1].next] : NULL;
        int order = !a ? 1 : !b ? -1 : strcmp(a, b);
        n[0].next += order <= 0;
        n[1].next += order >= 0;
        if (order)
            differ(XATTR, name, "%s: only in %c", order < 0 ? a : b, sides[order > 0]);
        else
            compare_xattr_value(o, name, a);
    }
    for (int s = 0; s < 2; s++) {
        free(list[s]);
        free(n[s].list);
    }
}

/* --- inode flags and project ------------------------------------------------------------------*/

static void compare_flags(const int fd[2], const char *name)
{
    unsigned value[2] = {0, 0};
    for (int s = 0; s < 2; s++) {
        if (ioctl(fd[s], FS_IOC_GETFLAGS, &value[s]) == 0)
            value[s] &= FLAG_MASK;
        else if (errno == ENOTTY || errno == EOPNOTSUPP || errno == ENOSYS)
            value[s] = 0;
        else
            report_error(s, name, "inode flags");
    }
    if (value[0] != value[1])
        differ(FLAGS, name, "%#x and %#x", value[0], value[1]);
}

static void compare_project(const int fd[2], const char *name)
{
    struct fsxattr value[2] = {{0}};
    for (int s = 0; s < 2; s++) {
        if (ioctl(fd[s], FS_IOC_FSGETXATTR, &value[s]) == 0)
            continue;
        value[s].fsx_projid = 0;
        if (errno != ENOTTY && errno != EOPNOTSUPP && errno != ENOSYS)
            report_error(s, name, "project id");
    }
    if (value[0].fsx_projid != value[1].fsx_projid)
        differ(PROJID, name, "%u and %u", value[0].fsx_projid, value[1].fsx_projid);
}

/* --- hard links -------------------------------------------------------------------------------*/

static size_t link_slot(const struct link_map *m, const struct stat *st)
{
    uint64_t h = ((uint64_t)st->st_ino ^ ((uint64_t)st->st_dev << 40)) * 0x9e3779b97f4a7c15u;
    size_t i = (size_t)(h >> 20) & (m->room - 1);
    while (m->slots[i].path && (m->slots[i].ino != st->st_ino || m->slots[i].dev != st->st_dev))
        i = (i + 1) & (m->room - 1);
    return i;
}

static void link_grow(struct link_map *m)
{
    if (m->used * 2 < m->room)
        return;
    struct link_map larger = {.used = m->used, .room = m->room ? m->room * 2 : 1024};
    larger.slots = calloc(larger.room, sizeof *larger.slots);
    if (!larger.slots)
        give_up("out of memory");
    for (size_t i = 0; i < m->room; i++) {
        struct stat st = {.st_dev = m->slots[i].dev, .st_ino = m->slots[i].ino};
        if (m->slots[i].path)
            larger.slots[link_slot(&larger, &st)] = m->slots[i];
    }
    free(m->slots);
    *m = larger;
}

/* The groups are equal when the pairs of inodes that share a path form a bijection. */
static void compare_links(const struct object o[2], const char *name)
{
    if (o[0].st.st_nlink < 2 && o[1].st.st_nlink < 2)
        return;
    for (int s = 0; s < 2; s++) {
        const struct stat *peer = &o[!s].st;
        link_grow(&link_maps[s]);
        struct link_entry *e = &link_maps[s].slots[link_slot(&link_maps[s], &o[s].st)];
        if (!e->path) {
            *e = (struct link_entry){o[s].st.st_dev, o[s].st.st_ino, peer->st_dev, peer->st_ino,
                                     escaped_path(name)};
            link_maps[s].used++;
        } else if (e->peer_dev != peer->st_dev || e->peer_ino != peer->st_ino) {
            differ(LINKS, name, "in %c one file with %s, in %c not", sides[s], e->path, sides[!s]);
        }
    }
}

/* --- content ----------------------------------------------------------------------------------*/

static ssize_t read_at(int fd, char *buf, size_t length, off_t offset)
{
    size_t done = 0;
    while (done < length) {
        ssize_t n = pread(fd, buf + done, length - done, offset + (off_t)done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        if (n == 0)
            break;
        done += (size_t)n;
    }
    return (ssize_t)done;
}

/* The first offset from `at` on where one of the two files has data; `size` if none has. */
static off_t next_data(const int fd[2], off_t at, off_t size)
{
    off_t nearest = size;
    for (int s = 0; s < 2; s++) {
        off_t data = lseek(fd[s], at, SEEK_DATA);
        if (data < 0)
            data = errno == ENXIO ? size : at;
        nearest = data < nearest ? data : nearest;
    }
    return nearest;
}

static void compare_data(const int fd[2], const char *name, off_t size)
{
    static char buf[2][BUFFER_BYTES];
    for (off_t at = 0; at < size;) {
        if (options.skip_holes && (at = next_data(fd, at, size)) >= size)
            return;
        ssize_t n[2];
        for (int s = 0; s < 2; s++) {
            n[s] = read_at(fd[s], buf[s], BUFFER_BYTES, at);
            if (n[s] < 0) {
                report_error(s, name, "read");
                return;
            }
        }
        ssize_t common = n[0] < n[1] ? n[0] : n[1];
        if (n[0] != n[1] || memcmp(buf[0], buf[1], (size_t)common)) {
            ssize_t i = 0;
            while (i < common && buf[0][i] == buf[1][i])
                i++;
            differ(DATA, name, "from byte %jd on", (intmax_t)at + i);
            return;
        }
        if (n[0] == 0) {
            errno = ESTALE;
            report_error(0, name, "became shorter");
            return;
        }
        at += n[0];
    }
}

static void compare_extents(const struct object o[2], const char *name)
{
    uint64_t a = (uint64_t)o[0].st.st_blocks * 512, b = (uint64_t)o[1].st.st_blocks * 512;
    if (a < (uint64_t)o[0].st.st_size && b > a + options.slack)
        differ(EXTENTS, name, "%" PRIu64 " and %" PRIu64 " bytes allocated", a, b);
}

static void compare_targets(const struct object o[2], const char *name)
{
    char *target[2] = {NULL, NULL};
    ssize_t n[2] = {0, 0};
    for (int s = 0; s < 2; s++) {
        size_t room = (size_t)o[s].st.st_size + 4096;
        target[s] = resize(NULL, room, 1);
        n[s] = readlinkat(o[s].fd, "", target[s], room);
        if (n[s] < 0)
            report_error(s, name, "target");
    }
    if (n[0] >= 0 && n[1] >= 0 && (n[0] != n[1] || memcmp(target[0], target[1], (size_t)n[0])))
        differ(TARGET, name, "%zd and %zd bytes, not the same", n[0], n[1]);
    free(target[0]);
    free(target[1]);
}

/* --- one object -------------------------------------------------------------------------------*/

static void compare_stat(const struct object o[2], const char *name)
{
    const struct stat *a = &o[0].st, *b = &o[1].st;
    const bool *ignored = options.ignored;
    if (!ignored[MODE] && ((a->st_mode ^ b->st_mode) & 07777))
        differ(MODE, name, "%04o and %04o", a->st_mode & 07777, b->st_mode & 07777);
    if (!ignored[UID] && a->st_uid != b->st_uid)
        differ(UID, name, "%u and %u", a->st_uid, b->st_uid);
    if (!ignored[GID] && a->st_gid != b->st_gid)
        differ(GID, name, "%u and %u", a->st_gid, b->st_gid);
    if (!ignored[SIZE] && S_ISREG(a->st_mode) && a->st_size != b->st_size)
        differ(SIZE, name, "%jd and %jd", (intmax_t)a->st_size, (intmax_t)b->st_size);
    if (!ignored[MTIME] &&
        (a->st_mtim.tv_sec != b->st_mtim.tv_sec || a->st_mtim.tv_nsec != b->st_mtim.tv_nsec))
        differ(MTIME, name, "%jd.%09ld and %jd.%09ld", (intmax_t)a->st_mtim.tv_sec,
               a->st_mtim.tv_nsec, (intmax_t)b->st_mtim.tv_sec, b->st_mtim.tv_nsec);
    if (!ignored[RDEV] && (S_ISCHR(a->st_mode) || S_ISBLK(a->st_mode)) && a->st_rdev != b->st_rdev)
        differ(RDEV, name, "%u:%u and %u:%u", major(a->st_rdev), minor(a->st_rdev),
               major(b->st_rdev), minor(b->st_rdev));
}

static void compare_opened(const struct object o[2], const char *name, const int fd[2])
{
    if (!options.ignored[FLAGS])
        compare_flags(fd, name);
    if (!options.ignored[PROJID])
        compare_project(fd, name);
    if (!S_ISREG(o[0].st.st_mode))
        return;
    if (!options.ignored[DATA] && !same_inode(&o[0].st, &o[1].st) &&
        o[0].st.st_size == o[1].st.st_size)
        compare_data(fd, name, o[0].st.st_size);
    if (!options.ignored[EXTENTS])
        compare_extents(o, name);
}

/* For a directory or regular file; `name` is "." and not printed when it is the current one. */
static void compare_content(const int dir[2], const char *at, const char *name,
                            const struct object o[2])
{
    int fd[2] = {-1, -1};
    for (int s = 0; s < 2; s++) {
        fd[s] = open_content(dir[s], at, &o[s], 0);
        if (fd[s] < 0)
            report_error(s, name, "open for reading");
    }
    if (fd[0] >= 0 && fd[1] >= 0)
        compare_opened(o, name, fd);
    for (int s = 0; s < 2; s++)
        if (fd[s] >= 0)
            close(fd[s]);
}

static const char *type_name(mode_t mode)
{
    switch (mode & S_IFMT) {
    case S_IFREG:
        return "file";
    case S_IFDIR:
        return "directory";
    case S_IFLNK:
        return "symlink";
    case S_IFCHR:
        return "character device";
    case S_IFBLK:
        return "block device";
    case S_IFIFO:
        return "fifo";
    case S_IFSOCK:
        return "socket";
    default:
        return "unknown";
    }
}

/* True if both are directories, so that the walk may go down. */
static bool compare_object(const int dir[2], const char *at, const char *name,
                           const struct object o[2])
{
    compared++;
    mode_t type = o[0].st.st_mode & S_IFMT;
    if (type != (o[1].st.st_mode & S_IFMT)) {
        differ(TYPE, name, "%s and %s", type_name(type), type_name(o[1].st.st_mode));
        return false;
    }
    compare_stat(o, name);
    if (!options.ignored[XATTR])
        compare_xattrs(o, name);
    if (!options.ignored[LINKS] && type != S_IFDIR)
        compare_links(o, name);
    if (!options.ignored[TARGET] && type == S_IFLNK)
        compare_targets(o, name);
    if (type == S_IFREG || type == S_IFDIR)
        compare_content(dir, at, name, o);
    return type == S_IFDIR;
}

/* --- the walk ---------------------------------------------------------------------------------*/

static bool read_names(int dir, int side, struct names *out)
{
    int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
    if (!d) {
        report_error(side, NULL, "open directory");
        if (fd >= 0)
            close(fd);
        return false;
    }
    size_t room = 0;
    errno = 0;
    for (struct dirent *e; (e = readdir(d)); errno = 0) {
        if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
            continue;
        if (out->count == room)
            out->list = resize(out->list, room = room ? room * 2 : 16, sizeof *out->list);
        out->list[out->count] = strdup(e->d_name);
        if (!out->list[out->count++])
            give_up("out of memory");
    }
    bool good = errno == 0;
    if (!good)
        report_error(side, NULL, "read directory");
    closedir(d);
    if (out->count)
        qsort(out->list, out->count, sizeof *out->list, compare_strings);
    return good;
}

static void free_names(struct names *n)
{
    for (size_t i = 0; i < n->count; i++)
        free(n->list[i]);
    free(n->list);
}

static void push_level(const int dir[2], const char *name)
{
    if (depth == level_room)
        levels = resize(levels, level_room = level_room ? level_room * 2 : 64, sizeof *levels);
    struct level *l = &levels[depth++];
    memset(l, 0, sizeof *l);
    l->name = strdup(name);
    if (!l->name)
        give_up("out of memory");
    bool good = true;
    for (int s = 0; s < 2; s++) {
        if (fstat(dir[s], &l->st[s]))
            give_up("fstat of an open directory");
        good = read_names(dir[s], s, &l->side[s]) && good;
    }
    if (!good) /* half a listing would give false differences; the error is reported */
        l->side[0].next = l->side[0].count, l->side[1].next = l->side[1].count;
}

static void pop_level(int dir[2])
{
    struct level *l = &levels[--depth];
    free_names(&l->side[0]);
    free_names(&l->side[1]);
    free(l->name);
    if (depth == 0)
        return;
    for (int s = 0; s < 2; s++) {
        int up = openat(dir[s], "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        struct stat st;
        if (up < 0 || fstat(up, &st))
            give_up("cannot go up");
        if (!same_inode(&st, &levels[depth - 1].st[s])) {
            errno = ESTALE;
            give_up("a tree was moved during the comparison");
        }
        close(dir[s]);
        dir[s] = up;
    }
}

/* False if one of the two cannot be entered: then neither is. */
static bool enter(int dir[2], const char *name, const struct object o[2])
{
    int down[2];
    for (int s = 0; s < 2; s++) {
        down[s] = open_content(dir[s], name, &o[s], O_DIRECTORY);
        if (down[s] < 0) {
            report_error(s, name, "enter");
            if (s == 1)
                close(down[0]);
            return false;
        }
    }
    for (int s = 0; s < 2; s++) {
        close(dir[s]);
        dir[s] = down[s];
    }
    push_level(dir, name);
    return true;
}

static void visit(int dir[2], const char *name)
{
    struct object o[2];
    if (!open_object(dir[0], name, 0, &o[0]))
        return;
    if (!open_object(dir[1], name, 1, &o[1])) {
        close(o[0].fd);
        return;
    }
    bool down = compare_object(dir, name, name, o);
    if (down)
        enter(dir, name, o);
    close(o[0].fd);
    close(o[1].fd);
}

static void walk(int dir[2])
{
    push_level(dir, "");
    while (depth > 0) {
        struct names *n = levels[depth - 1].side;
        const char *a = n[0].next < n[0].count ? n[0].list[n[0].next] : NULL;
        const char *b = n[1].next < n[1].count ? n[1].list[n[1].next] : NULL;
        if (!a && !b) {
            pop_level(dir);
            continue;
        }
        int order = !a ? 1 : !b ? -1 : strcmp(a, b);
        n[0].next += order <= 0;
        n[1].next += order >= 0;
        if (order)
            differ(NAME, order < 0 ? a : b, "only in %c", sides[order > 0]);
        else
            visit(dir, a);
    }
}

static void compare_roots(const int dir[2])
{
    struct object o[2];
    if (!open_object(dir[0], ".", 0, &o[0]) || !open_object(dir[1], ".", 1, &o[1]))
        exit(2);
    compare_object(dir, ".", NULL, o);
    close(o[0].fd);
    close(o[1].fd);
}

/* --- command line -----------------------------------------------------------------------------*/

__attribute__((noreturn)) static void usage(void)
{
    fputs("usage: treecmp [--ignore LIST] [--no-extents] [--slack BYTES] [--skip-holes] [--quiet] "
          "A B\n",
          stderr);
    exit(2);
}

static void ignore_one(const char *name)
{
    if (!strncmp(name, "xattr=", 6)) {
        if (options.ignored_xattr_count == sizeof options.ignored_xattrs / sizeof(char *))
            usage();
        options.ignored_xattrs[options.ignored_xattr_count++] = name + 6;
        return;
    }
    for (int i = MODE; i < NAME; i++) {
        if (!strcmp(name, attribute_names[i])) {
            options.ignored[i] = true;
            return;
        }
    }
    fprintf(stderr, "treecmp: no attribute '%s' to ignore\n", name);
    exit(2);
}

static int parse_options(int argc, char **argv)
{
    int i = 1;
    for (; i < argc && !strncmp(argv[i], "--", 2); i++) {
        if (!strcmp(argv[i], "--no-extents")) {
            options.ignored[EXTENTS] = true;
        } else if (!strcmp(argv[i], "--skip-holes")) {
            options.skip_holes = true;
        } else if (!strcmp(argv[i], "--quiet")) {
            options.quiet = true;
        } else if (!strcmp(argv[i], "--ignore") && i + 1 < argc) {
            char *rest = argv[++i];
            for (char *name; (name = strsep(&rest, ","));)
                ignore_one(name);
        } else if (!strcmp(argv[i], "--slack") && i + 1 < argc) {
            char *end;
            options.slack = strtoull(argv[++i], &end, 10);
            if (*end || !*argv[i])
                usage();
        } else {
            usage();
        }
    }
    if (argc - i != 2)
        usage();
    return i;
}

int main(int argc, char **argv)
{
    int first = parse_options(argc, argv);
    int dir[2];
    for (int s = 0; s < 2; s++) {
        dir[s] = open(argv[first + s], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (dir[s] < 0)
            give_up(argv[first + s]);
    }
    compare_roots(dir);
    walk(dir);
    for (int s = 0; s < 2; s++) {
        for (size_t i = 0; i < link_maps[s].room; i++)
            free(link_maps[s].slots[i].path);
        free(link_maps[s].slots);
        close(dir[s]);
    }
    free(levels);
    printf("treecmp: %" PRIu64 " compared, %" PRIu64 " differences, %" PRIu64 " errors\n", compared,
           differences, errors);
    if (fflush(stdout) || ferror(stdout))
        return 2;
    return errors ? 2 : differences ? 1 : 0;
}
