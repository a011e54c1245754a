/* SPDX-License-Identifier: Apache-2.0 */
/*
 * selfwork: a small store that does right what the harness is there to test, and its check.
 *
 * Transaction N writes three packs under temporary names, makes them durable, gives them their
 * names in packs/, makes the names durable, writes log/N (which lists the packs) in the same way,
 * and only then sets the mark N. Level `file` syncs each pack, level `filesystem` calls syncfs.
 *
 * Usage: selfwork run DIR COUNT file|filesystem [no-fsync|no-dirsync|early-mark]
 *        selfwork check DIR MARKS
 * The check holds when each mark has its log entry, and each log entry, marked or not, is whole and
 * all its packs are. The last argument of `run` is a mutant that the harness must catch.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PACKS 3u
#define PACK_MAX_BYTES 300000u

enum mutant { RIGHT, NO_FSYNC, NO_DIRSYNC, EARLY_MARK };

struct store {
    int root, packs, log;
    bool filesystem;
    enum mutant mutant;
};

__attribute__((noreturn, format(printf, 1, 2))) static void fail(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    putchar('\n');
    exit(1);
}

static uint64_t mix(uint64_t z)
{
    z += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* The bytes of a pack follow from its number. Returns the length. */
static size_t pack_bytes(unsigned n, unsigned pack, uint8_t *out)
{
    uint64_t state = mix((uint64_t)n * PACKS + pack);
    size_t length = 1 + state % PACK_MAX_BYTES;
    for (size_t i = 0; i < length; i++) {
        if (i % 8 == 0)
            state = mix(state);
        out[i] = (uint8_t)(state >> (i % 8 * 8));
    }
    return length;
}

static size_t entry_text(unsigned n, char *out, size_t room)
{
    return (size_t)snprintf(out, room, "entry %u packs %u-0 %u-1 %u-2 end\n", n, n, n, n);
}

static void check_call(int rc, const char *what)
{
    if (rc)
        fail("%s: %s", what, strerror(errno));
}

static int write_file(const struct store *s, const char *name, const void *data, size_t length)
{
    int fd = openat(s->root, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, data, length) != (ssize_t)length)
        fail("write %s: %s", name, strerror(errno));
    return fd;
}

static void sync_dir(const struct store *s, int fd)
{
    if (s->mutant != NO_DIRSYNC)
        check_call(fsync(fd), "fsync of a directory");
}

static void write_packs(const struct store *s, unsigned n)
{
    static uint8_t bytes[PACK_MAX_BYTES];
    char temporary[32], name[32];
    for (unsigned p = 0; p < PACKS; p++) {
        snprintf(temporary, sizeof temporary, "tmp-%u", p);
        int fd = write_file(s, temporary, bytes, pack_bytes(n, p, bytes));
        if (!s->filesystem && s->mutant != NO_FSYNC)
            check_call(p % 2 ? fdatasync(fd) : fsync(fd), "fsync");
        close(fd);
    }
    if (s->filesystem && s->mutant != NO_FSYNC)
        check_call(syncfs(s->root), "syncfs");
    for (unsigned p = 0; p < PACKS; p++) {
        snprintf(temporary, sizeof temporary, "tmp-%u", p);
        snprintf(name, sizeof name, "%u-%u", n, p);
        check_call(renameat(s->root, temporary, s->packs, name), "rename");
    }
    sync_dir(s, s->packs);
}

static void write_entry(const struct store *s, unsigned n)
{
    char text[128], name[32];
    snprintf(name, sizeof name, "%u", n);
    int fd = write_file(s, "tmp-entry", text, entry_text(n, text, sizeof text));
    if (s->mutant != NO_FSYNC)
        check_call(fsync(fd), "fsync");
    close(fd);
    if (n % 2) {
        check_call(linkat(s->root, "tmp-entry", s->log, name, 0), "link");
        check_call(unlinkat(s->root, "tmp-entry", 0), "unlink");
    } else {
        check_call(renameat2(s->root, "tmp-entry", s->log, name, RENAME_NOREPLACE), "rename");
    }
    sync_dir(s, s->log);
}

static void set_mark(unsigned n)
{
    const char *path = getenv("POWERCUT_MARK_FILE");
    int fd = path ? open(path, O_WRONLY | O_CLOEXEC) : -1;
    if (fd < 0 || dprintf(fd, "%u", n) < 0)
        fail("cannot set a mark: %s", strerror(errno));
    close(fd);
}

static enum mutant parse_mutant(const char *name)
{
    static const char *const names[] = {"right", "no-fsync", "no-dirsync", "early-mark"};
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(name, names[i]))
            return (enum mutant)i;
    fail("unknown mutant %s", name);
}

static struct store open_store(const char *path, bool create)
{
    struct store s = {.root = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
    if (create && (mkdirat(s.root, "packs", 0700) || mkdirat(s.root, "log", 0700) || fsync(s.root)))
        fail("cannot create a store in %s: %s", path, strerror(errno));
    s.packs = openat(s.root, "packs", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    s.log = openat(s.root, "log", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return s;
}

static int run(int argc, char **argv)
{
    if (argc < 3)
        fail("run DIR COUNT file|filesystem [MUTANT]");
    struct store s = open_store(argv[0], true);
    unsigned count = (unsigned)strtoul(argv[1], NULL, 10);
    s.filesystem = !strcmp(argv[2], "filesystem");
    s.mutant = argc > 3 ? parse_mutant(argv[3]) : RIGHT;
    for (unsigned n = 0; n < count; n++) {
        if (s.mutant == EARLY_MARK)
            set_mark(n);
        write_packs(&s, n);
        write_entry(&s, n);
        if (s.mutant != EARLY_MARK)
            set_mark(n);
    }
    return 0;
}

static void check_file(int dir, const char *name, const void *want, size_t length)
{
    static uint8_t bytes[PACK_MAX_BYTES + 1];
    int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        fail("%s is lost: %s", name, strerror(errno));
    ssize_t n = read(fd, bytes, sizeof bytes);
    close(fd);
    if (n < 0)
        fail("%s cannot be read: %s", name, strerror(errno));
    if ((size_t)n != length)
        fail("%s has %zd bytes instead of %zu", name, n, length);
    if (memcmp(bytes, want, length))
        fail("%s holds other bytes", name);
}

static void check_entry(const struct store *s, unsigned n)
{
    static uint8_t bytes[PACK_MAX_BYTES];
    char text[128], name[32];
    snprintf(name, sizeof name, "%u", n);
    check_file(s->log, name, text, entry_text(n, text, sizeof text));
    for (unsigned p = 0; p < PACKS; p++) {
        snprintf(name, sizeof name, "%u-%u", n, p);
        check_file(s->packs, name, bytes, pack_bytes(n, p, bytes));
    }
}

static int check(int argc, char **argv)
{
    if (argc != 2)
        fail("check DIR MARKS");
    FILE *marks = fopen(argv[1], "r");
    if (!marks)
        fail("cannot open %s", argv[1]);
    struct store s = open_store(argv[0], false);
    unsigned n;
    while (fscanf(marks, "%u", &n) == 1)
        check_entry(&s, n);
    fclose(marks);
    DIR *d = s.log >= 0 ? fdopendir(s.log) : NULL;
    for (struct dirent *e; d && (e = readdir(d));)
        if (e->d_name[0] != '.')
            check_entry(&s, (unsigned)strtoul(e->d_name, NULL, 10));
    return 0;
}

int main(int argc, char **argv)
{
    if (argc > 2 && !strcmp(argv[1], "run"))
        return run(argc - 2, argv + 2);
    if (argc > 2 && !strcmp(argv[1], "check"))
        return check(argc - 2, argv + 2);
    fail("usage: selfwork run|check ...");
}
