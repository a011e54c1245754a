/* SPDX-License-Identifier: Apache-2.0
 *
 * restore_internal.h - the parts of a restore (docs/design/restore.md).
 *
 * The calling thread walks the trees, makes directories, links and special files, and gathers
 * regular files into batches; workers take tasks of a batch, decode frames and write files. At most
 * two batches exist: one is filled while the other is worked on.
 *
 * Invariants
 * 1. Everything below the target is reached by one name relative to a held directory descriptor,
 *    and every attribute is set through a descriptor.
 * 2. A name of a regular file that is left behind holds all its bytes, each verified; a file that
 *    fails is unlinked by whoever drops its last piece.
 * 3. A directory's attributes are set when its walk has ended and its last pending entry is done.
 * 4. Batches retire in order; a hard link is made when the batch that names it retires, so its
 * first name is complete. Lock: restore->lock guards the problem list, the fatal error and the
 * tasks of batches; no system call on the target is made under it. A stripe lock guards only the
 * creation of a file that several tasks write.
 */
#ifndef CAIRN_ENGINE_RESTORE_INTERNAL_H
#define CAIRN_ENGINE_RESTORE_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <cairn/cairn.h>

#include "base/buffer.h"
#include "engine/restore.h"
#include "snapshot/content.h"
#include "snapshot/entry.h"
#include "snapshot/tree.h"
#include "store/store.h"

#define CAIRN_RESTORE_THREADS_MAX 8u
#define CAIRN_RESTORE_BATCH_FILES 4096u
#define CAIRN_RESTORE_BATCH_WANTS 20000u
#define CAIRN_RESTORE_BATCH_BYTES ((uint64_t)256 << 20) /* content */
#define CAIRN_RESTORE_BATCH_NAMES ((size_t)4 << 20)     /* names, attributes, inline content */
/* Adjacent frames are read together up to so many stored bytes. */
#define CAIRN_RESTORE_READ_BYTES (1u << 20)
#define CAIRN_RESTORE_STRIPES 64u

/* Inode flags that a user can set and that mean the same on every file system that has them. */
#define CAIRN_RESTORE_FLAGS                                                                        \
    (0x00000001u /* secure deletion */ | 0x00000002u /* undelete */ | 0x00000004u /* compress */ | \
     0x00000008u /* sync */ | 0x00000010u /* immutable */ | 0x00000020u /* append only */ |        \
     0x00000040u /* no dump */ | 0x00000080u /* no atime */ | 0x00004000u /* journal data */ |     \
     0x00008000u /* no tail */ | 0x00010000u /* dir sync */ | 0x00020000u /* top dir */ |          \
     0x00800000u /* no copy on write */ | 0x20000000u /* project inherited */)
#define CAIRN_RESTORE_FLAG_NOCOW 0x00800000u

/* What is set on an entry besides its content. xattrs lead into the owner's memory. */
struct cairn_restore_meta {
    int type; /* enum cairn_entry_type */
    uint32_t mode, uid, gid;
    struct cairn_time mtime, atime;
    bool has_atime, has_xattrs_ref;
    uint32_t flags; /* only CAIRN_RESTORE_FLAGS */
    uint32_t project;
    uint64_t unknown_field;
    struct cairn_slice xattrs;
    struct cairn_id xattrs_ref;
};

/* Attributes that could not be set on one entry. */
struct cairn_restore_loss {
    int os_errno; /* of the first */
    char what[400];
};

/* Set in pins when the walk of a directory has ended. */
#define CAIRN_RESTORE_DIR_WALKED 0x40000000

/* A directory of the target. pins: who needs fd (the walker while the directory is in its window,
 * and each pending entry); refs: who needs the memory (also directories below). fd changes only by
 * the walker and only while pins is 0, and is closed by whoever drops the last pin. */
struct cairn_restore_dir {
    atomic_int refs, pins;
    int fd;
    bool in_window;       /* walker only: it holds a pin */
    bool gives_own_ids;   /* files made here belong to this process's effective ids */
    bool has_default_acl; /* files made here get an ACL that is not theirs */
    bool apply;           /* set its attributes at its end */
    dev_t dev;
    ino_t ino;
    uint64_t batch; /* walker only: number of the last batch that counted this descriptor */
    uint64_t number;
    struct cairn_restore_dir *parent; /* NULL: the target */
    struct cairn_restore_meta meta;
    size_t name_len;
    char name[]; /* NUL-terminated; then the attributes */
};

/* A regular file on its way. pending: wants that are not written yet, and 1 until its walk ended
 * (unless it is one chunk). */
struct cairn_restore_file {
    struct cairn_restore_dir *dir;
    struct cairn_restore_meta meta;
    uint64_t number, size, group;
    atomic_uint_fast64_t pending;
    atomic_bool failed;
    atomic_int fd;                  /* -1: not made yet */
    int direct_fd;                  /* the same file for direct writes, or -1; set before fd */
    atomic_uint_fast64_t solid;     /* so far the walk met no hole */
    atomic_uint_fast64_t allocated; /* room was asked for so far */
    bool is_whole;                  /* one chunk is all of it: one task makes, writes and ends it */
    bool ends_in_hole;              /* its length has to be set */
    bool is_sized;                  /* that was done */
    bool mode_is_right;             /* made with its final mode */
    struct cairn_slice inline_data;
    size_t name_len;
    char name[]; /* NUL-terminated; then attributes and inline content */
};

/* A further name of a file. */
struct cairn_restore_link {
    struct cairn_restore_dir *dir;
    uint64_t number, group, size;
    bool is_file;
    char *name;
};

/* One place that wants one chunk. */
struct cairn_restore_want {
    struct cairn_restore_file *file;
    uint64_t at;
    uint32_t len;
    struct cairn_id id;
    struct cairn_location location;
};

/* A piece of work: wants (of frames read together), or files whose walk ended. */
struct cairn_restore_task {
    bool is_files;
    uint32_t first, count;
    uint64_t place; /* number of the first file */
};

struct cairn_restore_batch {
    uint64_t number;
    struct cairn_restore_want *wants;
    struct cairn_restore_want **order; /* sorted by place */
    size_t want_count, order_count;
    struct cairn_restore_file **files; /* those whose walk ended in this batch */
    size_t file_count;
    struct cairn_restore_file **held; /* those of them with a hold for a task to drop */
    size_t held_count;
    struct cairn_restore_link *links;
    size_t link_count, link_cap;
    struct cairn_restore_task *tasks;
    size_t task_count, task_cap, tasks_left;
    /* Stretches of the tasks, so that workers make files in different directories: two that make
     * files in one wait for each other. */
    struct {
        size_t next, end;
    } stretches[CAIRN_RESTORE_THREADS_MAX];
    size_t stretch_count;
    uint64_t bytes;
    size_t name_bytes;
    unsigned descriptors;
    bool is_submitted;
};

struct cairn_restore_problem {
    struct cairn_restore_problem *next;
    uint64_t number;
    bool is_lost; /* nothing of the entry was restored */
    int os_errno;
    char *path;
    char message[1016];
};

/* Numbers, each at most once. */
struct cairn_restore_set {
    uint64_t *slots; /* 0: free */
    size_t count, cap;
};

enum cairn_restore_stage {
    CAIRN_RESTORE_STAGE_READ,
    CAIRN_RESTORE_STAGE_DECODE,
    CAIRN_RESTORE_STAGE_WRITE,
    CAIRN_RESTORE_STAGE_WAIT,
    CAIRN_RESTORE_STAGES
};

/* Flags of a hard-linked file, which can be set only when no more links are made. */
struct cairn_restore_late_flags {
    struct cairn_restore_dir *dir; /* and name: of the first name; dir is a reference */
    char *name;
    uint64_t group, number;
    struct cairn_restore_meta meta;
};

struct cairn_restore_level {
    struct cairn_tree_reader reader;
    struct cairn_restore_dir *dir;
};

struct cairn_restore {
    struct cairn_store *store;
    const struct cairn_restore_options *options;
    char *prefix; /* path in the snapshot of what the target stands for, "" for its root */
    int target_fd;
    uid_t uid;
    gid_t gid;
    mode_t umask;
    unsigned window, batch_descriptors, threads;
    size_t direct_block; /* what direct writes are multiples of; 0: none are made */
    /* walker */
    struct cairn_fetcher *fetcher;
    struct cairn_content_reader content;
    struct cairn_restore_level *levels;
    size_t depth, level_cap;
    bool is_verifying; /* the second walk: nothing is written */
    struct cairn_buf verify_buf;
    uint64_t number;
    struct cairn_restore_batch batches[2];
    uint64_t batch_number;
    /* hard links */
    struct cairn_restore_set groups;
    int staging_fd;
    char staging_name[40];
    struct cairn_restore_late_flags *late;
    size_t late_count, late_cap;
    /* workers */
    pthread_t workers[CAIRN_RESTORE_THREADS_MAX];
    size_t workers_started;
    atomic_size_t workers_running; /* gives each its number */
    pthread_mutex_t lock;
    pthread_cond_t work, done;
    bool is_closing;
    pthread_mutex_t stripes[CAIRN_RESTORE_STRIPES];
    /* reports */
    struct cairn_restore_problem *problems, **problems_end;
    atomic_bool has_problems, stop;
    int fatal;
    struct cairn_error fatal_error;
    atomic_uint_fast64_t files_done, dirs_done, others_done, bytes_done;
    atomic_uint_fast64_t stage_ns[CAIRN_RESTORE_STAGES];
    uint64_t files_total, bytes_total;
    uint64_t problem_count;
    uint64_t last_progress_ns;
    struct cairn_restore_set lost; /* numbers of entries that were not restored */
};

/* ---- restore_report.c: what the caller is told -------------------------------------------- */

/* Records that an entry (name below dir; NULL: dir itself) was not wholly restored. Any thread. */
void cairn_restore_problem(struct cairn_restore *r, const struct cairn_restore_dir *dir,
                           const char *name, uint64_t number, bool is_lost, int os_errno,
                           const char *fmt, ...) __attribute__((format(printf, 7, 8)));

/* Ends the restore: the first status stays. Any thread. */
void cairn_restore_stop(struct cairn_restore *r, int status, const struct cairn_error *err);

/* Whether a failed system call on the target leaves no hope for other entries; then stops. */
bool cairn_restore_is_fatal(struct cairn_restore *r, int os_errno);

/* Sends pending problems and, when it is time, progress. Calling thread. CANCELLED or the fatal
 * status, if there is one. */
int cairn_restore_tick(struct cairn_restore *r, struct cairn_error *err);

/* Sends pending problems only. Calling thread. */
void cairn_restore_drain(struct cairn_restore *r);
void cairn_restore_progress(struct cairn_restore *r);
void cairn_restore_item(struct cairn_restore *r, const struct cairn_restore_dir *dir,
                        const char *name);
void cairn_restore_stages(struct cairn_restore *r, uint64_t sync_ns);

/* Adds a number above 0; *added: it was not there. NO_MEMORY. */
int cairn_restore_set_add(struct cairn_restore_set *set, uint64_t number, bool *added,
                          struct cairn_error *err);
bool cairn_restore_set_has(const struct cairn_restore_set *set, uint64_t number);
void cairn_restore_set_release(struct cairn_restore_set *set);

/* ---- restore_meta.c: attributes ------------------------------------------------------------ */

/* Copies what has to be set from an entry; xattrs stay borrowed. */
void cairn_restore_meta_from(struct cairn_restore_meta *meta, const struct cairn_entry *entry);

/* Whether the entry has extended attributes. */
bool cairn_restore_meta_has_xattrs(const struct cairn_restore_meta *meta);

/* Sets owner (unless it is right), extended attributes, mode (unless it is right) and times through
 * a descriptor, in this order; failures go to loss. is_path: fd is an O_PATH descriptor. */
void cairn_restore_meta_apply(const struct cairn_restore *r, struct cairn_fetcher *fetcher, int fd,
                              bool is_path, const struct cairn_restore_meta *meta,
                              bool owner_is_right, bool mode_is_right,
                              struct cairn_restore_loss *loss);

/* Sets project id and inode flags. The descriptor must be a readable or writable one. */
void cairn_restore_meta_flags(int fd, const struct cairn_restore_meta *meta,
                              struct cairn_restore_loss *loss);

/* Before content is written: flags that only an empty file takes. */
void cairn_restore_meta_early(int fd, const struct cairn_restore_meta *meta);

/* Adds to loss. */
void cairn_restore_loss_add(struct cairn_restore_loss *loss, int os_errno, const char *what);

/* Reports a loss, if there is one, or a field that this version does not know. */
void cairn_restore_loss_report(struct cairn_restore *r, const struct cairn_restore_loss *loss,
                               const struct cairn_restore_meta *meta,
                               const struct cairn_restore_dir *dir, const char *name,
                               uint64_t number);

/* ---- restore_dir.c: directories of the target ---------------------------------------------- */

/* Makes the directory of an entry below parent and pins it for the walker. *out NULL: it failed and
 * was reported. */
int cairn_restore_dir_make(struct cairn_restore *r, struct cairn_restore_dir *parent,
                           const struct cairn_entry *entry, uint64_t number,
                           struct cairn_restore_dir **out, struct cairn_error *err);

/* Opens what cairn_restore_dir_make made, for the second walk. */
int cairn_restore_dir_reopen(struct cairn_restore *r, struct cairn_restore_dir *parent,
                             const struct cairn_entry *entry, uint64_t number,
                             struct cairn_restore_dir **out, struct cairn_error *err);

/* The target itself; entry: whose attributes it gets at the end, or NULL. */
int cairn_restore_dir_target(struct cairn_restore *r, const struct cairn_entry *entry,
                             struct cairn_restore_dir **out, struct cairn_error *err);

/* One more entry of dir is pending. Walker only, while it holds a pin itself. */
void cairn_restore_dir_pin(struct cairn_restore_dir *dir);

/* One entry of dir is done. The last pin closes fd and, if the walk has ended, sets attributes. */
void cairn_restore_dir_unpin(struct cairn_restore *r, struct cairn_fetcher *fetcher,
                             struct cairn_restore_dir *dir);
void cairn_restore_dir_unref(struct cairn_restore_dir *dir);

/* The walker leaves a directory's window, or comes back to it from one below. IO: it was moved. */
void cairn_restore_dir_leave(struct cairn_restore *r, struct cairn_restore_dir *dir);
int cairn_restore_dir_return(struct cairn_restore_dir *dir, int below_fd, struct cairn_error *err);

/* The walk of a directory has ended: gives up the walker's pin and reference. */
void cairn_restore_dir_end(struct cairn_restore *r, struct cairn_restore_dir *dir);

/* ---- restore_walk.c, restore_node.c -------------------------------------------------------- */

/* Restores everything below a directory chunk into dir (taking over the walker's pin). */
int cairn_restore_walk(struct cairn_restore *r, const struct cairn_id *directory,
                       struct cairn_restore_dir *dir, struct cairn_error *err);

/* Restores one entry that is no directory. */
int cairn_restore_entry(struct cairn_restore *r, struct cairn_restore_dir *dir,
                        const struct cairn_entry *entry, struct cairn_error *err);
void cairn_restore_walk_release(struct cairn_restore *r);

/* Makes a symlink, device, FIFO or socket with its attributes. */
int cairn_restore_node(struct cairn_restore *r, struct cairn_restore_dir *dir,
                       const struct cairn_entry *entry, uint64_t number, struct cairn_error *err);

/* ---- restore_batch.c ------------------------------------------------------------------------ */

int cairn_restore_batches_init(struct cairn_restore *r, struct cairn_error *err);

/* Gives up what is not done, ends the workers and frees the batches. May be called again. */
void cairn_restore_batches_release(struct cairn_restore *r);

/* Adds a regular file, or a further name of one; submits batches as they fill. */
int cairn_restore_batch_file(struct cairn_restore *r, struct cairn_restore_dir *dir,
                             const struct cairn_entry *entry, uint64_t number,
                             struct cairn_error *err);
int cairn_restore_batch_link(struct cairn_restore *r, struct cairn_restore_dir *dir,
                             const struct cairn_entry *entry, uint64_t number,
                             struct cairn_error *err);

/* Submits what is gathered and waits until everything is done and retired. */
int cairn_restore_batch_finish(struct cairn_restore *r, struct cairn_error *err);

/* Orders the wants of a batch and cuts it into tasks (restore_plan.c). */
int cairn_restore_plan(struct cairn_restore *r, struct cairn_restore_batch *batch,
                       struct cairn_error *err);

/* ---- restore_worker.c ----------------------------------------------------------------------- */

/* Makes the planned tasks of a batch ready to be taken. The lock is held. */
void cairn_restore_tasks_spread(const struct cairn_restore *r, struct cairn_restore_batch *b);

int cairn_restore_workers_start(struct cairn_restore *r, struct cairn_error *err);
void cairn_restore_workers_end(struct cairn_restore *r);

/* ---- restore_file.c ------------------------------------------------------------------------- */

/* Writes len verified bytes of a file at `at`, making it if need be. */
void cairn_restore_file_write(struct cairn_restore *r, struct cairn_restore_file *file,
                              const void *data, size_t len, uint64_t at);

/* The content cannot be had: reports it, once. */
void cairn_restore_file_fail(struct cairn_restore *r, struct cairn_restore_file *file, int os_errno,
                             const char *message);

/* One pending piece is done; the last one ends the file. */
void cairn_restore_file_drop(struct cairn_restore *r, struct cairn_fetcher *fetcher,
                             struct cairn_restore_file *file);

/* The lock of what several tasks do to one file besides writing it. */
pthread_mutex_t *cairn_restore_stripe(struct cairn_restore *r,
                                      const struct cairn_restore_file *file);

/* ---- restore_direct.c ----------------------------------------------------------------------- */

/* Finds out whether the opened target takes direct writes. */
void cairn_restore_direct_init(struct cairn_restore *r);

/* Opens a file that was just made (fd) for direct writes, if it is large enough to gain by them. */
void cairn_restore_direct_open(const struct cairn_restore *r, struct cairn_restore_file *file,
                               int fd);

/* A part of a buffer. */
struct cairn_restore_span {
    size_t from, len;
};

/* Writes the whole blocks of len bytes at `at` directly, if data lies right for that. 0: *out is
 * what was written (len 0: nothing); the rest is left to the caller. -1 and errno: a write failed.
 */
int cairn_restore_direct_write(struct cairn_restore *r, struct cairn_restore_file *file,
                               const uint8_t *data, size_t len, uint64_t at,
                               struct cairn_restore_span *out);

/* 0, or -1 and errno. */
int cairn_restore_direct_close(struct cairn_restore_file *file);

/* ---- restore_links.c ------------------------------------------------------------------------ */

/* Whether an entry is the first name of its group met in this restore (then it is one now). */
int cairn_restore_links_is_first(struct cairn_restore *r, uint64_t group, bool *is_first,
                                 struct cairn_error *err);

/* Keeps the file behind a descriptor for later names. 0 or -1 and errno. Any thread. */
int cairn_restore_links_keep(struct cairn_restore *r, int fd, uint64_t group);

/* Makes a further name. Calling thread. */
void cairn_restore_links_make(struct cairn_restore *r, const struct cairn_restore_link *link);

/* Flags to be set when all links are made. NO_MEMORY. Any thread. */
int cairn_restore_links_flags_later(struct cairn_restore *r, const struct cairn_restore_file *file,
                                    struct cairn_error *err);

/* Sets late flags and removes what was kept. */
void cairn_restore_links_end(struct cairn_restore *r);

/* ---- restore_verify.c ----------------------------------------------------------------------- */

/* Walks again and reads every regular file back; differences are problems. */
int cairn_restore_verify(struct cairn_restore *r, const struct cairn_entry *top,
                         struct cairn_error *err);

/* Compares one entry of the second walk. */
int cairn_restore_verify_entry(struct cairn_restore *r, struct cairn_restore_dir *dir,
                               const struct cairn_entry *entry, uint64_t number,
                               struct cairn_error *err);

#endif
