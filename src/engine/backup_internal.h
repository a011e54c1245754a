/* SPDX-License-Identifier: Apache-2.0
 *
 * The backup pipeline.
 *
 *   walker (threads) -> sequencer (the calling thread) -> window of items -> assembler (same
 * thread) |                          ^
 *                                   +--> workers: read, chunk, hash, compress, encrypt, append
 *
 * The sequencer takes the walker's events in depth-first order, compares each with the parent
 * snapshot, and appends an item to the window; what has to be read goes to the workers as a job.
 * The assembler takes items from the head of the window once they are ready and builds trees and
 * the change-detection stream in that same order, so the snapshot does not depend on timing.
 *
 * Invariants
 * 1. Items are consumed in the order in which they were appended; an item is consumed only when its
 *    `pending` count is 0.
 * 2. Only the calling thread touches trees, the parent snapshot, the metadata lane and events.
 * 3. A worker never waits for another worker: a full chunk queue is answered by doing the chunk
 *    itself, and there are two read buffers for each worker.
 * Lock order: jobs lock only; nothing is called with it held.
 */
#ifndef CAIRN_ENGINE_BACKUP_INTERNAL_H
#define CAIRN_ENGINE_BACKUP_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include <cairn/cairn.h>

#include "base/pool.h"
#include "chunker/chunker.h"
#include "engine/repo.h"
#include "snapshot/changes.h"
#include "snapshot/content.h"
#include "snapshot/entry.h"
#include "snapshot/tree.h"
#include "source/mounts.h"
#include "source/patterns.h"
#include "source/walk.h"
#include "source/xattrs.h"

#define WINDOW_ITEMS 2048u
#define WORKERS_MAX 64u
#define EXTENTS_PER_BLOCK 256u
#define TRUST_AFTER_NS 2000000000

/* A stretch of a file: a chunk whose id a worker fills in, or a hole. */
struct extent {
    struct cairn_id id;
    uint64_t len;
    bool is_hole;
};

/* What a file consists of, in blocks that never move, so that several workers can fill in ids. */
struct extent_block {
    struct extent_block *next;
    uint32_t count, cap;
    struct extent extents[];
};

struct backup;
struct shared_buffer;

enum item_kind { ITEM_ENTER, ITEM_ENTRY, ITEM_LEAVE };

/* One event of the walk on its way from sequencer to assembler. */
struct item {
    struct item *next; /* in the window */
    struct item *next_job;
    int kind;              /* enum item_kind */
    atomic_uint pending;   /* jobs still at work on it */
    struct cairn_dir *dir; /* ENTER: the directory itself; ENTRY: the one it is in */
    struct cairn_buf name; /* with a NUL behind it */
    struct cairn_stat stat;
    bool is_partial;     /* a path component only */
    bool is_trusted;     /* may be taken as unchanged by the next backup */
    bool is_unchanged;   /* `reused` holds the parent's entry */
    bool is_second_link; /* content comes from an earlier link */
    bool was_in_parent;
    bool has_parent_directory;
    struct cairn_id parent_directory; /* ENTER: what the parent snapshot has here */
    bool is_incomplete;               /* LEAVE: not all of the directory was seen */
    bool is_lost;                     /* cannot be stored at all; message says why */
    bool has_problem;                 /* message is to be reported */
    int os_errno;
    char *message;                /* allocated; or NULL */
    struct cairn_buf reused;      /* encoded parent entry */
    struct cairn_buf inline_data; /* small content, or the symlink's target */
    struct cairn_buf xattrs;      /* encoded pairs */
    bool has_flags, has_project;
    uint64_t flags, project;
    uint64_t size; /* bytes read */
    struct extent_block *first, *last;
};

/* A piece of a read buffer that is one chunk. */
struct chunk_job {
    struct item *item;
    struct shared_buffer *buffer;
    const uint8_t *data;
    size_t len;
    struct cairn_id *id;
};

/* A read buffer shared by the chunks that were cut from it. */
struct shared_buffer {
    struct backup *backup;
    atomic_uint refs;
    uint8_t *bytes;
};

/* One worker and what it works with. */
struct worker {
    struct backup *backup;
    struct cairn_lane *lane;
    uint8_t *small; /* buffer for small files */
    struct cairn_xattrs xattrs;
    double busy, waiting;
};

/* One level of the parent snapshot, beside the directory being walked. */
struct parent_level {
    bool is_open;
    struct cairn_tree_reader tree;
    struct cairn_changes_reader changes;
    struct cairn_entry entry;
    struct cairn_change_record record;
    bool has_entry, has_changes;
};

/* One level of the tree under construction. */
struct build_level {
    struct cairn_tree_builder tree;
    struct cairn_changes_builder changes;
    struct cairn_buf node; /* its finished change-detection node */
    struct item *item;     /* the directory's ENTER item */
};

/* The first link of a file with several. */
struct link_entry {
    uint64_t device, inode;
    uint64_t group;
    uint64_t left;          /* links not met yet */
    struct cairn_buf entry; /* encoded, without a name; empty: it could not be read */
};

/* What is left out. Read by the walk's threads; the counters are theirs. */
struct backup_exclude {
    struct cairn_patterns *patterns;
    struct cairn_walk_tag *tags;
    size_t tag_count;
    struct cairn_mounts mounts;
    atomic_uint_fast64_t excluded;
    atomic_bool met_repository;
};

struct backup {
    struct cairn_repo *repo;
    const struct cairn_backup_options *options;
    struct cairn_backup_result result;
    struct cairn_session *session;
    struct cairn_lane *metadata;
    struct cairn_chunker_handle *chunker;
    struct cairn_fetcher *fetcher;
    struct cairn_walk *walk;
    struct backup_exclude exclude;
    struct cairn_manifest manifest;
    bool has_parent;
    struct cairn_manifest parent;
    int64_t now_ns;

    struct item *window_head, *window_tail;
    size_t window_count;

    struct parent_level *parents;
    size_t parent_depth, parent_cap;
    struct build_level *levels;
    size_t level_depth, level_cap;
    struct cairn_content_builder content;
    struct cairn_buf scratch;
    struct cairn_buf problems; /* encoded list for the manifest */
    struct link_entry *links;
    size_t link_cap, link_count;
    uint64_t next_group;

    pthread_mutex_t lock;
    pthread_cond_t work;  /* a job was queued, or the end */
    pthread_cond_t ready; /* the item that somebody waits for became ready, or a failure */
    _Atomic(struct item *) awaited; /* by the calling thread */
    atomic_uint settling;           /* workers that wait for their own item's chunks */
    struct item *jobs_head, *jobs_tail;
    struct chunk_job chunk_jobs[WORKERS_MAX];
    size_t chunk_count;
    unsigned idle;
    bool closing;
    atomic_bool failed;
    int failure;
    struct cairn_error failure_error;

    struct cairn_pool *buffers;
    size_t buffer_bytes, small_bytes;
    struct worker workers[WORKERS_MAX];
    pthread_t threads[WORKERS_MAX];
    size_t worker_count, started;
    uint64_t last_event;
    atomic_ulong bytes_done;
    uint64_t files_done;
    uint64_t changes_new; /* new bytes of the change-detection stream: not the user's data */
};

/* backup_item.c */
struct item *cairn_backup_item_new(int kind);
void cairn_backup_item_free(struct item *item);
/* A new stretch at the end of a file; the id is filled in later. NULL: no memory. */
struct cairn_id *cairn_backup_item_extent(struct item *item, uint64_t len, bool is_hole);
/* Forgets what was read of a file, to read it again. No chunk job may be at work on it. */
void cairn_backup_item_drop_content(struct item *item);
/* Notes what went wrong with an item; the first message stays. */
void cairn_backup_item_problem(struct item *item, bool is_lost, int os_errno, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/* backup_worker.c: starts the workers; hands one an item to read; ends them. */
int cairn_backup_workers_start(struct backup *b, struct cairn_error *err);
void cairn_backup_workers_stop(struct backup *b);
void cairn_backup_submit(struct backup *b, struct item *item);
/* One more or one less job at work on an item. */
void cairn_backup_item_done(struct backup *b, struct item *item);
/* The pipeline has failed: everybody ends soon. */
void cairn_backup_fail(struct backup *b, int status, const struct cairn_error *error);
/* Stores one chunk, or queues it for an idle worker. */
int cairn_backup_chunk(struct worker *w, struct item *item, struct shared_buffer *buffer,
                       const uint8_t *data, size_t len, struct cairn_id *id,
                       struct cairn_error *err);
struct shared_buffer *cairn_backup_buffer_get(struct worker *w);
void cairn_backup_buffer_put(struct shared_buffer *buffer);

/* backup_read.c: everything that has to be read of one entry. */
void cairn_backup_read(struct worker *w, struct item *item);
/* backup_file.c: the content of a regular file. */
int cairn_backup_read_content(struct worker *w, struct item *item, int fd, struct cairn_error *err);

/* backup_parent.c: the parent snapshot, level by level beside the walk. */
int cairn_backup_parent_begin(struct backup *b, struct cairn_error *err);
int cairn_backup_parent_match(struct backup *b, struct item *item, struct cairn_slice name,
                              struct cairn_error *err);
int cairn_backup_parent_enter(struct backup *b, struct item *item, struct cairn_error *err);
void cairn_backup_parent_leave(struct backup *b);
void cairn_backup_parent_end(struct backup *b);

/* backup_assemble.c: consumes one ready item. */
int cairn_backup_assemble(struct backup *b, struct item *item, struct cairn_error *err);
void cairn_backup_assemble_end(struct backup *b);

/* backup_entry.c: the entry of a ready item; slices lead into the item and b->content. */
int cairn_backup_entry(struct backup *b, struct item *item, struct cairn_entry *out,
                       struct cairn_error *err);

/* backup_links.c */
struct link_entry *cairn_backup_link_find(struct backup *b, uint64_t device, uint64_t inode);
int cairn_backup_link_add(struct backup *b, uint64_t device, uint64_t inode, uint64_t links,
                          struct link_entry **out, struct cairn_error *err);
void cairn_backup_link_drop(struct backup *b, struct link_entry *entry);

/* backup_exclude.c: what the options say is to be left out; the filter of the walk. */
int cairn_backup_exclude_init(struct backup *b, struct cairn_error *err);
void cairn_backup_exclude_release(struct backup *b);
enum cairn_walk_verdict cairn_backup_exclude_filter(void *backup, struct cairn_dir *dir,
                                                    const char *name, size_t name_len,
                                                    const struct cairn_stat *stat);

/* backup_report.c */
void cairn_backup_report_problem(struct backup *b, const char *path, size_t path_len, int os_errno,
                                 const char *message);
/* The problem of an item, if it has one, and the item itself, if the caller wants to hear of all:
 * what is "new", "changed" or "unmodified", or NULL: nothing was stored. */
void cairn_backup_report_item(struct backup *b, const struct item *item, const char *what);
void cairn_backup_progress(struct backup *b);

#endif
