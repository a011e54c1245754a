/* SPDX-License-Identifier: Apache-2.0
 *
 * Each allocation fails in turn, by itself and with all after it, while a repository is made,
 * written, checked, read and restored: a clear error or success, nothing is called damaged that is
 * not, nothing that was reported as saved is lost. Leaks are the sanitizer's to find.
 *
 * CAIRN_FULL=1: every allocation (else every 7th). CAIRN_STEP and CAIRN_AT: only this one.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "faults.h"
#include "scenario.h"

#define STRIDE 7

static struct scenario scenario;

/* true: the allocation that was to fail was reached. */
static bool try_once(enum scenario_step step, long at, int forever)
{
    (void)snprintf(scenario.label, sizeof(scenario.label), "%s, allocation %ld%s",
                   scenario_step_names[step], at, forever ? " and all after it" : "");
    scenario_prepare(&scenario, step);
    uint64_t damaged = scenario.by_status[15];
    cairn_alloc_fail_after(at, forever);
    int status = scenario_run(&scenario, step, 0);
    void *probe = cairn_alloc(1, 1);
    bool is_reached = probe == NULL;
    cairn_free(probe);
    cairn_alloc_fail_after(-1, 0);
    if (scenario.by_status[15] != damaged)
        scenario_problem(&scenario, "check calls damage what is none");
    if (status != CAIRN_OK && status != CAIRN_NO_MEMORY)
        scenario_problem(&scenario, "it failed with %s", cairn_status_name(status));
    scenario_verify(&scenario, step, status != CAIRN_OK);
    return is_reached;
}

int main(void)
{
    bool is_full = fixture_setting("CAIRN_FULL", 0) == 1;
    long only_at = (long)fixture_setting("CAIRN_AT", (uint64_t)-1);
    uint64_t only_step = fixture_setting("CAIRN_STEP", STEP_COUNT);
    scenario_begin(&scenario, "oom");
    faults_begin(NULL);
    for (enum scenario_step step = 0; step < STEP_COUNT; step++) {
        long end = 0;
        if (only_step < STEP_COUNT && step != only_step)
            continue;
        memset(scenario.by_status, 0, sizeof(scenario.by_status));
        if (only_at >= 0) {
            (void)try_once(step, only_at, 1);
            (void)try_once(step, only_at, 0);
            continue;
        }
        while (try_once(step, end, 1)) {
            (void)try_once(step, end, 0);
            end += is_full ? 1 : STRIDE;
        }
        printf("%-8s %ld allocations%s: %llu successes, %llu times out of memory\n",
               scenario_step_names[step], end, is_full ? "" : " (a part of them)",
               (unsigned long long)scenario.by_status[0],
               (unsigned long long)scenario.by_status[-CAIRN_NO_MEMORY]);
        (void)fflush(stdout);
    }
    scenario_end(&scenario);
    if (scenario.problems > 0)
        (void)fprintf(stderr, "%u problems; again: CAIRN_FULL=%d meson test -C build fault-oom\n",
                      scenario.problems, is_full);
    return scenario.problems ? 1 : 0;
}
