/* SPDX-License-Identifier: Apache-2.0
 *
 * walk_internal.h - how directories are read ahead of the walk's caller.
 *
 * A directory is a node; its entries are handled in batches of WALK_BATCH names. The first batch
 * reads and sorts the names too. Each batch describes its entries (statx), and makes a node for
 * each directory among them. Batches not yet done stand in one list, the work list, in the order in
 * which the caller will need them; workers take the first that nobody works on.
 *
 * States of a batch: IDLE (in the work list) -> RUNNING (in the work list, claimed by
 * walk_batch_run) -> DONE (out of the list; its directories' first batches stand where it stood).
 * drop_contents takes IDLE and DONE ones away, and marks RUNNING ones abandoned: whoever runs them
 * frees them.
 *
 * Invariants
 * 1. The work list, batch states, node queues, `ahead` and the counters beside it are guarded by
 *    `lock`. Names, items and slots belong to whoever runs the batch until it is DONE, then to the
 *    caller's thread.
 * 2. Work list order is stream order: a batch's successor in its directory stands behind all that
 *    the batch's own directories bring.
 * 3. Workers take nothing while `ahead`, the entries described or being described and not yet given
 *    to the caller, is WALK_AHEAD or more. The caller's thread may always take what it needs next.
 * 4. A node is freed when its owner (the slot that holds it, or the caller's path from the root)
 * and every running batch have let go. Lock order: `lock` only; never held across a system call
 * that touches the source. The lock of the descriptor cache (dir_internal.h) is never taken under
 * it.
 */
#ifndef CAIRN_SOURCE_WALK_INTERNAL_H
#define CAIRN_SOURCE_WALK_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/buffer.h"
#include "source/dir_internal.h"
#include "source/walk.h"

#define WALK_BATCH 512u
#define WALK_AHEAD 16384u
/* A worker that meets so many names gives the directory back: only the caller's thread, which holds
 * one at a time, reads directories of any size. */
#define WALK_AHEAD_NAMES 32768u
#define WALK_DIRENTS_BYTES 65536u
#define WALK_THREADS_MAX 64u
#define WALK_NO_PART UINT32_MAX

/* A component of the given paths. Children are linked in byte order. */
struct walk_part {
    const char *name;
    size_t name_len;
    uint32_t first_child, next_sibling; /* WALK_NO_PART: none */
    uint32_t first_path, path_count;    /* given paths at or below it, in sorted order */
    uint32_t child_count;
    bool is_given;
};

struct walk_paths {
    char **paths; /* absolute, clean, sorted, none below another */
    size_t count;
    struct walk_part *parts; /* [0]: "/" */
    size_t part_count;
    char *names; /* what parts point to */
};

struct walk_slot {
    struct cairn_stat stat;
    struct walk_node *child; /* a directory; owned */
    int error;               /* errno of statx, or 0 */
    bool is_dropped;
};

enum walk_state { WALK_IDLE, WALK_RUNNING, WALK_DONE };

struct walk_batch {
    struct walk_node *node;
    struct walk_batch *next;            /* in the node's queue */
    struct walk_batch *earlier, *later; /* in the work list */
    enum walk_state state;
    bool is_reader;      /* reads the names first */
    bool is_callers;     /* too large for workers */
    bool is_abandoned;   /* nobody wants it any more */
    size_t first, count; /* which items of the node */
    struct walk_slot *slots;
    int status; /* enum cairn_status: what ends the walk */
};

struct walk_node {
    struct cairn_dir *dir;
    struct walk_node *up; /* caller's thread: where it came from; drop_contents: a chain */
    struct cairn_stat stat;
    uint64_t root_device;  /* of the given path above */
    uint32_t part;         /* partial: its component; else WALK_NO_PART */
    uint32_t *child_parts; /* partial: the component of each item */
    char *names;
    uint32_t *items; /* where in names; in byte order */
    size_t count;
    struct walk_batch *queue, *queue_end; /* batches not yet taken by the caller */
    struct walk_batch *current;           /* caller's thread: being delivered */
    size_t slot;                          /* the next of it */
    unsigned refs;
    int open_error;     /* errno: the directory could not be opened */
    int read_error;     /* errno: it could not be read to its end */
    unsigned odd_names; /* entries with impossible names */
    bool is_tagged;     /* emptied by a tag */
    bool is_shut;       /* never opened */
    bool is_incomplete;
};

/* Memory of one thread that reads directories. */
struct walk_scratch {
    uint8_t *dirents; /* WALK_DIRENTS_BYTES */
};

struct cairn_walk {
    struct cairn_walk_options options;
    struct walk_paths paths;
    struct dir_cache *cache;

    pthread_mutex_t lock;
    pthread_cond_t work;  /* there may be something to take */
    pthread_cond_t ready; /* the batch that the caller waits for is done */
    struct walk_batch *list, *list_end;
    size_t idle; /* IDLE batches in the list that workers may take */
    size_t ahead;
    unsigned asleep; /* workers that wait */
    struct walk_batch *awaited;
    bool is_stopping;
    atomic_bool stop; /* the same, read within batches */

    pthread_t threads[WALK_THREADS_MAX];
    size_t thread_count;

    /* The caller's thread only. */
    struct walk_scratch scratch;
    struct walk_node *root, *at, *left;
    unsigned quiet; /* events since is_cancelled was asked */
    bool is_begun;
    bool has_entered; /* the last event was an ENTER */
    int failed;       /* enum cairn_status that ended the walk */
    struct cairn_walk_counts counts;
    struct cairn_buf path;
};

/* walk_paths.c: makes the given paths absolute, sorts them, and builds the components. */
int walk_paths_init(struct walk_paths *paths, const char *const *given, size_t count,
                    struct cairn_error *err);
void walk_paths_release(struct walk_paths *paths);

/* walk_names.c: fills in the names and items of a node from its directory (pinned as fd), at most
 * `most` names (0: any number). 0; EAGAIN: there are more (nothing is kept); ENOMEM; EFBIG: names
 * of more than 4 GiB; ECANCELED. Other failures are noted in the node, with what was read. */
int walk_names_read(struct cairn_walk *walk, struct walk_node *node, int fd,
                    struct walk_scratch *scratch, size_t most);

/* walk_names.c: the same for a partial directory, from the components. 0 or ENOMEM. */
int walk_names_take_parts(struct walk_node *node, const struct walk_paths *paths);

/* walk_tags.c: if the directory (pinned as fd) has tags, only their items stay. */
void walk_tags_apply(struct cairn_walk *walk, struct walk_node *node, int fd);

/* walk_sort.c: an item while its directory is read: eight bytes of the name, then where it is. */
struct walk_item {
    uint32_t key[2];
    uint32_t at;
};

/* Sorts items by the bytes of their names (NUL-terminated, at names + at). In place; at most
 * n log n comparisons whatever the names. Keys are filled in here. */
void walk_sort(struct walk_item *items, size_t count, const char *names);

/* walk_node.c */
struct walk_node *walk_node_new(struct cairn_walk *walk, struct cairn_dir *parent, const char *name,
                                const struct cairn_stat *st, uint32_t part, uint64_t root_device,
                                bool is_shut);
/* Gives one reference back. Caller holds the lock or is alone. */
void walk_node_unref(struct walk_node *node);
void walk_batch_free(struct walk_batch *batch);
/* Takes away everything below node. Caller holds the lock. */
void walk_node_drop_contents(struct cairn_walk *walk, struct walk_node *node);

/* walk_work.c: the work list; caller holds the lock. */
void walk_list_insert_before(struct cairn_walk *walk, struct walk_batch *batch,
                             struct walk_batch *later);
void walk_list_remove(struct cairn_walk *walk, struct walk_batch *batch);
/* The first batch that workers may take; NULL: none. */
struct walk_batch *walk_list_first(struct cairn_walk *walk);
/* Runs a batch (IDLE): releases the lock meanwhile. It is DONE or freed afterwards, or, given back
 * by a worker, IDLE. */
void walk_batch_run(struct cairn_walk *walk, struct walk_batch *batch, struct walk_scratch *scratch,
                    bool is_worker);
/* Wakes a worker if there is something for it beside the first piece, which the calling thread
 * takes itself unless it is busy. */
void walk_wake_workers(struct cairn_walk *walk, bool is_busy);
void *walk_worker(void *walk);

/* true: the walk is being freed or cancelled. Any thread, without the lock. */
bool walk_is_stopped(struct cairn_walk *walk);

/* walk_batch.c: does the work of a batch, without the lock. */
int walk_batch_read(struct cairn_walk *walk, struct walk_batch *batch, struct walk_scratch *scratch,
                    bool is_worker);
void walk_batch_stat(struct cairn_walk *walk, struct walk_batch *batch);

#endif
