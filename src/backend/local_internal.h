/* SPDX-License-Identifier: Apache-2.0
 *
 * local_internal.h - what the files of the local backend share.
 *
 * Invariants
 * 1. Nothing is ever written under a final name: files are made in tmp/<session>/ and renamed
 *    without replacing.
 * 2. A file whose sync failed is removed, never synced again; the handle is then `broken`: no later
 *    publish succeeds, because it cannot know whose upload was lost.
 * 3. At FILE an object gets its name only after its own fsync, at FILESYSTEM only after a syncfs
 *    that began after its last write; the directory is synced after the rename.
 * 4. A session directory is touched by another process only while that one holds its `lock`.
 *
 * Locks, in this order: publish_lock, lock, cache.lock. System calls that may wait for the disk are
 * made without `lock`, except at the session's beginning.
 */
#ifndef CAIRN_BACKEND_LOCAL_INTERNAL_H
#define CAIRN_BACKEND_LOCAL_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "backend/backend.h"

#define CAIRN_LOCAL_ALIGN 4096
#define CAIRN_LOCAL_SESSION_CHARS 16
#define CAIRN_LOCAL_TEMP_CHARS 17  /* "u" and up to 16 digits */
#define CAIRN_LOCAL_CACHE_FILES 16 /* descriptors kept for ranged reads */
#define CAIRN_LOCAL_QUEUE_FILES 32 /* finished uploads that wait for the background sync */
#define CAIRN_LOCAL_LOCK_NAME "lock"

/* What identifies a file of ours after it was renamed by somebody else. */
struct cairn_local_file {
    dev_t dev;
    ino_t ino;
    uint64_t size;
};

/* A finished upload on its way to its final name. */
struct cairn_local_pending {
    struct cairn_local_pending *next;
    int fd; /* still to be synced; -1: not by itself */
    struct cairn_local_file file;
    char temp[CAIRN_LOCAL_TEMP_CHARS + 1];
    char name[CAIRN_BACKEND_NAME_MAX + 1];
};

struct cairn_local_cached {
    char name[CAIRN_BACKEND_NAME_MAX + 1];
    int fd; /* -1: free */
    unsigned users;
    bool dropped; /* to be closed by its last user */
    uint64_t used_at;
};

struct cairn_local_cache {
    pthread_mutex_t lock;
    uint64_t clock;
    struct cairn_local_cached files[CAIRN_LOCAL_CACHE_FILES];
};

struct cairn_local {
    struct cairn_backend base;
    char *path; /* escaped, for messages */
    int root;   /* the repository's directory */
    bool read_only;
    bool syncfs_trusted;
    atomic_bool uring_refused;
    struct cairn_local_cache cache;

    pthread_mutex_t publish_lock; /* one publish at a time */
    pthread_mutex_t lock;         /* guards what follows */
    pthread_cond_t changed;
    char session[CAIRN_LOCAL_SESSION_CHARS + 1]; /* "": none yet */
    int session_dir, session_lock;               /* -1: none yet */
    uint64_t temp_count;
    bool uncommitted; /* uploads were finished, or adopted, since the last log entry */
    bool broken;      /* invariant 2 */
    struct cairn_error broken_error;
    struct cairn_local_pending *pending;            /* at FILESYSTEM, until publish */
    struct cairn_local_pending *queue, **queue_end; /* at FILE, for the syncing thread */
    size_t queue_len;
    struct cairn_local_ring *rings; /* not in use */
    bool syncing, closing, syncer_started;
    pthread_t syncer;
};

static inline struct cairn_local *cairn_local_from(struct cairn_backend *backend)
{
    return (struct cairn_local *)backend;
}

/* ---- local_error.c ---- */

/* Record a failed system call while reading or writing an object ("": the repository), with the
 * remedy, and return the status. A missing directory or a name in the way is IO when writing. */
int cairn_local_read_error(const struct cairn_local *local, const char *name, int os_errno,
                           struct cairn_error *err);
int cairn_local_write_error(const struct cairn_local *local, const char *name, int os_errno,
                            struct cairn_error *err);

/* CAIRN_OK, or MISUSE: the handle is for reading only, or name is not an object's (below tmp/). */
int cairn_local_check_writable(const struct cairn_local *local, const char *name,
                               struct cairn_error *err);

/* ---- local_path.c ---- */

/* Opens the directory that holds name, one part at a time and never through a symlink, for reading;
 * *leaf points to name's last part. -1 and errno. That a directory of is_layout is absent is told
 * as ENOTDIR: it is damage, not an absent object. */
int cairn_local_open_parent(const struct cairn_local *local, const char *name, const char **leaf);

/* As open_parent for a name about to be created: makes missing directories, except those of
 * is_layout, and syncs their names. */
int cairn_local_make_parent(const struct cairn_local *local, const char *name, const char **leaf);

/* true: name is, or lies in, one of the directories of the first level that every repository has.
 */
bool cairn_local_is_layout(const char *name);

/* Opens an existing object for reading; only regular files. -1 and errno. *st is filled in. */
int cairn_local_open_object(const struct cairn_local *local, const char *name, struct stat *st);

/* fsync of a directory; systems that cannot sync directories are taken at their word. -1, errno. */
int cairn_local_sync_dir(int dir);

/* Reads a directory: calls fn for each entry but "." and ".." with its d_type until fn returns
 * nonzero, which is returned. -1 and errno: it could not be read (fn must not return -1). */
typedef int (*cairn_local_entry_fn)(void *ctx, int dir, const char *entry, unsigned char type);
int cairn_local_walk(int dir, cairn_local_entry_fn fn, void *ctx);

/* ---- local_place.c ---- */

/* Renames temp in from_dir to leaf in dir without replacing. 0: done, or somebody adopted this very
 * file under that name. 1: another file of that name exists; temp is still there or was given that
 * name by an adopter that this cannot tell apart. -1 and errno. Not synced. */
int cairn_local_place(int from_dir, const char *temp, int dir, const char *leaf,
                      const struct cairn_local_file *file);

/* Gives each upload of the list, files in from_dir that are durable if sync is set, its final name
 * and then, with sync, syncs each directory once. What was placed is freed and taken off the list;
 * on failure the rest stays. *sync_failed: a directory could not be synced. */
int cairn_local_place_all(struct cairn_local *local, int from_dir,
                          struct cairn_local_pending **list, bool sync, bool *sync_failed,
                          struct cairn_error *err);

/* ---- local_session.c ---- */

/* Makes the session's directory unless there is one. */
int cairn_local_session_begin(struct cairn_local *local, struct cairn_error *err);

/* Ends it: removed if nothing is left in it that a later session should know of. */
void cairn_local_session_end(struct cairn_local *local);

/* A new name for a file in the session's directory; kind is 'u' (upload, adopted if left behind) or
 * 'p' (put). */
void cairn_local_session_temp(struct cairn_local *local, char kind,
                              char out[CAIRN_LOCAL_TEMP_CHARS + 1]);

/* true: this is how session directories are called. */
bool cairn_local_is_session(const char *name);

/* Takes the lock of a session's directory without waiting. true: held, and *out is its descriptor;
 * the session is dead and is ours to clean up. */
bool cairn_local_session_take(int session_dir, int *out);

/* ---- local_cache.c ---- */

void cairn_local_cache_init(struct cairn_local_cache *cache);
void cairn_local_cache_release(struct cairn_local_cache *cache);

/* A descriptor of the object, to be given back; -1 and errno. */
int cairn_local_cache_get(struct cairn_local *local, const char *name);
void cairn_local_cache_put(struct cairn_local *local, int fd);

/* Forgets the object's descriptor. */
void cairn_local_cache_drop(struct cairn_local_cache *cache, const char *name);

/* ---- local_ring.c, or local_ring_none.c where there is no liburing ---- */

struct cairn_local_ring;

/* A piece that is being written, and what became of it. */
struct cairn_local_piece {
    const void *data;
    size_t len;
    uint64_t at;
    void *token;
    int result; /* bytes written, or a negative errno */
};

/* A ring for CAIRN_UPLOAD_DEPTH writes, perhaps one used before, or NULL: pieces are to be written
 * at once. The caller does not hold the lock. */
struct cairn_local_ring *cairn_local_ring_get(struct cairn_local *local);

/* Gives a ring back for the next upload; nothing may be under way. NULL is allowed. The caller does
 * not hold the lock. */
void cairn_local_ring_put(struct cairn_local *local, struct cairn_local_ring *ring);

/* Frees the rings that were given back. */
void cairn_local_ring_free_all(struct cairn_local *local);

/* Starts a write; a slot must be free. 0, or a negative errno: it was not started, and no other can
 * be. */
int cairn_local_ring_write(struct cairn_local_ring *ring, int fd,
                           const struct cairn_local_piece *piece);

/* Waits for one write (some must be under way). 0, or a negative errno. */
int cairn_local_ring_wait(struct cairn_local_ring *ring, struct cairn_local_piece *out);

/* How many writes are under way. */
unsigned cairn_local_ring_count(const struct cairn_local_ring *ring);

/* ---- local_sync.c ---- */

/* Hands a finished upload to the syncing thread (waits while its queue is full). The file's
 * descriptor is set. The handle owns it from now on, also on failure. */
int cairn_local_sync_enqueue(struct cairn_local *local, struct cairn_local_pending *pending,
                             struct cairn_error *err);

/* Ends the thread; what it has not done stays in the session's directory. */
void cairn_local_sync_stop(struct cairn_local *local);

/* Invariant 2. The caller does not hold the lock. */
void cairn_local_break(struct cairn_local *local, const struct cairn_error *why);

/* CAIRN_OK, or why the handle is broken. */
int cairn_local_check_broken(struct cairn_local *local, struct cairn_error *err);

/* ---- operations of struct cairn_backend_ops ---- */

int cairn_local_get(struct cairn_backend *backend, const char *name, size_t max,
                    struct cairn_buf *out, struct cairn_error *err);
int cairn_local_get_range(struct cairn_backend *backend, const char *name, uint64_t at, void *out,
                          size_t len, struct cairn_error *err);
int cairn_local_size(struct cairn_backend *backend, const char *name, uint64_t *size,
                     struct cairn_error *err);
int cairn_local_put(struct cairn_backend *backend, const char *name, const void *data, size_t len,
                    int level, struct cairn_error *err);
int cairn_local_list(struct cairn_backend *backend, const char *prefix, cairn_backend_list_fn fn,
                     void *ctx, struct cairn_error *err);
int cairn_local_remove(struct cairn_backend *backend, const char *name, struct cairn_error *err);
int cairn_local_upload_open(struct cairn_backend *backend, int level, struct cairn_upload **out,
                            struct cairn_error *err);
int cairn_local_upload_submit(struct cairn_upload *upload, const void *data, size_t len,
                              void *token, struct cairn_error *err);
int cairn_local_upload_reap(struct cairn_upload *upload, void **token, struct cairn_error *err);
int cairn_local_upload_finish(struct cairn_upload *upload, const char *name,
                              struct cairn_error *err);
void cairn_local_upload_abort(struct cairn_upload *upload);
int cairn_local_publish(struct cairn_backend *backend, int *level, struct cairn_error *err);
int cairn_local_sync_object(struct cairn_backend *backend, const char *name,
                            struct cairn_error *err);
int cairn_local_adopt(struct cairn_backend *backend, cairn_backend_adopt_fn fn, void *ctx,
                      bool *found, struct cairn_error *err);

#endif
