/* SPDX-License-Identifier: Apache-2.0
 *
 * Looking inside a snapshot: walking its trees and reading single files.
 */
#include "engine/browse.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "snapshot/content.h"
#include "snapshot/tree.h"

#define BROWSE_CACHE_BYTES ((size_t)16 << 20)

int cairn_browse_find(struct cairn_fetcher *fetcher, struct cairn_tree_reader *reader,
                      const struct cairn_manifest *manifest, const char *path,
                      struct cairn_entry *out, struct cairn_error *err)
{
    struct cairn_entry entry;
    char shown[200];
    cairn_escape(shown, sizeof(shown), path ? path : "/", path ? strlen(path) : 1);
    int status = cairn_manifest_root(manifest, &entry, err);
    for (const char *at = path ? path : ""; status == CAIRN_OK;) {
        at += strspn(at, "/");
        size_t len = strcspn(at, "/");
        if (len == 0)
            break;
        if (entry.type != CAIRN_ENTRY_DIRECTORY) {
            status = CAIRN_NOT_FOUND;
        } else {
            struct cairn_id id = entry.directory;
            status = cairn_tree_find(reader, fetcher, &id, at, len, &entry, err);
        }
        if (status == CAIRN_NOT_FOUND)
            return cairn_error_set(err, CAIRN_NOT_FOUND, 0, "the snapshot has no %s", shown);
        at += len;
    }
    if (status == CAIRN_OK)
        *out = entry;
    return status;
}

/* A directory being walked. */
struct frame {
    struct cairn_tree_reader reader;
    size_t path_len; /* of the directory, in the walk's path buffer */
};

struct walk {
    struct cairn_repo *repo;
    struct cairn_fetcher *fetcher;
    struct cairn_buf path;
    struct frame *frames;
    size_t depth, cap;
    bool recursive;
    cairn_entry_fn fn;
    void *ctx;
};

static int report(struct walk *w, const struct cairn_entry *e, struct cairn_error *err)
{
    struct cairn_entry_info info = {
        .mode = cairn_entry_st_mode(e),
        .uid = e->uid,
        .gid = e->gid,
        .size = e->size,
        .mtime_sec = e->mtime.sec,
        .mtime_nsec = e->mtime.nsec,
        .rdev_major = e->rdev_major,
        .rdev_minor = e->rdev_minor,
        .hardlink_group = e->hardlink_group,
    };
    char *link = NULL;
    size_t len = w->path.len;
    cairn_buf_put_u8(&w->path, 0);
    if (e->type == CAIRN_ENTRY_SYMLINK)
        link = cairn_strndup((const char *)e->link.data, e->link.len);
    if (w->path.failed || (e->type == CAIRN_ENTRY_SYMLINK && link == NULL)) {
        cairn_free(link);
        return cairn_error_no_memory(err, "a path");
    }
    info.path = (const char *)w->path.data;
    info.path_len = len;
    info.link = link;
    int status = w->fn(w->ctx, &info);
    w->path.len = len;
    cairn_free(link);
    return status;
}

static int enter(struct walk *w, const struct cairn_id *directory, struct cairn_error *err)
{
    if (w->depth == w->cap) {
        size_t cap = w->cap ? w->cap * 2 : 16;
        struct frame *grown = cairn_realloc(w->frames, cap, sizeof(*grown));
        if (grown == NULL)
            return cairn_error_no_memory(err, "walking a snapshot");
        memset(grown + w->cap, 0, (cap - w->cap) * sizeof(*grown));
        w->frames = grown;
        w->cap = cap;
    }
    struct frame *f = &w->frames[w->depth];
    int status = cairn_tree_reader_init(&f->reader, w->fetcher, directory, err);
    if (status != CAIRN_OK)
        return status;
    f->path_len = w->path.len;
    w->depth++;
    return CAIRN_OK;
}

static int walk(struct walk *w, struct cairn_error *err)
{
    int status = CAIRN_OK;
    while (status == CAIRN_OK && w->depth > 0) {
        struct frame *f = &w->frames[w->depth - 1];
        struct cairn_entry entry;
        bool done;
        if (cairn_store_is_cancelled(w->repo->store))
            return cairn_error_set(err, CAIRN_CANCELLED, 0, "cancelled");
        w->path.len = f->path_len;
        status = cairn_tree_next(&f->reader, &entry, &done, err);
        if (status != CAIRN_OK)
            break;
        if (done) {
            w->depth--;
            continue;
        }
        cairn_buf_put_u8(&w->path, '/');
        cairn_buf_put(&w->path, entry.name.data, entry.name.len);
        status = report(w, &entry, err);
        if (status == CAIRN_OK && w->recursive && entry.type == CAIRN_ENTRY_DIRECTORY) {
            struct cairn_id id = entry.directory;
            status = enter(w, &id, err);
        }
    }
    return status;
}

int cairn_snapshot_walk(struct cairn_repo *repo, const struct cairn_id *snapshot, const char *path,
                        bool recursive, cairn_entry_fn fn, void *ctx, struct cairn_error *err)
{
    struct walk w = {.repo = repo, .recursive = recursive, .fn = fn, .ctx = ctx};
    struct cairn_manifest manifest = {0};
    struct cairn_tree_reader found = {0};
    struct cairn_entry entry;
    int status = cairn_repo_manifest(repo, snapshot, &manifest, err);
    if (status == CAIRN_OK)
        status = cairn_fetcher_new(repo->store, BROWSE_CACHE_BYTES, &w.fetcher, err);
    if (status == CAIRN_OK)
        status = cairn_browse_find(w.fetcher, &found, &manifest, path, &entry, err);
    if (status == CAIRN_OK) {
        /* The path as given, with single slashes and none at its end. */
        for (const char *at = path ? path : ""; *(at += strspn(at, "/")); at += strcspn(at, "/")) {
            cairn_buf_put_u8(&w.path, '/');
            cairn_buf_put(&w.path, at, strcspn(at, "/"));
        }
        if (entry.type == CAIRN_ENTRY_DIRECTORY) {
            struct cairn_id id = entry.directory;
            status = enter(&w, &id, err);
            if (status == CAIRN_OK)
                status = walk(&w, err);
        } else {
            status = report(&w, &entry, err);
        }
    }
    for (size_t i = 0; i < w.cap; i++)
        cairn_tree_reader_release(&w.frames[i].reader);
    cairn_free(w.frames);
    cairn_buf_release(&w.path);
    cairn_tree_reader_release(&found);
    cairn_fetcher_free(w.fetcher);
    cairn_manifest_release(&manifest);
    return status;
}

/* Sends len zero bytes. */
static int send_zeros(uint64_t len, cairn_data_fn fn, void *ctx)
{
    static const uint8_t zeros[65536];
    int status = CAIRN_OK;
    while (len > 0 && status == CAIRN_OK) {
        size_t n = len < sizeof(zeros) ? (size_t)len : sizeof(zeros);
        status = fn(ctx, zeros, n);
        len -= n;
    }
    return status;
}

static int send_content(struct cairn_repo *repo, struct cairn_fetcher *fetcher,
                        const struct cairn_entry *entry, cairn_data_fn fn, void *ctx,
                        struct cairn_error *err)
{
    struct cairn_content_reader content = {0};
    bool done = false;
    int status = cairn_content_reader_init(&content, fetcher, entry, err);
    while (status == CAIRN_OK && !done) {
        struct cairn_content_extent extent;
        struct cairn_slice data;
        status = cairn_content_next(&content, &extent, &done, err);
        if (status != CAIRN_OK || done)
            break;
        if (cairn_store_is_cancelled(repo->store)) {
            status = cairn_error_set(err, CAIRN_CANCELLED, 0, "cancelled");
        } else if (extent.is_hole) {
            status = send_zeros(extent.len, fn, ctx);
        } else {
            status = cairn_fetcher_get(fetcher, CAIRN_KIND_DATA, &extent.id, &data, err);
            if (status == CAIRN_OK && data.len != extent.len)
                status = cairn_error_set(err, CAIRN_CORRUPT, 0, "a chunk has another length");
            if (status == CAIRN_OK)
                status = fn(ctx, data.data, data.len);
        }
    }
    cairn_content_reader_release(&content);
    return status;
}

int cairn_snapshot_read(struct cairn_repo *repo, const struct cairn_id *snapshot, const char *path,
                        cairn_data_fn fn, void *ctx, struct cairn_error *err)
{
    struct cairn_manifest manifest = {0};
    struct cairn_fetcher *fetcher = NULL;
    struct cairn_tree_reader found = {0};
    struct cairn_entry entry;
    int status = cairn_repo_manifest(repo, snapshot, &manifest, err);
    if (status == CAIRN_OK)
        status = cairn_fetcher_new(repo->store, BROWSE_CACHE_BYTES, &fetcher, err);
    if (status == CAIRN_OK)
        status = cairn_browse_find(fetcher, &found, &manifest, path, &entry, err);
    if (status == CAIRN_OK && entry.type != CAIRN_ENTRY_FILE)
        status = cairn_error_set(err, CAIRN_MISUSE, 0, "this is not a regular file");
    if (status == CAIRN_OK && entry.has_inline)
        status = fn(ctx, entry.inline_data.data, entry.inline_data.len);
    else if (status == CAIRN_OK && entry.has_content)
        status = send_content(repo, fetcher, &entry, fn, ctx, err);
    cairn_tree_reader_release(&found);
    cairn_fetcher_free(fetcher);
    cairn_manifest_release(&manifest);
    return status;
}
