/* SPDX-License-Identifier: Apache-2.0
 *
 * T1: backups at every level, cut at every system call, every combination of what may have reached
 * the disk. What was reported as saved restores; every state opens; no broken snapshot is ever
 * listed. Then the same record with each barrier taken out or moved: each such mutant must be
 * caught.
 *
 * CAIRN_STATES=N: so many random combinations at each cut (default 300; up to 12 loose operations
 * all combinations). Prints how to repeat a failure.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/io.h"
#include "engine/repo.h"
#include "trace.h"

#define BACKUPS 3
#define EXHAUSTIVE_MAX 12

static char scratch[256], source[300], repo_path[300], key_path[300], state_dir[300];
static uint64_t random_state = 88172645463325252u;
static uint64_t states, checks;
static size_t samples = 300;

static uint64_t next_random(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

static void die(const char *what)
{
    (void)fprintf(stderr, "%s: %s\n", what, strerror(errno));
    exit(1);
}

static void write_file(const char *name, size_t len, unsigned seed)
{
    char path[400];
    (void)snprintf(path, sizeof(path), "%s/%s", source, name);
    FILE *f = fopen(path, "w");
    if (f == NULL)
        die(path);
    for (size_t i = 0; i < len; i++)
        (void)fputc((int)(i * 31 + seed * 7 + (i >> 8) * seed), f);
    if (fclose(f) != 0)
        die(path);
}

/* What one snapshot holds: id and a hash of everything in it. */
struct expected {
    struct cairn_id id;
    uint64_t sum;
    int level;
};

struct summing {
    struct cairn_repo *repo;
    const struct cairn_id *id;
    uint64_t sum;
    struct cairn_error *err;
};

static int sum_data(void *ctx, const void *data, size_t len)
{
    struct summing *s = ctx;
    for (size_t i = 0; i < len; i++)
        s->sum = (s->sum ^ ((const uint8_t *)data)[i]) * 1099511628211u;
    return 0;
}

static int sum_entry(void *ctx, const struct cairn_entry_info *info)
{
    struct summing *s = ctx;
    (void)sum_data(s, info->path, info->path_len);
    (void)sum_data(s, &info->mode, sizeof(info->mode));
    return S_ISREG(info->mode)
               ? cairn_snapshot_read(s->repo, s->id, info->path, sum_data, s, s->err)
               : 0;
}

static int sum_snapshot(struct cairn_repo *repo, const struct cairn_id *id, uint64_t *sum,
                        struct cairn_error *err)
{
    struct summing s = {repo, id, 1469598103934665603u, err};
    int status = cairn_snapshot_walk(repo, id, "/", true, sum_entry, &s, err);
    *sum = s.sum;
    return status;
}

static int back_up(struct cairn_repo *repo, int level, struct expected *out)
{
    const char *paths[] = {source};
    const struct cairn_backup_options options = {
        .size = sizeof(options), .paths = paths, .path_count = 1, .level = level};
    struct cairn_backup_result result;
    struct cairn_error err = {0};
    int status = cairn_backup(repo, &options, &result, &err);
    if (status != CAIRN_OK) {
        (void)fprintf(stderr, "backup: %s\n", err.message);
        exit(1);
    }
    out->id = result.snapshot;
    out->level = level;
    return status;
}

/* Records init and three backups of a changing source. The first is always at level file, so that
 * there is an old snapshot that must survive whatever the level under test; the last has a level of
 * its own, because a strong commit must make durable what weak ones before it left. */
static void record(struct trace *trace, int level, int last, struct expected expected[BACKUPS])
{
    const struct cairn_repo_options options = {.size = sizeof(options),
                                               .location = repo_path,
                                               .cache_dir = "/dev/null/none",
                                               .state_dir = state_dir,
                                               .key_file = key_path,
                                               .threads = 2};
    struct cairn_repo *repo = NULL;
    struct cairn_error err = {0};
    char command[2000];
    (void)snprintf(command, sizeof(command), "rm -rf '%s' '%s' '%s' '%s' && mkdir '%s' '%s/d'",
                   source, repo_path, key_path, state_dir, source, source);
    if (system(command) != 0)
        die(command);
    trace_start(trace, repo_path);
    if (cairn_repo_init(&options, NULL, &repo, &err) != CAIRN_OK) {
        (void)fprintf(stderr, "init: %s\n", err.message);
        exit(1);
    }
    trace_mark(trace);
    for (unsigned i = 0; i < BACKUPS; i++) {
        write_file("small", 300 + i, i);
        write_file("d/other", 5000, i == 2 ? 1 : i);
        write_file("large", 20000 * (i + 1), i);
        (void)back_up(repo,
                      i == 0             ? CAIRN_LEVEL_FILE
                      : i + 1 == BACKUPS ? last
                                         : level,
                      &expected[i]);
        trace_mark(trace);
    }
    for (unsigned i = 0; i < BACKUPS; i++) {
        if (sum_snapshot(repo, &expected[i].id, &expected[i].sum, &err) != CAIRN_OK) {
            (void)fprintf(stderr, "reading back: %s\n", err.message);
            exit(1);
        }
    }
    cairn_repo_close(repo);
    trace_stop();
}

#define TRACES 8
static uint8_t keys[TRACES][32];
static const uint8_t *key;

struct listing {
    const struct expected *expected;
    unsigned found;
    bool strange;
    struct cairn_repo *repo;
    unsigned promised;
    char *why;
};

/* Every snapshot that is listed restores, unless the level promises less. */
static int check_snapshot(void *ctx, const struct cairn_snapshot_info *info)
{
    struct listing *l = ctx;
    for (unsigned i = 0; i < BACKUPS; i++) {
        struct cairn_error err = {0};
        uint64_t sum;
        if (memcmp(&info->id, &l->expected[i].id, sizeof(info->id)) != 0)
            continue;
        l->found |= 1u << i;
        bool is_weak = l->expected[i].level < CAIRN_LEVEL_FILESYSTEM;
        int status = sum_snapshot(l->repo, &info->id, &sum, &err);
        if (status == CAIRN_OK && sum != l->expected[i].sum) {
            (void)sprintf(l->why, "snapshot %u has other content", i);
            return 1; /* wrong bytes are wrong at every level */
        }
        if (status != CAIRN_OK && !is_weak) {
            (void)snprintf(l->why, 1100, "snapshot %u is listed but broken: %s", i, err.message);
            return 1;
        }
        return 0;
    }
    (void)sprintf(l->why, "an unknown snapshot is listed");
    return 1;
}

/* promised: bits of the backups that were reported as done. initialised: init was. */
static bool is_good(struct cairn_backend *backend, const struct expected expected[BACKUPS],
                    bool initialised, unsigned promised, char *why)
{
    const struct cairn_credentials credentials = {.key_file_key = key};
    const struct cairn_store_options options = {.backend = backend, .credentials = &credentials};
    struct cairn_repo repo = {.threads = 1, .memory_limit = 128 << 20};
    struct cairn_error err = {0};
    int status = cairn_store_open(&options, &repo.store, &err);
    if (status == CAIRN_NO_REPOSITORY && !initialised)
        return true;
    if (status != CAIRN_OK) {
        (void)snprintf(why, 1100, "it does not open: %s", err.message);
        return false;
    }
    struct listing l = {.expected = expected, .repo = &repo, .why = why};
    status = cairn_snapshot_list(&repo, NULL, check_snapshot, &l, &err);
    if (status == CAIRN_OK && (promised & ~l.found)) {
        (void)snprintf(why, 1100, "a snapshot that was reported as done is not listed");
        status = CAIRN_NOT_FOUND;
    } else if (status != CAIRN_OK && why[0] == '\0') {
        (void)snprintf(why, 1100, "%s", err.message);
    }
    cairn_store_close(repo.store);
    return status == CAIRN_OK;
}

/* Hashes of states already judged good at one cut's promise. */
#define SEEN (1u << 18)
static uint64_t *seen;

static bool judge(const struct trace *trace, const struct choice *choice,
                  const struct expected expected[BACKUPS], bool initialised, unsigned promised,
                  char *why)
{
    uint64_t hash;
    struct cairn_backend *backend = trace_state(trace, choice, &hash);
    states++;
    hash ^= (uint64_t)promised << 1 ^ (initialised ? 0x9e3779b97f4a7c15u : 0);
    hash |= 1;
    size_t slot = (size_t)(hash >> 20) % SEEN;
    if (seen[slot] == hash) {
        cairn_backend_close(backend);
        return true;
    }
    checks++;
    if (!is_good(backend, expected, initialised, promised, why))
        return false;
    seen[slot] = hash;
    return true;
}

/* All states of a cut before operation `count`. false: one is bad. */
static bool cut_at(const struct trace *trace, size_t count, const struct expected expected[BACKUPS],
                   char *why)
{
    bool *durable = calloc(count + 1, sizeof(bool)), *keep = calloc(count + 1, sizeof(bool));
    size_t *loose = calloc(count + 1, sizeof(size_t)), loose_count = 0;
    unsigned promised = 0, marks = 0;
    bool good = true;
    if (durable == NULL || keep == NULL || loose == NULL)
        abort();
    trace_durable(trace, count, durable);
    for (size_t i = 0; i < count; i++) {
        int kind = trace->ops[i].kind;
        if (kind == OP_MARK) {
            if (marks > 0 && expected[marks - 1].level >= CAIRN_LEVEL_METADATA)
                promised |= 1u << (marks - 1);
            marks++;
        }
        if (!durable[i] && kind != OP_MARK && kind != OP_SYNC && kind != OP_SYNCFS)
            loose[loose_count++] = i;
    }
    bool all = loose_count <= EXHAUSTIVE_MAX;
    size_t rounds = all ? (size_t)1 << loose_count : samples;
    for (size_t round = 0; round < rounds && good; round++) {
        struct choice choice = {.count = count, .keep = keep, .torn = SIZE_MAX};
        memcpy(keep, durable, count * sizeof(bool));
        for (size_t k = 0; k < loose_count; k++) {
            bool wanted = all          ? round >> k & 1
                          : round == 0 ? false
                          : round == 1 ? true
                                       : next_random() >> 33 & 1;
            keep[loose[k]] = wanted;
        }
        good = judge(trace, &choice, expected, marks > 0, promised, why);
        /* One write of those that are loose, torn at a sector. */
        if (good && loose_count > 0) {
            size_t torn = loose[next_random() % loose_count];
            if (trace->ops[torn].kind == OP_WRITE) {
                keep[torn] = true;
                choice.torn = torn;
                size_t sector = next_random() & 1 ? 512 : 4096;
                choice.torn_len = next_random() % (trace->ops[torn].len / sector + 1) * sector;
                good = judge(trace, &choice, expected, marks > 0, promised, why);
            }
        }
    }
    free(durable);
    free(keep);
    free(loose);
    return good;
}

/* false: some state is bad; *cut tells where. */
static bool survives(const struct trace *trace, const struct expected expected[BACKUPS],
                     size_t *cut, char *why)
{
    memset(seen, 0, SEEN * sizeof(*seen));
    for (size_t count = 0; count <= trace->count; count++) {
        why[0] = '\0';
        if (!cut_at(trace, count, expected, why)) {
            *cut = count;
            return false;
        }
    }
    return true;
}

/* ---- mutants ------------------------------------------------------------------------------ */

/* Where a node finally lies: its last name and directory. */
static bool lies_in(const struct trace *t, int node, const char *what)
{
    for (size_t i = t->count; i-- > 0;) {
        const struct op *op = &t->ops[i];
        if (op->node != node || (op->kind != OP_RENAME && op->kind != OP_LINK &&
                                 op->kind != OP_CREATE && op->kind != OP_MKDIR))
            continue;
        int dir = op->kind == OP_RENAME || op->kind == OP_LINK ? op->to_dir : op->dir;
        const char *name = op->kind == OP_RENAME || op->kind == OP_LINK ? op->to_name : op->name;
        if (dir == 0)
            return strcmp(name, what) == 0;
        return lies_in(t, dir, what);
    }
    return false;
}

static void remove_op(struct trace *t, size_t at)
{
    memmove(t->ops + at, t->ops + at + 1, (t->count - at - 1) * sizeof(*t->ops));
    t->count--;
}

/* Which: the mark behind which the mutation begins (the first backup is always at level file). */
static size_t after_mark(const struct trace *t, unsigned which)
{
    for (size_t i = 0; i < t->count; i++) {
        if (t->ops[i].kind == OP_MARK && which-- == 0)
            return i;
    }
    return t->count;
}

struct mutant {
    const char *name;
    int level; /* the trace it is made from */
    int kind;  /* operation that is taken out */
    const char *place;
    int is_dir; /* sync of a directory, of a file */
};

static const struct mutant mutants[] = {
    {"no syncfs before packs get their names", CAIRN_LEVEL_FILESYSTEM, OP_SYNCFS, NULL, 0},
    {"no sync of pack directories", CAIRN_LEVEL_FILESYSTEM, OP_SYNC, "packs", 1},
    {"no sync of packs", CAIRN_LEVEL_FILE, OP_SYNC, "packs", 0},
    {"no sync of pack directories at level file", CAIRN_LEVEL_FILE, OP_SYNC, "packs", 1},
    {"no sync of index segments", CAIRN_LEVEL_FILE, OP_SYNC, "index", 0},
    {"no sync of the index directory", CAIRN_LEVEL_FILE, OP_SYNC, "index", 1},
    {"no sync of log entries", CAIRN_LEVEL_FILE, OP_SYNC, "log", 0},
    {"no sync of the log directory", CAIRN_LEVEL_FILE, OP_SYNC, "log", 1},
    {"no sync of index segments at level metadata", CAIRN_LEVEL_METADATA, OP_SYNC, "index", 0},
    {"no sync of log entries at level none", CAIRN_LEVEL_NONE, OP_SYNC, "log", 0},
};

static size_t take_out(struct trace *t, const struct mutant *m)
{
    size_t begin = after_mark(t, 1), removed = 0;
    for (size_t i = begin; i < t->count;) {
        const struct op *op = &t->ops[i];
        bool hit = op->kind == m->kind && (m->place == NULL || (t->is_dir[op->node] == m->is_dir &&
                                                                lies_in(t, op->node, m->place)));
        if (hit) {
            remove_op(t, i);
            removed++;
        } else {
            i++;
        }
    }
    return removed;
}

/* Moves the name of the second backup's log entry before everything that the backup did. */
static bool move_log_first(struct trace *t, const char *place)
{
    size_t begin = after_mark(t, 1) + 1, end = after_mark(t, 2);
    for (size_t i = begin; i < end; i++) {
        struct op op = t->ops[i];
        if (op.kind != OP_RENAME || !lies_in(t, op.node, place))
            continue;
        /* The whole file with it: create, writes, sync, name, sync of the directory. */
        size_t to = begin;
        for (size_t k = begin; k < end; k++) {
            struct op moved = t->ops[k];
            bool is_its = moved.node == op.node ||
                          (moved.kind == OP_SYNC && moved.node == op.to_dir && k > i);
            if (!is_its)
                continue;
            memmove(t->ops + to + 1, t->ops + to, (k - to) * sizeof(*t->ops));
            t->ops[to++] = moved;
        }
        return true;
    }
    return false;
}

static int run_mutants(struct trace traces[TRACES], struct expected expected[TRACES][BACKUPS])
{
    int missed = 0;
    size_t count = sizeof(mutants) / sizeof(mutants[0]);
    for (size_t i = 0; i < count + 4; i++) {
        static const char *const orders[] = {"log entry before packs, level filesystem",
                                             "log entry before packs, level file",
                                             "log entry before the index segment",
                                             "log entry before packs and index, level metadata"};
        static const int order_levels[] = {CAIRN_LEVEL_FILESYSTEM, CAIRN_LEVEL_FILE,
                                           CAIRN_LEVEL_FILE, CAIRN_LEVEL_METADATA};
        struct trace t;
        size_t cut = 0;
        char why[1100] = "";
        int level = i < count ? mutants[i].level : order_levels[i - count];
        const char *name = i < count ? mutants[i].name : orders[i - count];
        key = keys[level];
        trace_copy(&traces[level], &t);
        bool changed = i < count ? take_out(&t, &mutants[i]) > 0 : move_log_first(&t, "log");
        bool caught = changed && !survives(&t, expected[level], &cut, why);
        printf("mutant %-52s %s%s%s\n", name, caught ? "caught: " : "NOT CAUGHT",
               changed ? "" : " (nothing to change)", caught ? why : "");
        missed += !caught;
        free(t.ops);
    }
    return missed;
}

static void read_key(uint8_t out[32])
{
    char text[128];
    FILE *f = fopen(key_path, "r");
    if (f == NULL || fgets(text, sizeof(text), f) == NULL || fgets(text, sizeof(text), f) == NULL)
        die(key_path);
    (void)fclose(f);
    for (int i = 0; i < 32; i++) {
        unsigned byte;
        if (sscanf(text + 2 * i, "%2x", &byte) != 1)
            die("key file");
        out[i] = (uint8_t)byte;
    }
}

int main(void)
{
    static struct trace traces[TRACES];
    static struct expected expected[TRACES][BACKUPS];
    const char *base = getenv("TMPDIR"), *wanted = getenv("CAIRN_STATES");
    int failed = 0;
    if (wanted)
        samples = strtoul(wanted, NULL, 10);
    (void)snprintf(scratch, sizeof(scratch), "%s/cairn-states-XXXXXX", base ? base : "/tmp");
    if (mkdtemp(scratch) == NULL)
        die(scratch);
    (void)snprintf(source, sizeof(source), "%s/source", scratch);
    (void)snprintf(repo_path, sizeof(repo_path), "%s/repo", scratch);
    (void)snprintf(key_path, sizeof(key_path), "%s/key", scratch);
    (void)snprintf(state_dir, sizeof(state_dir), "%s/state", scratch);
    seen = calloc(SEEN, sizeof(*seen));
    if (seen == NULL)
        die("memory");
    for (int level = 1; level < TRACES; level++) {
        static const char *const names[] = {"",
                                            "none",
                                            "metadata",
                                            "filesystem",
                                            "file",
                                            "none, then filesystem",
                                            "metadata, then file",
                                            "none, then file"};
        static const int weak[] = {0,
                                   CAIRN_LEVEL_NONE,
                                   CAIRN_LEVEL_METADATA,
                                   CAIRN_LEVEL_FILESYSTEM,
                                   CAIRN_LEVEL_FILE,
                                   CAIRN_LEVEL_NONE,
                                   CAIRN_LEVEL_METADATA,
                                   CAIRN_LEVEL_NONE};
        static const int last[] = {0,
                                   CAIRN_LEVEL_NONE,
                                   CAIRN_LEVEL_METADATA,
                                   CAIRN_LEVEL_FILESYSTEM,
                                   CAIRN_LEVEL_FILE,
                                   CAIRN_LEVEL_FILESYSTEM,
                                   CAIRN_LEVEL_FILE,
                                   CAIRN_LEVEL_FILE};
        size_t cut = 0;
        char why[1100] = "";
        uint64_t before = states, checked = checks;
        record(&traces[level], weak[level], last[level], expected[level]);
        read_key(keys[level]);
        key = keys[level];
        bool good = survives(&traces[level], expected[level], &cut, why);
        printf(
            "level %-21s %zu operations, %llu states, %llu distinct ones opened and restored: %s\n",
            names[level], traces[level].count, (unsigned long long)(states - before),
            (unsigned long long)(checks - checked), good ? "all good" : "BAD");
        if (!good) {
            printf("  cut before operation %zu: %s\n  again: CAIRN_STATES=%zu %s\n", cut, why,
                   samples, "meson test -C build crash-states");
            failed++;
        }
    }
    (void)fflush(stdout);
    failed += run_mutants(traces, expected);
    char command[300];
    (void)snprintf(command, sizeof(command), "rm -rf '%s'", scratch);
    if (system(command) != 0)
        die(command);
    for (int level = 0; level < TRACES; level++)
        trace_release(&traces[level]);
    free(seen);
    printf("%llu states in all\n", (unsigned long long)states);
    return failed ? 1 : 0;
}
