/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/hex.h"
#include "engine/repo.h"

/* Tags that a later log record set replace those of the manifest. */
static int apply_attributes(const struct cairn_log_snapshot *snapshot, struct cairn_manifest *m,
                            struct cairn_error *err)
{
    struct cairn_reader r;
    if (snapshot->attributes.len == 0)
        return CAIRN_OK;
    cairn_strings_release(&m->tags);
    cairn_reader_init(&r, snapshot->attributes.data, snapshot->attributes.len);
    (void)cairn_reader_take(&r, 33);
    uint64_t count = cairn_reader_varint(&r);
    int status = CAIRN_OK;
    for (uint64_t i = 0; i < count && !r.failed && status == CAIRN_OK; i++) {
        struct cairn_slice tag = cairn_reader_bytes(&r);
        if (!r.failed)
            status = cairn_strings_add(&m->tags, tag.data, tag.len, err);
    }
    if (status == CAIRN_OK && !cairn_reader_is_done(&r))
        status = cairn_error_set(err, CAIRN_CORRUPT, 0, "a snapshot's tags are malformed");
    return status;
}

int cairn_repo_manifest_at(const struct cairn_repo *repo, size_t i, struct cairn_manifest *out,
                           struct cairn_error *err)
{
    const struct cairn_log_snapshot *snapshot = &cairn_store_log(repo->store)->snapshots[i];
    struct cairn_manifest m = {0};
    int status = cairn_manifest_decode(snapshot->manifest.data, snapshot->manifest.len, &m, err);
    if (status == CAIRN_OK)
        status = apply_attributes(snapshot, &m, err);
    if (status == CAIRN_OK)
        *out = m;
    else
        cairn_manifest_release(&m);
    return status;
}

int cairn_repo_manifest(const struct cairn_repo *repo, const struct cairn_id *id,
                        struct cairn_manifest *out, struct cairn_error *err)
{
    const struct cairn_log_state *log = cairn_store_log(repo->store);
    for (size_t i = 0; i < log->snapshot_count; i++) {
        if (memcmp(&log->snapshots[i].id, id, sizeof(*id)) == 0)
            return cairn_repo_manifest_at(repo, i, out, err);
    }
    char hex[65];
    cairn_hex_encode(hex, id->bytes, 32);
    return cairn_error_set(err, CAIRN_NOT_FOUND, 0, "there is no snapshot %s", hex);
}

static bool has_string(const struct cairn_strings *strings, const char *wanted)
{
    for (size_t i = 0; i < strings->count; i++) {
        if (strcmp(strings->items[i], wanted) == 0)
            return true;
    }
    return false;
}

static bool matches(const struct cairn_manifest *m, const struct cairn_snapshot_filter *f)
{
    return (f->host == NULL || (m->host && strcmp(m->host, f->host) == 0)) &&
           (f->path == NULL || has_string(&m->paths, f->path)) &&
           (f->tag == NULL || has_string(&m->tags, f->tag));
}

/* A snapshot that passed the filter, for sorting by time. */
struct row {
    size_t at;
    int64_t time;
};

/* Collects the rows that match, in commit order; *rows is allocated. */
static int collect(const struct cairn_repo *repo, const struct cairn_snapshot_filter *filter,
                   struct row **rows, size_t *count, struct cairn_error *err)
{
    const struct cairn_log_state *log = cairn_store_log(repo->store);
    struct row *found = cairn_alloc(log->snapshot_count, sizeof(*found));
    size_t n = 0;
    int status = found ? CAIRN_OK : cairn_error_no_memory(err, "the list of snapshots");
    for (size_t i = 0; i < log->snapshot_count && status == CAIRN_OK; i++) {
        struct cairn_manifest m = {0};
        status = cairn_repo_manifest_at(repo, i, &m, err);
        if (status == CAIRN_OK && matches(&m, filter))
            found[n++] = (struct row){i, m.begun_ns};
        cairn_manifest_release(&m);
    }
    if (status != CAIRN_OK) {
        cairn_free(found);
        return status;
    }
    /* Insertion sort: commits come almost in the order of their times. */
    for (size_t i = 1; i < n; i++) {
        struct row row = found[i];
        size_t at = i;
        for (; at > 0 && found[at - 1].time > row.time; at--)
            found[at] = found[at - 1];
        found[at] = row;
    }
    *rows = found;
    *count = n;
    return CAIRN_OK;
}

static int report(const struct cairn_repo *repo, size_t at, cairn_snapshot_fn fn, void *ctx,
                  struct cairn_error *err)
{
    struct cairn_manifest m = {0};
    int status = cairn_repo_manifest_at(repo, at, &m, err);
    if (status != CAIRN_OK)
        return status;
    const struct cairn_snapshot_info info = {
        .id = cairn_store_log(repo->store)->snapshots[at].id,
        .parent = m.parent,
        .time_ns = m.begun_ns,
        .host = m.host ? m.host : "",
        .user = m.user ? m.user : "",
        .program = m.program ? m.program : "",
        .paths = (const char *const *)m.paths.items,
        .path_count = m.paths.count,
        .tags = (const char *const *)m.tags.items,
        .tag_count = m.tags.count,
        .files = m.files,
        .dirs = m.dirs,
        .others = m.others,
        .bytes = m.bytes,
        .bytes_added = m.bytes_added,
        .problems = m.problems,
    };
    status = fn(ctx, &info);
    cairn_manifest_release(&m);
    return status;
}

int cairn_snapshot_list(struct cairn_repo *repo, const struct cairn_snapshot_filter *given,
                        cairn_snapshot_fn fn, void *ctx, struct cairn_error *err)
{
    struct cairn_snapshot_filter filter;
    struct row *rows = NULL;
    size_t count = 0;
    cairn_options_copy(&filter, sizeof(filter), given, given ? given->size : 0);
    int status = collect(repo, &filter, &rows, &count, err);
    size_t first = status == CAIRN_OK && filter.latest && filter.latest < count
                       ? count - (size_t)filter.latest
                       : 0;
    for (size_t i = first; i < count && status == CAIRN_OK; i++)
        status = report(repo, rows[i].at, fn, ctx, err);
    cairn_free(rows);
    return status;
}

static int resolve_latest(const struct cairn_repo *repo, const struct cairn_snapshot_filter *filter,
                          struct cairn_id *out, struct cairn_error *err)
{
    struct row *rows = NULL;
    size_t count = 0;
    int status = collect(repo, filter, &rows, &count, err);
    if (status == CAIRN_OK && count == 0)
        status = cairn_error_set(err, CAIRN_NOT_FOUND, 0, "there is no matching snapshot");
    if (status == CAIRN_OK)
        *out = cairn_store_log(repo->store)->snapshots[rows[count - 1].at].id;
    cairn_free(rows);
    return status;
}

int cairn_snapshot_resolve(struct cairn_repo *repo, const char *spec,
                           const struct cairn_snapshot_filter *given, struct cairn_id *out,
                           struct cairn_error *err)
{
    const struct cairn_log_state *log = cairn_store_log(repo->store);
    struct cairn_snapshot_filter filter;
    cairn_options_copy(&filter, sizeof(filter), given, given ? given->size : 0);
    if (strcmp(spec, "latest") == 0)
        return resolve_latest(repo, &filter, out, err);
    size_t len = strlen(spec), matching = 0;
    struct cairn_id found = {{0}};
    for (size_t i = 0; i < log->snapshot_count && len > 0 && len <= 64; i++) {
        char hex[65];
        cairn_hex_encode(hex, log->snapshots[i].id.bytes, 32);
        if (strncasecmp(hex, spec, len) == 0) {
            found = log->snapshots[i].id;
            matching++;
        }
    }
    if (matching > 1)
        return cairn_error_set(err, CAIRN_MISUSE, 0,
                               "%s is the beginning of %zu snapshots' ids: give more digits", spec,
                               matching);
    if (matching == 0)
        return cairn_error_set(err, CAIRN_NOT_FOUND, 0,
                               "there is no snapshot %s; `cairn snapshots` lists them", spec);
    *out = found;
    return CAIRN_OK;
}
