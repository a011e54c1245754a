/* SPDX-License-Identifier: Apache-2.0
 *
 * trace.h - records every call that changes the repository's file system, and builds from the
 * record the states that a power cut could leave.
 *
 * The model is harsher than any real file system: what was not made durable by a sync of its own
 * file or directory (or of the whole file system) may be there or not, each call for itself, in any
 * combination, and a write may be torn at any sector.
 */
#ifndef CAIRN_TESTS_CRASH_STATES_TRACE_H
#define CAIRN_TESTS_CRASH_STATES_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backend/backend.h"

enum op_kind {
    OP_CREATE, /* dir, name -> node */
    OP_MKDIR,  /* dir, name -> node */
    OP_WRITE,  /* node, at, data */
    OP_RENAME, /* dir, name -> to_dir, to_name */
    OP_LINK,   /* node -> to_dir, to_name */
    OP_UNLINK, /* dir, name */
    OP_SYNC,   /* node (file or directory) */
    OP_SYNCFS,
    OP_MARK /* the caller was told "done" */
};

struct op {
    int kind;
    int node;
    int dir, to_dir;
    char name[96], to_name[96];
    uint64_t at;
    uint8_t *data;
    size_t len;
};

struct trace {
    struct op *ops;
    size_t count, cap;
    int nodes; /* node 0 is the repository's directory */
    uint8_t *is_dir;
};

/* From now on everything below root goes into *trace, until trace_stop. One at a time. */
void trace_start(struct trace *trace, const char *root);
void trace_stop(void);

/* Adds a mark. */
void trace_mark(struct trace *trace);

void trace_release(struct trace *trace);

/* A copy without its data (which stays the original's), for mutants. */
void trace_copy(const struct trace *from, struct trace *to);

/* What is chosen for one state. keep[i] counts for operations that were not durable. */
struct choice {
    size_t count; /* operations before the cut */
    bool *keep;
    size_t torn; /* this write is cut at torn_len bytes; SIZE_MAX: none */
    size_t torn_len;
};

/* For each operation below count: was it durable by then? */
void trace_durable(const struct trace *trace, size_t count, bool *durable);

/* Builds the visible repository of a state as a memory backend (files below tmp/ are left out), and
 * a hash of it. */
struct cairn_backend *trace_state(const struct trace *trace, const struct choice *choice,
                                  uint64_t *hash);

#endif
