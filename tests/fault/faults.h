/* SPDX-License-Identifier: Apache-2.0
 *
 * faults.h - counts the file system calls that go through base/io.h and makes chosen ones fail, or
 * kills the process at them. No call waits for the disk: syncs are counted and not made.
 */
#ifndef CAIRN_TESTS_FAULT_FAULTS_H
#define CAIRN_TESTS_FAULT_FAULTS_H

#include <stdbool.h>
#include <stddef.h>

enum faults_kind {
    FAULTS_NONE,
    FAULTS_ERRNO,
    FAULTS_SHORT,       /* reads and writes do half; other calls are not hit */
    FAULTS_KILL_BEFORE, /* the process ends instead of the call */
    FAULTS_KILL_AFTER,  /* ... behind it */
    FAULTS_KILL_HALF    /* ... behind half of it, where it is a write; else before it */
};

struct faults_plan {
    enum faults_kind kind;
    int os_errno;
    size_t at;      /* the number of the call that is hit, from 1 */
    bool forever;   /* and all after it */
    bool in_window; /* at counts from the moment the first pack was complete */
    bool syncs;     /* only syncs are counted and hit */
};

struct faults_counts {
    size_t calls;     /* all, or all syncs */
    size_t window;    /* from the first pack that was complete to the log entry's name */
    size_t hit;       /* how many the plan hit */
    const char *name; /* the first that it hit, or NULL */
};

/* Puts the counting operations in force. plan NULL: all calls succeed. Not while other threads do
 * I/O. */
void faults_begin(const struct faults_plan *plan);

/* What was counted since; the operations stay in force, nothing fails any more. */
struct faults_counts faults_end(void);

#endif
