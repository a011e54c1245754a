/* SPDX-License-Identifier: Apache-2.0 */
#include "fixture.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/local.h"
#include "engine/repo.h"

#define FNV_START 1469598103934665603u
#define FNV_PRIME 1099511628211u

/* Contents of one file. */
struct fixture_block {
    struct fixture_block *next;
    uint8_t bytes[];
};

void fixture_die(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    (void)vfprintf(stderr, format, args);
    va_end(args);
    (void)fprintf(stderr, "\n");
    exit(1);
}

void fixture_run(const char *format, ...)
{
    char command[2000];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(command, sizeof(command), format, args);
    va_end(args);
    if (system(command) != 0)
        fixture_die("failed: %s", command);
}

uint64_t fixture_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

uint64_t fixture_setting(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);
    return text && *text ? strtoull(text, NULL, 10) : otherwise;
}

void fixture_begin(struct fixture *f, const char *name)
{
    const char *base = getenv("TMPDIR");
    if (base == NULL || *base == '\0')
        base = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
    memset(f, 0, sizeof(*f));
    (void)snprintf(f->dir, sizeof(f->dir), "%s/cairn-%s-XXXXXX", base, name);
    if (mkdtemp(f->dir) == NULL)
        fixture_die("%s: %s", f->dir, strerror(errno));
    (void)snprintf(f->source, sizeof(f->source), "%s/source", f->dir);
    (void)snprintf(f->repo, sizeof(f->repo), "%s/repo", f->dir);
    (void)snprintf(f->key, sizeof(f->key), "%s/key", f->dir);
    (void)snprintf(f->state, sizeof(f->state), "%s/state", f->dir);
    fixture_run("mkdir '%s' '%s/d' '%s/empty'", f->source, f->source, f->source);
}

void fixture_end(struct fixture *f)
{
    while (f->blocks) {
        struct fixture_block *next = f->blocks->next;
        free(f->blocks);
        f->blocks = next;
    }
    fixture_run("rm -rf '%s'", f->dir);
}

/* The byte at a place of a file with this seed. Even seeds repeat themselves every 64 bytes. */
static uint8_t byte_at(uint64_t seed, size_t at)
{
    uint64_t place = seed & 1 ? at : at % 64;
    uint64_t x = (seed << 32 ^ place) * 0x9e3779b97f4a7c15u;
    x ^= x >> 29;
    x *= 0xbf58476d1ce4e5b9u;
    return (uint8_t)(x >> 40);
}

void fixture_write(struct fixture *f, const char *name, size_t len, uint64_t seed)
{
    char path[400];
    size_t i = 0;
    while (i < f->file_count && strcmp(f->files[i].name, name) != 0)
        i++;
    if (i == FIXTURE_FILES_MAX)
        fixture_die("too many files");
    f->file_count += i == f->file_count;
    (void)snprintf(f->files[i].name, sizeof(f->files[i].name), "%s", name);
    f->files[i].len = len;
    struct fixture_block *block = malloc(sizeof(*block) + len);
    if (block == NULL)
        fixture_die("out of memory");
    block->next = f->blocks;
    f->blocks = block;
    for (size_t at = 0; at < len; at++)
        block->bytes[at] = byte_at(seed, at);
    f->files[i].bytes = block->bytes;
    (void)snprintf(path, sizeof(path), "%s/%s", f->source, name);
    FILE *out = fopen(path, "w");
    if (out == NULL)
        fixture_die("%s: %s", path, strerror(errno));
    if (fwrite(block->bytes, 1, len, out) != len || fclose(out) != 0)
        fixture_die("%s: %s", path, strerror(errno));
}

static uint64_t mix(uint64_t sum, const void *data, size_t len)
{
    const uint8_t *bytes = data;
    for (size_t i = 0; i < len; i++)
        sum = (sum ^ bytes[i]) * FNV_PRIME;
    return sum;
}

uint64_t fixture_sum_source(const struct fixture *f)
{
    uint64_t all = 0;
    for (size_t i = 0; i < f->file_count; i++) {
        uint64_t sum = mix(FNV_START, f->files[i].name, strlen(f->files[i].name));
        all ^= mix(sum, f->files[i].bytes, f->files[i].len);
    }
    return all;
}

struct summing {
    const struct fixture *fixture;
    struct cairn_repo *repo;
    const struct cairn_id *id;
    uint64_t all, sum;
    size_t at, failed, right;
    const struct fixture_file *file; /* what is being read should be this */
    bool wrong;
    struct cairn_error *err;
};

static int sum_data(void *ctx, const void *data, size_t len)
{
    struct summing *s = ctx;
    s->sum = mix(s->sum, data, len);
    return 0;
}

/* The name below the source, or the whole path where it lies elsewhere. */
static const char *below(const struct fixture *f, const char *path)
{
    size_t len = strlen(f->source);
    return strncmp(path, f->source, len) == 0 && path[len] == '/' ? path + len + 1 : path;
}

static int sum_entry(void *ctx, const struct cairn_entry_info *info)
{
    struct summing *s = ctx;
    const char *name = below(s->fixture, info->path);
    if (!S_ISREG(info->mode))
        return 0;
    s->sum = mix(FNV_START, name, strlen(name));
    int status = cairn_snapshot_read(s->repo, s->id, info->path, sum_data, s, s->err);
    s->all ^= s->sum;
    return status;
}

int fixture_sum_snapshot(const struct fixture *f, struct cairn_repo *repo,
                         const struct cairn_id *id, uint64_t *sum, struct cairn_error *err)
{
    struct summing s = {.fixture = f, .repo = repo, .id = id, .err = err};
    int status = cairn_snapshot_walk(repo, id, "/", true, sum_entry, &s, err);
    *sum = s.all;
    return status;
}

static int judge_data(void *ctx, const void *data, size_t len)
{
    struct summing *s = ctx;
    if (len > s->file->len - s->at || memcmp(data, s->file->bytes + s->at, len) != 0)
        s->wrong = true;
    else
        s->at += len;
    return 0;
}

static int judge_entry(void *ctx, const struct cairn_entry_info *info)
{
    struct summing *s = ctx;
    const char *name = below(s->fixture, info->path);
    if (!S_ISREG(info->mode))
        return 0;
    s->file = NULL;
    for (size_t i = 0; i < s->fixture->file_count; i++) {
        if (strcmp(s->fixture->files[i].name, name) == 0)
            s->file = &s->fixture->files[i];
    }
    if (s->file == NULL) {
        s->wrong = true;
        return 0;
    }
    s->at = 0;
    int status = cairn_snapshot_read(s->repo, s->id, info->path, judge_data, s, NULL);
    if (status != CAIRN_OK)
        s->failed++;
    else if (s->wrong || s->at != s->file->len)
        s->wrong = true;
    else
        s->right++;
    return 0;
}

bool fixture_judge_files(const struct fixture *f, struct cairn_repo *repo,
                         const struct cairn_id *id, size_t *failed, size_t *right)
{
    struct summing s = {.fixture = f, .repo = repo, .id = id};
    int status = cairn_snapshot_walk(repo, id, "/", true, judge_entry, &s, NULL);
    *failed = s.failed + (status != CAIRN_OK);
    *right = s.right;
    if (status == CAIRN_OK && s.failed == 0 && s.right != f->file_count)
        s.wrong = true; /* something is missing, and nobody said so */
    return !s.wrong;
}

static struct cairn_repo_options options_of(const struct fixture *f, int aead, unsigned threads)
{
    return (struct cairn_repo_options){.size = sizeof(struct cairn_repo_options),
                                       .location = f->repo,
                                       .cache_dir = "/dev/null/none",
                                       .state_dir = f->state,
                                       .key_file = aead == CAIRN_AEAD_NONE ? NULL : f->key,
                                       .threads = threads};
}

static int trusting(int status, struct cairn_repo **repo)
{
    if (status == CAIRN_OK)
        cairn_local_backend_trust_syncfs(cairn_store_backend((*repo)->store), true);
    return status;
}

int fixture_init(const struct fixture *f, int aead, unsigned threads, struct cairn_repo **out,
                 struct cairn_error *err)
{
    const struct cairn_repo_options options = options_of(f, aead, threads);
    const struct cairn_init_options init = {
        .size = sizeof(init), .aead = aead, .chunk_size = 64 << 10};
    return trusting(cairn_repo_init(&options, &init, out, err), out);
}

int fixture_open(const struct fixture *f, int aead, unsigned threads, struct cairn_repo **out,
                 struct cairn_error *err)
{
    const struct cairn_repo_options options = options_of(f, aead, threads);
    return trusting(cairn_repo_open(&options, out, err), out);
}

int fixture_backup(const struct fixture *f, struct cairn_repo *repo, int level,
                   struct cairn_backup_result *result, struct cairn_error *err)
{
    const char *paths[] = {f->source};
    const struct cairn_backup_options options = {
        .size = sizeof(options), .paths = paths, .path_count = 1, .host = "host", .level = level};
    return cairn_backup(repo, &options, result, err);
}

void fixture_read_key(const struct fixture *f, uint8_t out[32])
{
    char text[128];
    FILE *in = fopen(f->key, "r");
    if (in == NULL || fgets(text, sizeof(text), in) == NULL ||
        fgets(text, sizeof(text), in) == NULL)
        fixture_die("cannot read %s", f->key);
    (void)fclose(in);
    for (int i = 0; i < 32; i++) {
        unsigned byte;
        if (sscanf(text + 2 * i, "%2x", &byte) != 1)
            fixture_die("not a key file: %s", f->key);
        out[i] = (uint8_t)byte;
    }
}
