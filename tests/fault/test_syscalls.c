/* SPDX-License-Identifier: Apache-2.0
 *
 * Each system call that goes through the seam fails in turn, in each way, once and with all after
 * it, while a repository is made, written at each level, checked, read and restored: a clear error
 * or success, never wrong bytes; and once it is over, all that was saved restores and the same step
 * works.
 *
 * EINTR only comes once: to go on for ever after it is what the callers are to do.
 *
 * CAIRN_FULL=1: every call (else every 17th, another for each kind of failure). CAIRN_STEP and
 * CAIRN_AT: only this one.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "faults.h"
#include "scenario.h"

#ifdef __SANITIZE_ADDRESS__
#define STRIDE 41
#else
#define STRIDE 17
#endif

static const struct failure {
    const char *name;
    int os_errno; /* 0: short */
    bool can_last;
} failures[] = {
    {"EIO", EIO, true},      {"ENOSPC", ENOSPC, true}, {"EDQUOT", EDQUOT, true},
    {"EINTR", EINTR, false}, {"EMFILE", EMFILE, true}, {"short", 0, true},
};
#define FAILURES (sizeof(failures) / sizeof(failures[0]))

static const char *const level_names[] = {"default", "none", "metadata", "filesystem", "file"};

static struct scenario scenario;
static bool is_full;
static uint64_t tried;

/* false: there is no such call any more. */
static bool try_once(enum scenario_step step, int level, size_t at, const struct failure *failure,
                     bool forever, bool syncs)
{
    const struct faults_plan plan = {.kind = failure->os_errno ? FAULTS_ERRNO : FAULTS_SHORT,
                                     .os_errno = failure->os_errno,
                                     .at = at,
                                     .forever = forever,
                                     .syncs = syncs};
    (void)snprintf(scenario.label, sizeof(scenario.label), "%s at level %s, %s %zu%s %s",
                   scenario_step_names[step], level_names[level], syncs ? "sync" : "call", at,
                   forever ? " and all after it" : "", failure->name);
    scenario_prepare(&scenario, step);
    uint64_t damaged = scenario.by_status[15];
    faults_begin(&plan);
    int status = scenario_run(&scenario, step, level);
    struct faults_counts counts = faults_end();
    tried++;
    if (counts.calls < at)
        return false;
    if (counts.name)
        (void)snprintf(scenario.label + strlen(scenario.label),
                       sizeof(scenario.label) - strlen(scenario.label), " (%s)", counts.name);
    if (failure->os_errno == 0 && status != CAIRN_OK)
        scenario_problem(&scenario, "short reads and writes are no reason to fail with %s",
                         cairn_status_name(status));
    bool is_sync =
        counts.name && (strcmp(counts.name, "fsync") == 0 || strcmp(counts.name, "syncfs") == 0);
    if (is_sync && step == STEP_BACKUP && failure->os_errno != EINTR && failure->os_errno != 0 &&
        status == CAIRN_OK)
        scenario_problem(&scenario, "a failed sync was passed over");
    if (scenario.by_status[15] != damaged)
        scenario_problem(&scenario, "check calls damage what is none");
    if (status == CAIRN_CORRUPT || status == CAIRN_UNTRUSTED || status == CAIRN_AUTH ||
        status == CAIRN_MISUSE)
        scenario_problem(&scenario, "it failed with %s", cairn_status_name(status));
    scenario_verify(&scenario, step, status != CAIRN_OK);
    return true;
}

static size_t count_calls(enum scenario_step step, int level)
{
    (void)snprintf(scenario.label, sizeof(scenario.label), "%s", scenario_step_names[step]);
    scenario_prepare(&scenario, step);
    faults_begin(NULL);
    if (scenario_run(&scenario, step, level) != CAIRN_OK)
        fixture_die("%s does not work without failures", scenario_step_names[step]);
    return faults_end().calls;
}

static void try_step(enum scenario_step step, int level, size_t only_at)
{
    /* Most of what these do is to make, or look into, the directories of packs. */
    size_t stride = is_full ? 1 : STRIDE * (step == STEP_INIT || step == STEP_CHECK ? 3 : 1);
    memset(scenario.by_status, 0, sizeof(scenario.by_status));
    size_t calls = count_calls(step, level);
    for (size_t i = 0; i < FAILURES; i++) {
        for (int forever = 0; forever <= failures[i].can_last; forever++) {
            size_t at = only_at ? only_at : 1 + (i * 2 + (size_t)forever) % stride;
            while (try_once(step, level, at, &failures[i], forever, false) && !only_at)
                at += stride;
        }
    }
    /* Every sync that fails once, whatever the stride: what comes after it often works. */
    size_t sync = 1;
    while (!only_at && try_once(step, level, sync, &failures[0], false, true))
        sync++;
    printf("%-8s at level %-10s %zu calls%s: %llu successes; IO %llu, NO_SPACE %llu, other %llu\n",
           scenario_step_names[step], level_names[level], calls, is_full ? "" : " (a part of them)",
           (unsigned long long)scenario.by_status[0],
           (unsigned long long)scenario.by_status[-CAIRN_IO],
           (unsigned long long)scenario.by_status[-CAIRN_NO_SPACE],
           (unsigned long long)(scenario.by_status[-CAIRN_LIMIT] +
                                scenario.by_status[-CAIRN_NOT_FOUND] +
                                scenario.by_status[-CAIRN_NO_REPOSITORY] +
                                scenario.by_status[-CAIRN_EXISTS]));
    (void)fflush(stdout);
}

int main(void)
{
    size_t only_at = fixture_setting("CAIRN_AT", 0);
    uint64_t only_step = fixture_setting("CAIRN_STEP", STEP_COUNT);
    is_full = fixture_setting("CAIRN_FULL", 0) == 1;
    scenario_begin(&scenario, "syscalls");
    faults_begin(NULL);
    for (enum scenario_step step = 0; step < STEP_COUNT; step++) {
        if (only_step < STEP_COUNT && step != only_step)
            continue;
        int last = step == STEP_BACKUP ? CAIRN_LEVEL_FILE : CAIRN_LEVEL_DEFAULT;
        int first = step == STEP_BACKUP ? CAIRN_LEVEL_NONE : CAIRN_LEVEL_DEFAULT;
        for (int level = first; level <= last; level++)
            try_step(step, level, only_at);
    }
    scenario_end(&scenario);
    printf("%llu runs\n", (unsigned long long)tried);
    if (scenario.problems > 0)
        (void)fprintf(stderr,
                      "%u problems; again: CAIRN_FULL=%d meson test -C build fault-syscalls\n",
                      scenario.problems, is_full);
    return scenario.problems ? 1 : 0;
}
