/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replay: builds the image that a disk holds after a power cut from the log of blocklog.
 *
 * A cut is POSITION:SEED:MODE:TEAR.
 *   POSITION  how many records of the log the disk had seen
 *   SEED      of the choices below
 *   MODE      none, all, late or a number p from 0 to 100
 *   TEAR      0, 512 or 4096: size of the sector that is written whole or not at all
 *
 * Everything above the last FLUSH before POSITION is applied. What follows it sat in the volatile
 * cache: `none` of it survives, `all` of it, only some of the younger half (`late`), or each write
 * with p percent. A survivor is torn with one chance in three: a prefix of its sectors, or each
 * sector by a coin. Between two flushes a disk may write in any order, but a sector ends up with
 * the bytes of one of its writes; a subset applied in the order of the log reaches each such state.
 *
 * Usage:
 *   replay LOG dump                          one line for each record
 *   replay LOG info [FROM-MARK TO-MARK]      written and zeroed bytes, flushes
 *   replay LOG verify IMAGE                  does the whole log give exactly IMAGE?
 *   replay LOG plan CUTS SEED                cuts between the marks powercut:begin and powercut:end
 *   replay LOG build CUT BASE OUT MARKS [OFFSET:LENGTH...]
 *                                            image OUT and the list of marks before the cut. BASE
 *                                            is kept between calls (state at a flush), so ascending
 *                                            cuts cost only what lies between them. In the ranges
 *                                            given a write is not torn below 4096 bytes.
 * Exit status: 0, 1 (verify: they differ), 2 (error).
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "powercut_log.h"

#define COPY_BYTES (1u << 20)
#define BLOCK 4096u
#define INTERNAL "powercut:"

struct log {
    const struct pc_record *r;
    uint64_t count;
    const uint8_t *data;
    uint64_t data_bytes;
    uint64_t image_bytes;
};

struct range {
    uint64_t offset, length;
};

struct cut {
    uint64_t position;
    uint64_t seed;
    char mode[8];
    uint64_t tear;
};

__attribute__((noreturn, format(printf, 1, 2))) static void fail(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fputs("replay: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    exit(2);
}

static uint64_t rng_next(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* 0 <= result < n; n is small against 2^64, the bias does not matter here. */
static uint64_t rng_below(uint64_t *state, uint64_t n)
{
    return n ? rng_next(state) % n : 0;
}

static const void *map_file(const char *directory, const char *name, uint64_t *size)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat st;
    if (fd < 0 || fstat(fd, &st))
        fail("cannot open %s: %s", path, strerror(errno));
    *size = (uint64_t)st.st_size;
    void *p = NULL;
    if (st.st_size > 0) {
        p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (p == MAP_FAILED)
            fail("cannot map %s: %s", path, strerror(errno));
    }
    close(fd);
    return p;
}

static struct log log_open(const char *directory)
{
    struct log l = {0};
    uint64_t bytes;
    l.r = map_file(directory, "ops.bin", &bytes);
    l.count = bytes / sizeof *l.r;
    l.data = map_file(directory, "data.bin", &l.data_bytes);
    for (uint64_t i = 0; i < l.count; i++) {
        const struct pc_record *r = &l.r[i];
        if (r->magic != PC_MAGIC || r->seq != i)
            fail("record %" PRIu64 " of the log is damaged", i);
        bool has_data = r->type == PC_WRITE || r->type == PC_MARK;
        if (has_data && (r->data_pos > l.data_bytes || r->length > l.data_bytes - r->data_pos))
            fail("the data of record %" PRIu64 " is missing", i);
    }
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/size", directory);
    FILE *f = fopen(path, "r");
    if (!f || fscanf(f, "%" SCNu64, &l.image_bytes) != 1)
        fail("cannot read the size of the image from %s", path);
    fclose(f);
    return l;
}

static const char *mark_name(const struct log *l, uint64_t i, char buf[PC_MARK_MAX_BYTES + 1])
{
    size_t n = l->r[i].length <= PC_MARK_MAX_BYTES ? (size_t)l->r[i].length : 0;
    memcpy(buf, l->data + l->r[i].data_pos, n);
    buf[n] = '\0';
    return buf;
}

static bool is_internal(const char *name)
{
    return !strncmp(name, INTERNAL, strlen(INTERNAL));
}

static uint64_t find_mark(const struct log *l, const char *name)
{
    char buf[PC_MARK_MAX_BYTES + 1];
    for (uint64_t i = 0; i < l->count; i++)
        if (l->r[i].type == PC_MARK && !strcmp(mark_name(l, i, buf), name))
            return i;
    fail("the log has no mark %s", name);
}

static void write_range(int fd, const uint8_t *p, uint64_t length, uint64_t offset)
{
    while (length > 0) {
        ssize_t n = pwrite(fd, p, length, (off_t)offset);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            fail("cannot write the image: %s", strerror(errno));
        p += n;
        offset += (uint64_t)n;
        length -= (uint64_t)n;
    }
}

static void zero_range(int fd, uint64_t offset, uint64_t length)
{
    if (length &&
        fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)offset, (off_t)length))
        fail("cannot punch a hole into the image: %s", strerror(errno));
}

static void apply_part(const struct log *l, const struct pc_record *r, int fd, uint64_t from,
                       uint64_t to)
{
    if (r->type == PC_WRITE)
        write_range(fd, l->data + r->data_pos + from, to - from, r->offset + from);
    else if (r->type == PC_ZERO)
        zero_range(fd, r->offset + from, to - from);
}

static void apply_whole(const struct log *l, uint64_t from, uint64_t to, int fd)
{
    for (uint64_t i = from; i < to; i++)
        apply_part(l, &l->r[i], fd, 0, l->r[i].length);
}

static uint64_t sector_at(uint64_t offset, uint64_t tear, const struct range *atomic, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (offset >= atomic[i].offset && offset - atomic[i].offset < atomic[i].length)
            return 4096;
    return tear;
}

/* Sectors are those of the disk: they are aligned to the offset in the image, not to the write. */
static void apply_torn(const struct log *l, const struct pc_record *r, int fd, uint64_t tear,
                       const struct range *atomic, size_t atomics, uint64_t *rng)
{
    bool prefix = rng_below(rng, 2);
    uint64_t stop = rng_below(rng, r->length + 1);
    if (r->type == PC_ZERO) { /* may be as long as the disk: a prefix in whole blocks will do */
        apply_part(l, r, fd, 0, stop - stop % 4096);
        return;
    }
    for (uint64_t at = 0; at < r->length;) {
        uint64_t sector = sector_at(r->offset + at, tear, atomic, atomics);
        uint64_t next = at + sector - (r->offset + at) % sector;
        if (next > r->length)
            next = r->length;
        if (prefix ? next <= stop : rng_below(rng, 2))
            apply_part(l, r, fd, at, next);
        at = next;
    }
}

static bool survives(const struct cut *c, uint64_t i, uint64_t from, uint64_t *rng)
{
    if (!strcmp(c->mode, "none"))
        return false;
    if (!strcmp(c->mode, "all"))
        return true;
    uint64_t roll = rng_below(rng, 100);
    if (!strcmp(c->mode, "late"))
        return i >= from + (c->position - from) / 2 && roll < 75;
    return roll < strtoull(c->mode, NULL, 10);
}

static void apply_volatile(const struct log *l, const struct cut *c, uint64_t from, int fd,
                           const struct range *atomic, size_t atomics)
{
    uint64_t rng = c->seed;
    for (uint64_t i = from; i < c->position; i++) {
        const struct pc_record *r = &l->r[i];
        if ((r->type != PC_WRITE && r->type != PC_ZERO) || !survives(c, i, from, &rng))
            continue;
        if (c->tear && strcmp(c->mode, "all") && rng_below(&rng, 3) == 0)
            apply_torn(l, r, fd, c->tear, atomic, atomics, &rng);
        else
            apply_part(l, r, fd, 0, r->length);
    }
}

static int open_image(const char *path, bool empty, uint64_t size)
{
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | (empty ? O_TRUNC : 0), 0600);
    if (fd < 0 || ftruncate(fd, (off_t)size))
        fail("cannot create %s: %s", path, strerror(errno));
    return fd;
}

/* The position that BASE stands at lies beside it; a BASE that is too new is made anew. */
static int advance_base(const struct log *l, const char *base, uint64_t durable)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s.position", base);
    uint64_t at = 0;
    FILE *f = fopen(path, "r");
    if (f) {
        if (fscanf(f, "%" SCNu64, &at) != 1)
            at = 0;
        fclose(f);
        unlink(path);
    }
    if (at > durable)
        at = 0;
    int fd = open_image(base, at == 0, l->image_bytes);
    apply_whole(l, at, durable, fd);
    f = fopen(path, "w");
    if (!f || fprintf(f, "%" PRIu64 "\n", durable) < 0 || fclose(f))
        fail("cannot write %s: %s", path, strerror(errno));
    return fd;
}

static void copy_data(int from, int to, uint64_t size)
{
    uint8_t *buf = malloc(COPY_BYTES);
    if (!buf)
        fail("out of memory");
    for (uint64_t at = 0; at < size;) {
        off_t data = lseek(from, (off_t)at, SEEK_DATA);
        if (data < 0)
            break;
        off_t hole = lseek(from, data, SEEK_HOLE);
        for (at = (uint64_t)data; at < (uint64_t)hole;) {
            uint64_t want = (uint64_t)hole - at < COPY_BYTES ? (uint64_t)hole - at : COPY_BYTES;
            ssize_t n = pread(from, buf, want, (off_t)at);
            if (n <= 0)
                fail("cannot read the image: %s", strerror(errno));
            write_range(to, buf, (uint64_t)n, at);
            at += (uint64_t)n;
        }
    }
    free(buf);
}

static struct cut parse_cut(const struct log *l, const char *text)
{
    struct cut c;
    if (sscanf(text, "%" SCNu64 ":%" SCNu64 ":%7[a-z0-9]:%" SCNu64, &c.position, &c.seed, c.mode,
               &c.tear) != 4)
        fail("'%s' is not POSITION:SEED:MODE:TEAR", text);
    if (c.position > l->count)
        fail("the log has only %" PRIu64 " records", l->count);
    if (c.tear != 0 && c.tear != 512 && c.tear != 4096)
        fail("TEAR is 0, 512 or 4096");
    return c;
}

static void write_marks(const struct log *l, uint64_t position, const char *path)
{
    char buf[PC_MARK_MAX_BYTES + 1];
    FILE *f = fopen(path, "w");
    if (!f)
        fail("cannot create %s: %s", path, strerror(errno));
    for (uint64_t i = 0; i < position; i++)
        if (l->r[i].type == PC_MARK && !is_internal(mark_name(l, i, buf)))
            fprintf(f, "%s\n", buf);
    if (fclose(f))
        fail("cannot write %s: %s", path, strerror(errno));
}

static int cmd_build(const struct log *l, int argc, char **argv)
{
    struct range atomic[16];
    size_t atomics = 0;
    if (argc < 4)
        fail("build CUT BASE OUT MARKS [OFFSET:LENGTH...]");
    for (int i = 4; i < argc && atomics < sizeof atomic / sizeof *atomic; i++, atomics++)
        if (sscanf(argv[i], "%" SCNu64 ":%" SCNu64, &atomic[atomics].offset,
                   &atomic[atomics].length) != 2)
            fail("'%s' is not OFFSET:LENGTH", argv[i]);
    struct cut c = parse_cut(l, argv[0]);
    uint64_t durable = c.position;
    while (durable > 0 && l->r[durable - 1].type != PC_FLUSH)
        durable--;

    int base = advance_base(l, argv[1], durable);
    int out = open_image(argv[2], true, l->image_bytes);
    copy_data(base, out, l->image_bytes);
    apply_volatile(l, &c, durable, out, atomic, atomics);
    write_marks(l, c.position, argv[3]);
    close(base);
    close(out);
    return 0;
}

/* `touched` has a byte for each BLOCK of the image that may be other than zero. */
static void apply_in_memory(const struct log *l, uint8_t *image, uint8_t *touched)
{
    for (uint64_t i = 0; i < l->count; i++) {
        const struct pc_record *r = &l->r[i];
        if (r->type != PC_WRITE && r->type != PC_ZERO)
            continue;
        uint64_t end = r->offset + r->length;
        for (uint64_t at = r->offset; at < end;) {
            uint64_t next = at + BLOCK - at % BLOCK < end ? at + BLOCK - at % BLOCK : end;
            if (r->type == PC_WRITE) {
                memcpy(image + at, l->data + r->data_pos + (at - r->offset), next - at);
                touched[at / BLOCK] = 1;
            } else if (touched[at / BLOCK]) {
                memset(image + at, 0, next - at);
            }
            at = next;
        }
    }
}

static int cmd_verify(const struct log *l, int argc, char **argv)
{
    static const uint8_t zeros[BLOCK];
    if (argc != 1)
        fail("verify IMAGE");
    uint8_t *image = mmap(NULL, l->image_bytes, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    uint8_t *touched = calloc(l->image_bytes / BLOCK + 1, 1);
    uint8_t buf[BLOCK];
    int fd = open(argv[0], O_RDONLY | O_CLOEXEC);
    if (image == MAP_FAILED || !touched || fd < 0)
        fail("cannot open %s: %s", argv[0], strerror(errno));
    apply_in_memory(l, image, touched);
    uint64_t data = 0; /* before it, from `at` on, the file has a hole */
    for (uint64_t at = 0; at < l->image_bytes; at += BLOCK) {
        if (data < at + BLOCK) {
            off_t found = lseek(fd, (off_t)at, SEEK_DATA);
            data = found < 0 ? l->image_bytes : (uint64_t)found;
        }
        if (!touched[at / BLOCK] && data >= at + BLOCK)
            continue;
        uint64_t want = l->image_bytes - at < BLOCK ? l->image_bytes - at : BLOCK;
        if (pread(fd, buf, want, (off_t)at) != (ssize_t)want)
            fail("cannot read %s", argv[0]);
        if (memcmp(buf, touched[at / BLOCK] ? image + at : zeros, want)) {
            printf("the log does not give the image near offset %" PRIu64 "\n", at);
            return 1;
        }
    }
    free(touched);
    return 0;
}

static int cmd_info(const struct log *l, int argc, char **argv)
{
    uint64_t from = argc == 2 ? find_mark(l, argv[0]) : 0;
    uint64_t to = argc == 2 ? find_mark(l, argv[1]) : l->count;
    uint64_t written = 0, zeroed = 0, flushes = 0;
    for (uint64_t i = from; i < to; i++) {
        written += l->r[i].type == PC_WRITE ? l->r[i].length : 0;
        zeroed += l->r[i].type == PC_ZERO ? l->r[i].length : 0;
        flushes += l->r[i].type == PC_FLUSH;
    }
    printf("%" PRIu64 " %" PRIu64 " %" PRIu64 "\n", written, zeroed, flushes);
    return 0;
}

static int cmd_dump(const struct log *l)
{
    char buf[PC_MARK_MAX_BYTES + 1];
    for (uint64_t i = 0; i < l->count; i++) {
        const struct pc_record *r = &l->r[i];
        printf("%" PRIu64 " %c %" PRIu64 " %" PRIu64 " %s\n", i, (int)r->type, r->offset, r->length,
               r->type == PC_MARK ? mark_name(l, i, buf) : "");
    }
    return 0;
}

static int compare_cuts(const void *a, const void *b)
{
    const struct cut *x = a, *y = b;
    return x->position < y->position ? -1 : x->position > y->position;
}

/*
 * Where errors hide: right after something was said to be done, right before the flush that makes
 * it true, and between the two. A quarter of the cuts is uniform over the log.
 */
static uint64_t choose_position(const struct log *l, uint64_t from, uint64_t to,
                                const uint64_t *marks, uint64_t mark_count, uint64_t *rng)
{
    uint64_t how = rng_below(rng, 4);
    if (how == 0 || mark_count == 0)
        return from + rng_below(rng, to - from + 1);
    uint64_t after_mark = marks[rng_below(rng, mark_count)] + 1;
    uint64_t flush = how == 1 ? after_mark : from + rng_below(rng, to - from + 1);
    while (flush < to && l->r[flush].type != PC_FLUSH)
        flush++;
    if (how == 1)
        return after_mark + rng_below(rng, flush - after_mark + 1);
    return how == 2 ? after_mark : flush;
}

static void choose_mode(struct cut *c, uint64_t *rng)
{
    static const char *const modes[] = {"none", "none", "none", "all", "10",
                                        "50",   "50",   "90",   "late"};
    static const uint64_t tears[] = {512, 512, 4096, 0};
    snprintf(c->mode, sizeof c->mode, "%s", modes[rng_below(rng, sizeof modes / sizeof *modes)]);
    c->tear = tears[rng_below(rng, sizeof tears / sizeof *tears)];
}

static int cmd_plan(const struct log *l, int argc, char **argv)
{
    if (argc != 2)
        fail("plan CUTS SEED");
    uint64_t cuts = strtoull(argv[0], NULL, 10), rng = strtoull(argv[1], NULL, 10);
    uint64_t from = find_mark(l, INTERNAL "begin") + 1, to = find_mark(l, INTERNAL "end");
    if (cuts > 10000000)
        fail("too many cuts");
    uint64_t *marks = malloc((size_t)(l->count + 1) * sizeof *marks), mark_count = 0;
    struct cut *plan = malloc((size_t)(cuts + 1) * sizeof *plan);
    if (!marks || !plan)
        fail("out of memory");
    for (uint64_t i = from; i < to; i++)
        if (l->r[i].type == PC_MARK)
            marks[mark_count++] = i;
    for (uint64_t i = 0; i < cuts; i++) {
        plan[i].position = choose_position(l, from, to, marks, mark_count, &rng);
        plan[i].seed = rng_next(&rng) >> 32;
        choose_mode(&plan[i], &rng);
    }
    qsort(plan, cuts, sizeof *plan, compare_cuts);
    for (uint64_t i = 0; i < cuts; i++)
        printf("%" PRIu64 ":%" PRIu64 ":%s:%" PRIu64 "\n", plan[i].position, plan[i].seed,
               plan[i].mode, plan[i].tear);
    printf("%" PRIu64 ":0:all:0\n", to);
    free(marks);
    free(plan);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc < 3)
        fail("usage: replay LOG dump|info|verify|plan|build ...");
    struct log l = log_open(argv[1]);
    for (uint64_t i = 0; i < l.count; i++)
        if (l.r[i].offset > l.image_bytes || l.r[i].length > l.image_bytes - l.r[i].offset)
            fail("record %" PRIu64 " lies outside the image", i);
    if (!strcmp(argv[2], "build"))
        return cmd_build(&l, argc - 3, argv + 3);
    if (!strcmp(argv[2], "plan"))
        return cmd_plan(&l, argc - 3, argv + 3);
    if (!strcmp(argv[2], "verify"))
        return cmd_verify(&l, argc - 3, argv + 3);
    if (!strcmp(argv[2], "info"))
        return cmd_info(&l, argc - 3, argv + 3);
    if (!strcmp(argv[2], "dump"))
        return cmd_dump(&l);
    fail("unknown command %s", argv[2]);
}
