/* SPDX-License-Identifier: Apache-2.0
 *
 * backend.h - where a repository's bytes live.
 *
 * A backend is a flat set of immutable objects with names such as "config", "keys/<64 hex>",
 * "log/<16 hex>", "index/<64 hex>", "packs/<2 hex>/<64 hex>": put-if-absent, get, ranged get, list,
 * delete. There is no rename, no append and no lock in this interface, so that S3 fits it.
 *
 * Durability. A level (enum cairn_level) tells what must hold when a call returns:
 * - put: at NONE nothing is synced; at every other level the object and its name are durable.
 * - uploads (packs): at FILE the object and its name are durable when cairn_backend_publish
 * returns, synced in the background as each is finished; at FILESYSTEM they get their final names
 * only in publish, after one sync of the whole file system, and the names are then made durable; at
 * NONE and METADATA they get their names when finished and nothing is synced. Whoever commits calls
 * publish before the index is put, and the index before the log entry.
 *
 * After a sync has failed the object it concerned is given up: the call fails, and the content has
 * to be uploaded again under a new upload.
 *
 * Threads: every call may come from any thread; one upload belongs to one thread at a time.
 */
#ifndef CAIRN_BACKEND_BACKEND_H
#define CAIRN_BACKEND_BACKEND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cairn/cairn.h>

#include "base/buffer.h"

/* Longest object name in bytes, without the NUL. */
#define CAIRN_BACKEND_NAME_MAX 127

struct cairn_backend;
struct cairn_upload;

/* Called for each listed object; nonzero ends the list and is returned. name is borrowed. */
typedef int (*cairn_backend_list_fn)(void *ctx, const char *name, uint64_t size);

/* Called by adopt for each complete-looking upload that a dead session left. Verifies the object by
 * reading it (cairn_backend_get_range works with temp_name) and, to keep it, writes the final name
 * to name (CAIRN_BACKEND_NAME_MAX + 1 bytes) and sets *keep; what is not kept is removed. */
typedef int (*cairn_backend_adopt_fn)(void *ctx, const char *temp_name, uint64_t size, char *name,
                                      bool *keep, struct cairn_error *err);

/* What one kind of backend implements; designated initialisers, every member set. Semantics are
 * those of the cairn_backend_ function of the same name. */
struct cairn_backend_ops {
    const char *kind; /* "local", "memory", "fault" */
    void (*close)(struct cairn_backend *backend);
    int (*get)(struct cairn_backend *backend, const char *name, size_t max, struct cairn_buf *out,
               struct cairn_error *err);
    int (*get_range)(struct cairn_backend *backend, const char *name, uint64_t at, void *out,
                     size_t len, struct cairn_error *err);
    int (*size)(struct cairn_backend *backend, const char *name, uint64_t *size,
                struct cairn_error *err);
    int (*put)(struct cairn_backend *backend, const char *name, const void *data, size_t len,
               int level, struct cairn_error *err);
    int (*list)(struct cairn_backend *backend, const char *prefix, cairn_backend_list_fn fn,
                void *ctx, struct cairn_error *err);
    int (*remove)(struct cairn_backend *backend, const char *name, struct cairn_error *err);
    int (*upload_open)(struct cairn_backend *backend, int level, struct cairn_upload **out,
                       struct cairn_error *err);
    int (*upload_submit)(struct cairn_upload *upload, const void *data, size_t len, void *token,
                         struct cairn_error *err);
    int (*upload_reap)(struct cairn_upload *upload, void **token, struct cairn_error *err);
    int (*upload_finish)(struct cairn_upload *upload, const char *name, struct cairn_error *err);
    void (*upload_abort)(struct cairn_upload *upload);
    int (*publish)(struct cairn_backend *backend, int *level, struct cairn_error *err);
    int (*sync_object)(struct cairn_backend *backend, const char *name, struct cairn_error *err);
    int (*adopt)(struct cairn_backend *backend, cairn_backend_adopt_fn fn, void *ctx, bool *found,
                 struct cairn_error *err);
    uint64_t (*free_space)(struct cairn_backend *backend);
};

/* Every backend and every upload begins with these members. */
struct cairn_backend {
    const struct cairn_backend_ops *ops;
};
struct cairn_upload {
    struct cairn_backend *backend;
};

/* Closes and frees; unfinished uploads must have been aborted. Finished uploads that no log entry
 * was put behind stay for the next session to adopt. NULL is allowed. */
void cairn_backend_close(struct cairn_backend *backend);

/* Replaces the contents of out by the whole object. NOT_FOUND; LIMIT: it is larger than max bytes;
 * IO. out is unspecified after a failure. */
int cairn_backend_get(struct cairn_backend *backend, const char *name, size_t max,
                      struct cairn_buf *out, struct cairn_error *err);

/* Reads exactly len bytes at `at`. NOT_FOUND; CORRUPT: the object ends before; IO. */
int cairn_backend_get_range(struct cairn_backend *backend, const char *name, uint64_t at, void *out,
                            size_t len, struct cairn_error *err);

/* The object's size in bytes. NOT_FOUND, IO. */
int cairn_backend_size(struct cairn_backend *backend, const char *name, uint64_t *size,
                       struct cairn_error *err);

/* Creates the object, all or nothing, unless the name exists. EXISTS: it does, and was left as it
 * is; NO_SPACE; IO. A failed put leaves no object under the name, or the whole one (ambiguous
 * answer: read back and compare). Durable as the level says (see above). */
int cairn_backend_put(struct cairn_backend *backend, const char *name, const void *data, size_t len,
                      int level, struct cairn_error *err);

/* Calls fn for every object whose name begins with prefix ("" or ending in "/"), in no particular
 * order. Names that cannot be an object's are skipped. A directory that cannot be read is an error,
 * never an empty list. */
int cairn_backend_list(struct cairn_backend *backend, const char *prefix, cairn_backend_list_fn fn,
                       void *ctx, struct cairn_error *err);

/* Removes an object. NOT_FOUND; IO. The removal is not synced. */
int cairn_backend_remove(struct cairn_backend *backend, const char *name, struct cairn_error *err);

/* Begins an object whose name is known only at its end. level is fixed here for the upload. */
int cairn_backend_upload_open(struct cairn_backend *backend, int level, struct cairn_upload **out,
                              struct cairn_error *err);

/* Appends len bytes. data must stay untouched until upload_reap returns token (not NULL) for it.
 * Every piece but the last is a multiple of 4096 bytes in length, and data is aligned to 4096;
 * the last is a multiple of 4096 too if the caller wants it written past the page cache. May block
 * or complete at once; at most CAIRN_UPLOAD_DEPTH pieces are under way. */
int cairn_backend_upload_submit(struct cairn_upload *upload, const void *data, size_t len,
                                void *token, struct cairn_error *err);
#define CAIRN_UPLOAD_DEPTH 8

/* Waits for one submitted piece (any order) and tells its token; *token = NULL: none is under way.
 * After an error the upload can only be aborted (which waits for the rest). */
int cairn_backend_upload_reap(struct cairn_upload *upload, void **token, struct cairn_error *err);

/* Ends the object under its final name and frees the upload, also on failure. All pieces must have
 * been reaped. An object that exists under the name is success (it has the same content, because
 * names of uploads are hashes). See above for what is durable when. */
int cairn_backend_upload_finish(struct cairn_upload *upload, const char *name,
                                struct cairn_error *err);

/* Gives the object up, waits for what is under way and frees the upload. NULL is allowed. */
void cairn_backend_upload_abort(struct cairn_upload *upload);

/* Makes every finished upload of this handle visible and, as their level asks, durable. *level in:
 * the level wanted; out: the level that holds (FILE instead of FILESYSTEM where the file system
 * offers no syncfs that can be trusted). On failure nothing may be committed. */
int cairn_backend_publish(struct cairn_backend *backend, int *level, struct cairn_error *err);

/* Makes one existing object and its name durable. NOT_FOUND, IO. */
int cairn_backend_sync_object(struct cairn_backend *backend, const char *name,
                              struct cairn_error *err);

/* Called once, before a writing session uploads anything. Looks for sessions that ended without
 * a log entry behind what they uploaded (never one whose process lives) and calls fn for each
 * upload they left. What is kept is synced, given its final name, and that name synced. What an
 * earlier session of this handle left gets its names without being offered. *found: there were such
 * sessions, so that packs under final names may be uncommitted too (backends that cannot tell
 * always say true). A nonzero return of fn ends the search and is returned. */
int cairn_backend_adopt(struct cairn_backend *backend, cairn_backend_adopt_fn fn, void *ctx,
                        bool *found, struct cairn_error *err);

/* Bytes that may still be written, UINT64_MAX if unknown. */
uint64_t cairn_backend_free_space(struct cairn_backend *backend);

#endif
