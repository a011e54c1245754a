/* SPDX-License-Identifier: Apache-2.0
 *
 * Trees are visited once each, however many snapshots share them: ids of directories seen are kept
 * in a set (32 bytes a directory).
 */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/hex.h"
#include "engine/check_internal.h"
#include "snapshot/changes.h"
#include "snapshot/content.h"
#include "snapshot/tree.h"

#define CHECK_CACHE_BYTES ((size_t)16 << 20)

struct visit {
    struct cairn_check *check;
    struct cairn_fetcher *fetcher;
    struct cairn_id_set seen;
    struct cairn_content_reader content;
    struct cairn_buf path;
    struct level {
        struct cairn_tree_reader reader;
        size_t path_len;
    } * levels;
    size_t depth, cap;
};

/* Reports damage at the current path; other failures are returned. */
static int judge(struct visit *v, int status, const struct cairn_error *local,
                 struct cairn_error *err)
{
    if (!cairn_check_is_damage(status))
        return status == CAIRN_OK
                   ? status
                   : cairn_error_set(err, status, local->os_errno, "%s", local->message);
    cairn_buf_put_u8(&v->path, 0);
    cairn_check_problem(v->check, v->path.failed ? "" : (const char *)v->path.data, local->message);
    if (!v->path.failed)
        v->path.len--;
    return CAIRN_OK;
}

/* Every chunk of a file can be found. */
static int check_file(struct visit *v, const struct cairn_entry *entry, struct cairn_error *local)
{
    bool done = !entry->has_content;
    int status = done ? CAIRN_OK : cairn_content_reader_init(&v->content, v->fetcher, entry, local);
    while (status == CAIRN_OK && !done) {
        struct cairn_content_extent extent;
        struct cairn_location location;
        status = cairn_content_next(&v->content, &extent, &done, local);
        if (status != CAIRN_OK || done || extent.is_hole)
            continue;
        if (!cairn_index_find(cairn_store_index(v->check->repo->store), &extent.id, &location) ||
            location.pack_type != CAIRN_KIND_DATA || location.len != extent.len)
            status =
                cairn_error_set(local, CAIRN_CORRUPT, 0, "content from byte %llu on is in no pack",
                                (unsigned long long)extent.at);
    }
    return status;
}

/* Large extended attributes are a chunk of their own. */
static int check_xattrs(struct visit *v, const struct cairn_entry *entry, struct cairn_error *local)
{
    struct cairn_slice data = entry->xattrs, name, value;
    struct cairn_reader r;
    int status = CAIRN_OK;
    if (entry->has_xattrs_ref)
        status =
            cairn_fetcher_get(v->fetcher, CAIRN_KIND_METADATA, &entry->xattrs_ref, &data, local);
    if (status != CAIRN_OK)
        return status;
    cairn_reader_init(&r, data.data, data.len);
    while (cairn_xattr_decode(&r, &name, &value))
        ;
    if (r.failed)
        status = cairn_error_set(local, CAIRN_CORRUPT, 0, "extended attributes are malformed");
    return status;
}

static int enter(struct visit *v, const struct cairn_id *id, struct cairn_error *err)
{
    struct cairn_error local = {0};
    bool added;
    int status = cairn_id_set_add(&v->seen, id, &added, err);
    if (status != CAIRN_OK || !added)
        return status;
    if (v->depth == v->cap) {
        size_t cap = v->cap ? v->cap * 2 : 16;
        struct level *grown = cairn_realloc(v->levels, cap, sizeof(*grown));
        if (grown == NULL)
            return cairn_error_no_memory(err, "checking snapshots");
        memset(grown + v->cap, 0, (cap - v->cap) * sizeof(*grown));
        v->levels = grown;
        v->cap = cap;
    }
    v->check->result->trees++;
    status = cairn_tree_reader_init(&v->levels[v->depth].reader, v->fetcher, id, &local);
    if (status != CAIRN_OK)
        return judge(v, status, &local, err);
    v->levels[v->depth++].path_len = v->path.len;
    return CAIRN_OK;
}

static int visit_entries(struct visit *v, struct cairn_error *err)
{
    int status = CAIRN_OK;
    while (status == CAIRN_OK && v->depth > 0) {
        struct level *level = &v->levels[v->depth - 1];
        struct cairn_entry entry;
        struct cairn_error local = {0};
        bool done = false;
        if (cairn_store_is_cancelled(v->check->repo->store))
            return cairn_error_set(err, CAIRN_CANCELLED, 0, "cancelled");
        v->path.len = level->path_len;
        int found = cairn_tree_next(&level->reader, &entry, &done, &local);
        if (found != CAIRN_OK || done) {
            status = judge(v, found, &local, err);
            v->depth--;
            continue;
        }
        cairn_buf_put_u8(&v->path, '/');
        cairn_buf_put(&v->path, entry.name.data, entry.name.len);
        if (entry.type == CAIRN_ENTRY_FILE)
            found = check_file(v, &entry, &local);
        if (found == CAIRN_OK)
            found = check_xattrs(v, &entry, &local);
        status = judge(v, found, &local, err);
        if (status == CAIRN_OK && entry.type == CAIRN_ENTRY_DIRECTORY) {
            struct cairn_id id = entry.directory;
            status = enter(v, &id, err);
        }
        cairn_check_progress(v->check);
    }
    return status;
}

/* The change-detection stream matters to the next backup only, but a damaged one is damage. */
static int check_changes(struct visit *v, const struct cairn_manifest *m, struct cairn_error *local)
{
    struct cairn_changes_reader reader = {0};
    struct cairn_change_record record;
    bool done = !m->has_changes;
    int status =
        done ? CAIRN_OK : cairn_changes_reader_init_chunk(&reader, v->fetcher, &m->changes, local);
    while (status == CAIRN_OK && !done)
        status = cairn_changes_next(&reader, &record, &done, local);
    cairn_changes_reader_release(&reader);
    return status;
}

static int check_snapshot(struct visit *v, size_t i, struct cairn_error *err)
{
    struct cairn_error local = {0};
    struct cairn_manifest m = {0};
    struct cairn_entry root;
    char name[80];
    char hex[65];
    cairn_hex_encode(hex, cairn_store_log(v->check->repo->store)->snapshots[i].id.bytes, 32);
    (void)snprintf(name, sizeof(name), "%.8s:", hex);
    cairn_buf_clear(&v->path);
    cairn_buf_put(&v->path, name, strlen(name));
    int status = cairn_repo_manifest_at(v->check->repo, i, &m, &local);
    if (status == CAIRN_OK)
        status = cairn_manifest_root(&m, &root, &local);
    if (status == CAIRN_OK)
        status = check_changes(v, &m, &local);
    bool is_sound = status == CAIRN_OK;
    status = judge(v, status, &local, err);
    if (status == CAIRN_OK && is_sound)
        status = enter(v, &m.root, err);
    if (status == CAIRN_OK)
        status = visit_entries(v, err);
    cairn_manifest_release(&m);
    return status;
}

int cairn_check_snapshots(struct cairn_check *check, struct cairn_error *err)
{
    struct visit v = {.check = check};
    const struct cairn_log_state *log = cairn_store_log(check->repo->store);
    int status = cairn_fetcher_new(check->repo->store, CHECK_CACHE_BYTES, &v.fetcher, err);
    for (size_t i = 0; i < log->snapshot_count && status == CAIRN_OK; i++) {
        status = check_snapshot(&v, i, err);
        check->result->snapshots++;
    }
    for (size_t i = 0; i < v.cap; i++)
        cairn_tree_reader_release(&v.levels[i].reader);
    cairn_free(v.levels);
    cairn_content_reader_release(&v.content);
    cairn_buf_release(&v.path);
    cairn_id_set_release(&v.seen);
    cairn_fetcher_free(v.fetcher);
    return status;
}
