/* SPDX-License-Identifier: Apache-2.0
 *
 * seam.h - records the file system calls that go through base/io.h, each with the path it is about,
 * and makes chosen ones fail.
 */
#ifndef CAIRN_TESTS_BACKEND_SEAM_H
#define CAIRN_TESTS_BACKEND_SEAM_H

#include <stdbool.h>
#include <stddef.h>

#define SEAM_CALLS_MAX 4096

enum seam_op {
    SEAM_OPEN,
    SEAM_CREATE, /* openat with O_CREAT */
    SEAM_CLOSE,
    SEAM_READ,
    SEAM_WRITE,
    SEAM_STAT,
    SEAM_FSYNC,
    SEAM_SYNCFS,
    SEAM_RENAME,
    SEAM_LINK,
    SEAM_UNLINK,
    SEAM_MKDIR,
    SEAM_GETDENTS
};

struct seam_call {
    enum seam_op op;
    char path[200]; /* below the repository: "tmp/u1" (the session's name left out), "log/0", "." */
    char to[200];   /* RENAME, LINK */
    int result;     /* 0, or the errno it failed with */
};

/* What a call that is chosen to fail does. */
enum seam_fault { SEAM_NONE, SEAM_ERRNO, SEAM_SHORT };

struct seam {
    struct seam_call calls[SEAM_CALLS_MAX];
    size_t count;
    size_t fail_at; /* the call of this number (from 1) fails; 0: none does */
    bool forever;   /* and all after it */
    enum seam_fault fault;
    int os_errno;
    int only; /* count and fail only calls of this enum seam_op; -1: all */
    size_t matched;
};

/* The one recorder, emptied; its operations are put in force. root is the repository's path. */
struct seam *seam_begin(const char *root);

/* The system's operations are put back. The record stays to be looked at. */
void seam_end(void);

/* Where in the record the first call (from index `from`) of that kind about that path is; path
 * NULL: about any. seam_none: there is none. */
#define seam_none ((size_t)-1)
size_t seam_find(const struct seam *seam, size_t from, enum seam_op op, const char *path);

/* How many successful calls of that kind about that path (NULL: any) there are. */
size_t seam_count(const struct seam *seam, enum seam_op op, const char *path);

/* The record, for a failing test. */
void seam_print(const struct seam *seam);

#endif
