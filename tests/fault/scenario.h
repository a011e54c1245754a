/* SPDX-License-Identifier: Apache-2.0
 *
 * scenario.h - what cairn is made to do while something fails, and what must hold afterwards.
 *
 * Each step opens the repository, does its work and closes it, with whatever failure the caller has
 * armed. It returns the status that cairn gave and judges what may be judged without a second look:
 * a failure has a message and the status in it, a success did what it says.
 */
#ifndef CAIRN_TESTS_FAULT_SCENARIO_H
#define CAIRN_TESTS_FAULT_SCENARIO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cairn/cairn.h>

#include "fixture.h"

#define SCENARIO_SAVED_MAX 16

struct scenario {
    struct fixture fixture;
    struct {
        struct cairn_id id;
        uint64_t sum;
    } saved[SCENARIO_SAVED_MAX]; /* reported as done */
    size_t saved_count;
    uint64_t random;
    char target[320];
    char label[200]; /* what is being tried, for messages */
    unsigned problems;
    uint64_t by_status[16]; /* how often each status came out */
};

enum scenario_step { STEP_INIT, STEP_BACKUP, STEP_CHECK, STEP_READ, STEP_RESTORE, STEP_COUNT };
extern const char *const scenario_step_names[STEP_COUNT];

void scenario_begin(struct scenario *scenario, const char *name);
void scenario_end(struct scenario *scenario);

/* Counts a problem and prints it with the label. */
void scenario_problem(struct scenario *scenario, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Brings everything into the state in which the step is to be tried: a repository with a snapshot
 * (none for STEP_INIT), and new files in the source for STEP_BACKUP. Nothing may be armed. */
void scenario_prepare(struct scenario *scenario, enum scenario_step step);

/* The step itself. level: of a backup. */
int scenario_run(struct scenario *scenario, enum scenario_step step, int level);

/* Afterwards, with nothing armed: all that was reported as saved restores, nothing is damaged, and
 * (also: where the step failed) the same step now succeeds. */
void scenario_verify(struct scenario *scenario, enum scenario_step step, bool failed);

#endif
