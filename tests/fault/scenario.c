/* SPDX-License-Identifier: Apache-2.0 */
#include "scenario.h"

#include <ftw.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RENEW_AT 8 /* so many snapshots, and a new repository is made */

const char *const scenario_step_names[STEP_COUNT] = {"init", "backup", "check", "read", "restore"};

void scenario_problem(struct scenario *s, const char *format, ...)
{
    va_list args;
    (void)fprintf(stderr, "%s: ", s->label);
    va_start(args, format);
    (void)vfprintf(stderr, format, args);
    va_end(args);
    (void)fprintf(stderr, "\n");
    if (++s->problems >= 40)
        fixture_die("too many problems");
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path);
}

static void remove_tree(const char *path)
{
    if (access(path, F_OK) == 0 && nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS) != 0)
        fixture_die("cannot remove %s", path);
}

static void change_source(struct scenario *s)
{
    fixture_write(&s->fixture, "small", 1 + fixture_random(&s->random) % 4000,
                  fixture_random(&s->random));
    fixture_write(&s->fixture, "d/large", 150000, fixture_random(&s->random) | 1);
}

void scenario_begin(struct scenario *s, const char *name)
{
    memset(s, 0, sizeof(*s));
    s->random = 88172645463325252u;
    fixture_begin(&s->fixture, name);
    (void)snprintf(s->target, sizeof(s->target), "%s/target", s->fixture.dir);
    fixture_write(&s->fixture, "d/text", 9000, 2);
    change_source(s);
}

void scenario_end(struct scenario *s)
{
    fixture_end(&s->fixture);
}

/* Takes note of what cairn returned. */
static int noted(struct scenario *s, int status, const struct cairn_error *err)
{
    s->by_status[-status & 15]++;
    if (status != CAIRN_OK && (err->status != status || err->message[0] == '\0'))
        scenario_problem(s, "status %s has the error %s \"%s\"", cairn_status_name(status),
                         cairn_status_name(err->status), err->message);
    return status;
}

static int open_it(struct scenario *s, struct cairn_repo **repo, struct cairn_error *err)
{
    return fixture_open(&s->fixture, CAIRN_AEAD_DEFAULT, 1, repo, err);
}

static int run_init(struct scenario *s)
{
    struct cairn_repo *repo = NULL;
    struct cairn_error err = {0};
    int status = fixture_init(&s->fixture, CAIRN_AEAD_DEFAULT, 1, &repo, &err);
    cairn_repo_close(repo);
    return noted(s, status, &err);
}

static int run_backup(struct scenario *s, int level)
{
    struct cairn_repo *repo = NULL;
    struct cairn_error err = {0};
    struct cairn_backup_result result;
    int status = open_it(s, &repo, &err);
    if (status == CAIRN_OK)
        status = fixture_backup(&s->fixture, repo, level, &result, &err);
    cairn_repo_close(repo);
    if (status == CAIRN_OK) {
        s->saved[s->saved_count].id = result.snapshot;
        /* With problems it holds less: verify looks what. */
        s->saved[s->saved_count++].sum = result.problems == 0 ? fixture_sum_source(&s->fixture) : 0;
    }
    return noted(s, status, &err);
}

static int run_check(struct scenario *s)
{
    struct cairn_repo *repo = NULL;
    struct cairn_error err = {0};
    struct cairn_check_result result = {0};
    const struct cairn_check_options options = {.size = sizeof(options), .read_data = true};
    int status = open_it(s, &repo, &err);
    if (status == CAIRN_OK)
        status = cairn_check(repo, &options, &result, &err);
    cairn_repo_close(repo);
    if (status == CAIRN_OK && result.damaged > 0)
        s->by_status[15]++; /* whether that may be is the caller's to say */
    return noted(s, status, &err);
}

static int run_read(struct scenario *s)
{
    struct cairn_repo *repo = NULL;
    struct cairn_error err = {0};
    struct cairn_id id;
    uint64_t sum = 0;
    int status = open_it(s, &repo, &err);
    if (status == CAIRN_OK)
        status = cairn_snapshot_resolve(repo, "latest", NULL, &id, &err);
    if (status == CAIRN_OK)
        status = fixture_sum_snapshot(&s->fixture, repo, &id, &sum, &err);
    cairn_repo_close(repo);
    if (status == CAIRN_OK && sum != s->saved[s->saved_count - 1].sum)
        scenario_problem(s, "wrong bytes were read");
    return noted(s, status, &err);
}

/* Whether the target holds this file of the source. */
static bool is_restored(const struct scenario *s, const struct fixture_file *file)
{
    char path[900];
    (void)snprintf(path, sizeof(path), "%s%s/%s", s->target, s->fixture.source, file->name);
    FILE *in = fopen(path, "r");
    uint8_t *bytes = malloc(file->len + 1);
    if (bytes == NULL)
        fixture_die("out of memory");
    bool is_same = in && fread(bytes, 1, file->len + 1, in) == file->len &&
                   memcmp(bytes, file->bytes, file->len) == 0;
    free(bytes);
    if (in)
        (void)fclose(in);
    return is_same;
}

static int run_restore(struct scenario *s)
{
    struct cairn_repo *repo = NULL;
    struct cairn_error err = {0};
    struct cairn_id id;
    struct cairn_restore_result result = {0};
    const struct cairn_restore_options options = {.size = sizeof(options), .target = s->target};
    int status = open_it(s, &repo, &err);
    if (status == CAIRN_OK)
        status = cairn_snapshot_resolve(repo, "latest", NULL, &id, &err);
    if (status == CAIRN_OK)
        status = cairn_restore(repo, &id, &options, &result, &err);
    cairn_repo_close(repo);
    for (size_t i = 0; status == CAIRN_OK && result.problems == 0 && i < s->fixture.file_count;
         i++) {
        if (!is_restored(s, &s->fixture.files[i]))
            scenario_problem(s, "%s was not restored, and nothing was said",
                             s->fixture.files[i].name);
    }
    return noted(s, status, &err);
}

int scenario_run(struct scenario *s, enum scenario_step step, int level)
{
    switch (step) {
    case STEP_INIT:
        return run_init(s);
    case STEP_BACKUP:
        return run_backup(s, level);
    case STEP_CHECK:
        return run_check(s);
    case STEP_READ:
        return run_read(s);
    default:
        return run_restore(s);
    }
}

void scenario_prepare(struct scenario *s, enum scenario_step step)
{
    bool is_first = s->saved_count == 0 || step == STEP_INIT;
    remove_tree(s->target);
    if (is_first || s->saved_count >= RENEW_AT) {
        remove_tree(s->fixture.repo);
        (void)unlink(s->fixture.key);
        remove_tree(s->fixture.state);
        s->saved_count = 0;
        if (step != STEP_INIT && (run_init(s) != CAIRN_OK || run_backup(s, 0) != CAIRN_OK))
            fixture_die("%s: cannot begin", s->label);
    }
    if (step == STEP_BACKUP)
        change_source(s);
}

static void verify_saved(struct scenario *s, struct cairn_repo *repo)
{
    struct cairn_error err = {0};
    for (size_t i = 0; i < s->saved_count; i++) {
        uint64_t sum;
        if (fixture_sum_snapshot(&s->fixture, repo, &s->saved[i].id, &sum, &err) != CAIRN_OK)
            scenario_problem(s, "a snapshot that was saved does not restore: %s", err.message);
        else if (s->saved[i].sum == 0)
            s->saved[i].sum = sum;
        else if (s->saved[i].sum != sum)
            scenario_problem(s, "a snapshot that was saved has other content");
    }
}

void scenario_verify(struct scenario *s, enum scenario_step step, bool failed)
{
    struct cairn_repo *repo = NULL;
    struct cairn_error err = {0};
    struct cairn_check_result result;
    const struct cairn_check_options options = {.size = sizeof(options)};
    if (step == STEP_INIT && failed) {
        /* A place where init failed may need to be emptied, which is up to the user; likewise the
         * beginning of a key file that could not be removed. */
        if (run_init(s) == CAIRN_OK)
            return;
        remove_tree(s->fixture.repo);
        (void)unlink(s->fixture.key);
        if (run_init(s) != CAIRN_OK)
            scenario_problem(s, "init does not work afterwards");
        return;
    }
    if (failed) {
        remove_tree(s->target);
        if (scenario_run(s, step, 0) != CAIRN_OK)
            scenario_problem(s, "the same does not work afterwards");
    }
    if (open_it(s, &repo, &err) != CAIRN_OK) {
        scenario_problem(s, "it does not open afterwards: %s", err.message);
        return;
    }
    verify_saved(s, repo);
    if (cairn_check(repo, &options, &result, &err) != CAIRN_OK)
        scenario_problem(s, "check fails afterwards: %s", err.message);
    else if (result.damaged > 0)
        scenario_problem(s, "check finds damage afterwards");
    else if (step == STEP_BACKUP && result.orphan_packs > 0)
        scenario_problem(s, "%llu packs without a commit are left afterwards",
                         (unsigned long long)result.orphan_packs);
    cairn_repo_close(repo);
}
