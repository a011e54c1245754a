/* SPDX-License-Identifier: Apache-2.0
 *
 * walk.h - one ordered stream of everything below some paths.
 *
 * The stream is depth-first from "/": names within a directory ascend by byte value, files and
 * directories interleaved. Directories are read ahead of the caller by worker threads; the stream
 * is the same whatever their number.
 */
#ifndef CAIRN_SOURCE_WALK_H
#define CAIRN_SOURCE_WALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cairn/cairn.h>

#include "source/dir.h"
#include "source/stat.h"

struct cairn_walk;

enum cairn_walk_kind {
    CAIRN_WALK_END = 0,   /* nothing more; all else in the event is zero */
    CAIRN_WALK_ENTER = 1, /* a directory; its entries follow, then its LEAVE */
    CAIRN_WALK_ENTRY = 2, /* anything else */
    CAIRN_WALK_LEAVE = 3  /* the end of the directory entered last */
};

struct cairn_walk_event {
    enum cairn_walk_kind kind;
    const char *name; /* bytes, NUL-terminated; "" for "/"; borrowed until the next call */
    size_t name_len;
    const struct cairn_stat *stat; /* as seen when the containing directory was read; borrowed
                                      likewise. For LEAVE: the same as for its ENTER */
    unsigned depth;                /* 0 for "/", 1 for what is in it, ... */
    struct cairn_dir *parent;      /* the directory that contains it, borrowed until the next call
                                      (cairn_dir_ref to keep it); NULL for "/" */
    struct cairn_dir *dir;         /* ENTER, LEAVE: the directory itself, borrowed likewise;
                                      ENTRY: NULL */
    bool partial;    /* ENTER, LEAVE: only the way to a given path; of its entries only those that
                        lead to given paths come */
    bool incomplete; /* LEAVE: the directory could not be read, or not wholly, or entries of it
                        vanished; each was reported */
};

/* What to do with an entry. */
enum cairn_walk_verdict {
    CAIRN_WALK_TAKE = 0, /* deliver it, and a directory's contents */
    CAIRN_WALK_SHUT = 1, /* a directory: ENTER and LEAVE come with nothing between, and it is never
                            opened by the walk. Otherwise as TAKE */
    CAIRN_WALK_DROP = 2  /* deliver nothing of it */
};

/* Decides on one entry (never on "/" and partial directories) before its contents are read ahead.
 * Called by any thread, several at a time, in no order; name and stat are borrowed for the call. */
typedef enum cairn_walk_verdict (*cairn_walk_filter_fn)(void *ctx, struct cairn_dir *dir,
                                                        const char *name, size_t name_len,
                                                        const struct cairn_stat *stat);

/* Hears of something that could not be read; the walk goes on. Called only within cairn_walk_next,
 * on its thread, at the place in the stream where the thing belongs. path: absolute, bytes, also
 * NUL-terminated; os_errno: ENOENT vanished, ESTALE replaced by something else, otherwise why it
 * cannot be read; message: one line without the path. All borrowed for the call. */
typedef void (*cairn_walk_problem_fn)(void *ctx, const char *path, size_t path_len, int os_errno,
                                      const char *message);

/* A file whose presence says that nothing else of its directory is wanted. */
struct cairn_walk_tag {
    const char *name;
    const char *header; /* what a regular file of that name must begin with; NULL: anything does */
    size_t header_len;  /* at most 64 */
};

struct cairn_walk_options {
    const char *const *paths; /* given paths, bytes; relative ones start at the working directory;
                                 borrowed for cairn_walk_new */
    size_t path_count;
    unsigned threads;     /* workers beside the caller's thread; 0: none. At most 64 */
    bool one_file_system; /* directories on another device than the given path above them
                             are shut (CAIRN_WALK_SHUT) */
    const struct cairn_walk_tag *tags; /* of a directory that has any of these only they come;
                                          borrowed for the walk's life */
    size_t tag_count;
    cairn_walk_filter_fn filter;     /* NULL: take everything */
    cairn_walk_problem_fn problem;   /* NULL: nobody hears of it */
    void *ctx;                       /* for filter and problem */
    bool (*is_cancelled)(void *ctx); /* NULL: never; asked by any thread, often: must be cheap */
    void *cancel_ctx;
};

/* Begins a walk. The given paths are made absolute and cleaned ("." and ".." by the text alone,
 * as the shell's cd does); one that lies below another, or is given twice, is absorbed. The parents
 * of a given path may be symlinks and are followed, and come as the directories they lead to; the
 * last component, and everything below, is never followed. A path that does not exist is reported
 * in the stream, in its place.
 * MISUSE: no path, an empty one, too many threads. IO: no working directory. LIMIT: no thread could
 * be started. NO_MEMORY. The caller frees the walk. Threads start at once, with all signals
 * blocked. Memory: entries ahead of the caller are bounded (about 4 MiB), a directory costs its
 * names (about 5 bytes each more than their length, while it is read 13) and the stats of some
 * hundred entries. */
int cairn_walk_new(const struct cairn_walk_options *options, struct cairn_walk **out,
                   struct cairn_error *err);

/* The next event, waiting for it or reading it itself. One thread at a time. After END: END again.
 * CANCELLED; NO_MEMORY; IO: "/" itself cannot be read. After a failure only cairn_walk_free. */
int cairn_walk_next(struct cairn_walk *walk, struct cairn_walk_event *event,
                    struct cairn_error *err);

/* Directly after an ENTER: its LEAVE comes next, what was read ahead of it is dropped, problems
 * below it are not reported. After any other event it does nothing. */
void cairn_walk_skip(struct cairn_walk *walk);

struct cairn_walk_counts {
    uint64_t given;   /* given paths that were found (after absorption) */
    uint64_t missing; /* and that were not */
    uint64_t tagged;  /* directories that a tag emptied */
    uint64_t shut;    /* directories that were not opened: on another file system, or as the filter
                         said */
};

/* How the given paths fared, so far; final after END. */
void cairn_walk_get_counts(const struct cairn_walk *walk, struct cairn_walk_counts *out);

/* The given paths, absolute, cleaned, in the stream's order; borrowed from walk. Index below
 * cairn_walk_get_path_count. */
size_t cairn_walk_get_path_count(const struct cairn_walk *walk);
const char *cairn_walk_get_path(const struct cairn_walk *walk, size_t index);

/* Ends the walk at any point: waits for the workers (at most one directory read or some hundred
 * statx each) and frees it. Directory handles that were kept stay valid. NULL is allowed. */
void cairn_walk_free(struct cairn_walk *walk);

#endif
