/* SPDX-License-Identifier: Apache-2.0
 *
 * Backups that are killed at random system calls, before, behind or in the middle of the call, a
 * share of them between the first complete pack and the log entry, at every level; some of the
 * backups that follow are killed too. After each: everything reported as saved restores, check
 * finds no damage, the next backup works without anybody's help, takes on what was complete, leaves
 * nothing of the dead behind, and its snapshot restores.
 *
 * CAIRN_KILLS=N: so many rounds (default 200); CAIRN_SEED=N repeats a run (but for the order of its
 * threads).
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../../fault/faults.h"
#include "../../fault/fixture.h"
#include "base/hex.h"

#define ROUNDS_PER_REPOSITORY 8
#define SAVED_MAX 64
#define THREADS 2
#define LARGE_BYTES 200000
#define TAIL 12 /* calls behind the log entry's name that are killed as if they belonged to it */

static struct fixture fixture;
static uint64_t random_state, seed, round_number;
static char history[400]; /* what was done in this round, for the message of a failure */

/* Snapshots that were reported as done, and what they hold. */
static struct {
    struct cairn_id id;
    uint64_t sum;
} saved[SAVED_MAX];
static size_t saved_count;

static const char *const level_names[] = {"default", "none", "metadata", "filesystem", "file"};

static struct {
    unsigned kills, in_window, finished, unreported, adopted, orphans, doubled, at_level[5];
} stats;

static _Noreturn void fail(const char *what, const char *message)
{
    (void)fprintf(stderr,
                  "round %llu (%s): %s%s%s\n  the scratch directory %s was left as it is\n"
                  "  again: CAIRN_SEED=%llu meson test -C build crash-kill\n",
                  (unsigned long long)round_number, history, what, *message ? ": " : "", message,
                  fixture.dir, (unsigned long long)seed);
    exit(1);
}

static void change_source(void)
{
    fixture_write(&fixture, "small", 1 + fixture_random(&random_state) % 5000,
                  fixture_random(&random_state));
    fixture_write(&fixture, "d/other", 20000, fixture_random(&random_state));
    fixture_write(&fixture, "d/large", LARGE_BYTES, fixture_random(&random_state) | 1);
    fixture_write(&fixture, "large", LARGE_BYTES, fixture_random(&random_state) | 1);
}

/* A new repository with one snapshot. */
static void new_repository(void)
{
    struct cairn_repo *repo = NULL;
    struct cairn_backup_result result;
    struct cairn_error err = {0};
    fixture_run("rm -rf '%s' '%s' '%s'", fixture.repo, fixture.key, fixture.state);
    faults_begin(NULL);
    if (fixture_init(&fixture, CAIRN_AEAD_DEFAULT, THREADS, &repo, &err) != CAIRN_OK ||
        fixture_backup(&fixture, repo, 0, &result, &err) != CAIRN_OK)
        fail("cannot begin", err.message);
    cairn_repo_close(repo);
    saved_count = 1;
    saved[0].id = result.snapshot;
    saved[0].sum = fixture_sum_source(&fixture);
}

/* What the child says when its backup is done. */
struct report {
    struct cairn_id id;
    struct faults_counts counts;
};

static void child(const struct faults_plan *plan, int level, int out)
{
    struct cairn_repo *repo = NULL;
    struct cairn_backup_result result;
    struct cairn_error err = {0};
    struct report report;
    faults_begin(plan);
    if (fixture_open(&fixture, CAIRN_AEAD_DEFAULT, THREADS, &repo, &err) != CAIRN_OK ||
        fixture_backup(&fixture, repo, level, &result, &err) != CAIRN_OK) {
        (void)fprintf(stderr, "%s\n", err.message);
        _exit(1);
    }
    report.id = result.snapshot;
    memset(&report.counts, 0, sizeof(report.counts));
    if (write(out, &report, sizeof(report)) != sizeof(report))
        _exit(1);
    cairn_repo_close(repo);
    report.counts = faults_end();
    if (write(out, &report, sizeof(report)) != sizeof(report))
        _exit(1);
    _exit(0);
}

/* Runs a backup in a process of its own. true: it was killed. *reported: it had said before that it
 * was done. */
static bool run_child(const struct faults_plan *plan, int level, bool *reported,
                      struct report *report)
{
    int pipes[2], status;
    if (pipe(pipes) != 0)
        fail("pipe", "");
    (void)fflush(NULL);
    pid_t pid = fork();
    if (pid < 0)
        fail("fork", "");
    if (pid == 0) {
        (void)close(pipes[0]);
        child(plan, level, pipes[1]);
    }
    (void)close(pipes[1]);
    *reported = read(pipes[0], report, sizeof(*report)) == (ssize_t)sizeof(*report);
    if (*reported)
        (void)!read(pipes[0], report, sizeof(*report));
    (void)close(pipes[0]);
    if (waitpid(pid, &status, 0) != pid)
        fail("waitpid", "");
    if (WIFEXITED(status) && WEXITSTATUS(status) != 0)
        fail("the backup failed by itself", "");
    return WIFSIGNALED(status);
}

struct listing {
    struct cairn_repo *repo;
    size_t found, other;
    uint64_t current; /* what the source holds: an unreported snapshot must hold it too */
};

static int check_snapshot(void *ctx, const struct cairn_snapshot_info *info)
{
    struct listing *l = ctx;
    struct cairn_error err = {0};
    uint64_t sum, wanted = l->current;
    bool is_known = false;
    for (size_t i = 0; i < saved_count && !is_known; i++) {
        is_known = memcmp(&saved[i].id, &info->id, sizeof(info->id)) == 0;
        if (is_known)
            wanted = saved[i].sum;
    }
    l->found += is_known;
    l->other += !is_known;
    if (fixture_sum_snapshot(&fixture, l->repo, &info->id, &sum, &err) != CAIRN_OK)
        fail(is_known ? "a saved snapshot does not restore" : "a listed snapshot does not restore",
             err.message);
    if (sum != wanted)
        fail(is_known ? "a saved snapshot has other content" : "a listed one has other content",
             "");
    if (!is_known) {
        saved[saved_count].id = info->id;
        saved[saved_count++].sum = sum;
    }
    return 0;
}

/* All that was reported restores, and nothing is damaged. */
static struct cairn_check_result inspect(const char *when, size_t *unreported)
{
    struct cairn_repo *repo = NULL;
    struct cairn_error err = {0};
    struct cairn_check_result result;
    const struct cairn_check_options options = {.size = sizeof(options), .read_data = true};
    if (fixture_open(&fixture, CAIRN_AEAD_DEFAULT, THREADS, &repo, &err) != CAIRN_OK)
        fail("it does not open", err.message);
    struct listing l = {.repo = repo, .current = fixture_sum_source(&fixture)};
    size_t promised = saved_count;
    if (cairn_snapshot_list(repo, NULL, check_snapshot, &l, &err) != CAIRN_OK)
        fail("the snapshots cannot be listed", err.message);
    if (l.found != promised)
        fail("a saved snapshot is not listed", when);
    if (cairn_check(repo, &options, &result, &err) != CAIRN_OK)
        fail("check failed", err.message);
    if (result.damaged > 0)
        fail("check finds damage", when);
    cairn_repo_close(repo);
    *unreported = l.other;
    return result;
}

static size_t entries_of(const char *name)
{
    char path[400];
    size_t count = 0;
    (void)snprintf(path, sizeof(path), "%s/%s", fixture.repo, name);
    DIR *dir = opendir(path);
    if (dir == NULL)
        fail("cannot look into", path);
    while (readdir(dir) != NULL)
        count++;
    (void)closedir(dir);
    return count - 2;
}

/* The backup that follows; returns how many new bytes it had. */
static uint64_t next_backup(int level)
{
    struct cairn_repo *repo = NULL;
    struct cairn_backup_result result;
    struct cairn_error err = {0};
    uint64_t sum;
    if (fixture_open(&fixture, CAIRN_AEAD_DEFAULT, THREADS, &repo, &err) != CAIRN_OK)
        fail("it does not open", err.message);
    if (fixture_backup(&fixture, repo, level, &result, &err) != CAIRN_OK)
        fail("the next backup failed", err.message);
    if (result.problems > 0)
        fail("the next backup had problems", "");
    if (fixture_sum_snapshot(&fixture, repo, &result.snapshot, &sum, &err) != CAIRN_OK)
        fail("the next snapshot does not restore", err.message);
    if (sum != fixture_sum_source(&fixture))
        fail("the next snapshot has other content", "");
    cairn_repo_close(repo);
    saved[saved_count].id = result.snapshot;
    saved[saved_count++].sum = sum;
    return result.bytes_added;
}

/* again: of the backup that follows a killed one; those are mostly hit while they look at what the
 * dead left. */
static struct faults_plan random_plan(const struct faults_counts *counts, bool again)
{
    static const enum faults_kind kinds[] = {FAULTS_KILL_BEFORE, FAULTS_KILL_AFTER,
                                             FAULTS_KILL_HALF};
    struct faults_plan plan = {.kind = kinds[fixture_random(&random_state) % 3]};
    plan.in_window = fixture_random(&random_state) % 4 != 0;
    if (again && fixture_random(&random_state) % 4 != 0) {
        plan.in_window = false;
        plan.at = 1 + fixture_random(&random_state) % (counts->calls * 2 / 3);
        return plan;
    }
    plan.at = 1 + fixture_random(&random_state) %
                      (plan.in_window ? counts->window + TAIL : counts->calls);
    return plan;
}

/* Kills a backup. true: a snapshot was not yet reported. */
static void kill_once(const struct faults_counts *counts, int level, bool is_second,
                      bool *was_complete)
{
    struct faults_plan plan = random_plan(counts, is_second);
    struct report report;
    size_t unreported;
    size_t len = strlen(history);
    (void)snprintf(history + len, sizeof(history) - len, "%s%s call %zu%s at level %s",
                   len ? ", then " : "",
                   plan.kind == FAULTS_KILL_BEFORE  ? "before"
                   : plan.kind == FAULTS_KILL_AFTER ? "after"
                                                    : "amid",
                   plan.at, plan.in_window ? " from the first pack on" : "", level_names[level]);
    bool reported, killed = run_child(&plan, level, &reported, &report);
    stats.kills += killed;
    stats.in_window += killed && plan.in_window && plan.at <= counts->window;
    stats.finished += !killed;
    stats.at_level[level]++;
    if (reported) {
        saved[saved_count].id = report.id;
        saved[saved_count++].sum = fixture_sum_source(&fixture);
    }
    struct cairn_check_result check = inspect("after the kill", &unreported);
    stats.unreported += unreported > 0;
    stats.orphans += check.orphan_packs > 0;
    *was_complete = reported || unreported > 0;
}

static void one_round(const struct faults_counts counts[5])
{
    static const int levels[] = {CAIRN_LEVEL_FILESYSTEM, CAIRN_LEVEL_FILE, CAIRN_LEVEL_NONE,
                                 CAIRN_LEVEL_METADATA};
    int level = levels[round_number % 4], next_level = levels[fixture_random(&random_state) % 4];
    size_t unreported;
    bool was_complete, again = false;
    history[0] = '\0';
    change_source();
    kill_once(&counts[level], level, false, &was_complete);
    if (!was_complete && fixture_random(&random_state) % 2 == 0) {
        stats.doubled++;
        kill_once(&counts[next_level], next_level, true, &again);
    }
    uint64_t added = next_backup(next_level);
    /* All of the large files is new in each round, unless somebody stored it before. */
    stats.adopted += !was_complete && !again && added < 2 * LARGE_BYTES;
    if (entries_of("tmp") != 0)
        fail("something of the dead is left in tmp", "");
    if (inspect("after the next backup", &unreported).orphan_packs != 0)
        fail("packs of the dead were left behind", "");
}

int main(void)
{
    struct faults_counts counts[5];
    uint64_t rounds = fixture_setting("CAIRN_KILLS", 200);
    struct report report;
    bool reported;
    seed = fixture_setting("CAIRN_SEED", (uint64_t)time(NULL));
    random_state = seed * 2 + 1;
    printf("seed %llu\n", (unsigned long long)seed);
    fixture_begin(&fixture, "kill");
    change_source();
    for (int level = CAIRN_LEVEL_NONE; level <= CAIRN_LEVEL_FILE; level++) {
        new_repository();
        change_source();
        if (run_child(NULL, level, &reported, &report))
            fail("a backup that nobody killed was killed", "");
        counts[level] = report.counts;
        printf("level %s: %zu calls, %zu of them between the first complete pack and the log\n",
               level_names[level], counts[level].calls, counts[level].window);
        if (counts[level].window == 0)
            fail("there is nothing between the first pack and the log", "");
    }
    for (round_number = 0; round_number < rounds; round_number++) {
        if (round_number % ROUNDS_PER_REPOSITORY == 0)
            new_repository();
        one_round(counts);
    }
    printf(
        "%u kills, %u of them between the first complete pack and the log, %u a second time;\n"
        "levels: none %u, metadata %u, filesystem %u, file %u; %u backups ended before the call\n"
        "after kills: %u snapshots complete but not reported, %u times packs without a commit;\n"
        "%u later backups had less to store because of what the dead left\n",
        stats.kills, stats.in_window, stats.doubled, stats.at_level[1], stats.at_level[2],
        stats.at_level[3], stats.at_level[4], stats.finished, stats.unreported, stats.orphans,
        stats.adopted);
    fixture_end(&fixture);
    if (rounds >= 100 && (stats.in_window * 3 < stats.kills || stats.adopted == 0)) {
        (void)fprintf(stderr, "too few kills between the first pack and the log, or no adoption\n");
        return 1;
    }
    return 0;
}
