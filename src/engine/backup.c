/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/names.h"
#include "engine/backup_internal.h"

#define PARENT_CACHE_BYTES ((size_t)12 << 20)
/* What one worker takes: read buffers, pack pieces, working memory of compressor and verification.
 */
#define WORKER_MEMORY ((uint64_t)36 << 20)
#define FIXED_MEMORY ((uint64_t)40 << 20)

static bool is_cancelled(void *ctx)
{
    return cairn_store_is_cancelled(ctx);
}

static void walk_problem(void *ctx, const char *path, size_t path_len, int os_errno,
                         const char *message)
{
    cairn_backup_report_problem(ctx, path, path_len, os_errno, message);
}

/* Waits until an item is ready, or something failed. */
static void await(struct backup *b, struct item *item)
{
    if (atomic_load(&item->pending) == 0)
        return;
    (void)pthread_mutex_lock(&b->lock);
    atomic_store(&b->awaited, item);
    while (atomic_load(&item->pending) > 0 && !atomic_load(&b->failed))
        (void)pthread_cond_wait(&b->ready, &b->lock);
    atomic_store(&b->awaited, NULL);
    (void)pthread_mutex_unlock(&b->lock);
}

/* Consumes items from the head of the window while they are ready. A window of `limit` items or
 * more is emptied by half first: waiting for its middle is one sleep, waiting for each head would
 * be many. */
static int drain(struct backup *b, size_t limit, struct cairn_error *err)
{
    int status = CAIRN_OK;
    size_t must = 0;
    if (b->window_count >= limit) {
        struct item *middle = b->window_head;
        must = limit ? b->window_count / 2 : b->window_count;
        for (size_t i = 1; i < must && middle; i++)
            middle = middle->next;
        if (middle)
            await(b, middle);
    }
    while (b->window_head && status == CAIRN_OK) {
        struct item *item = b->window_head;
        if (must > 0) {
            must--;
            await(b, item);
        } else if (atomic_load(&item->pending) > 0) {
            break;
        }
        if (atomic_load(&b->failed))
            return cairn_error_set(err, b->failure, b->failure_error.os_errno, "%s",
                                   b->failure_error.message);
        b->window_head = item->next;
        if (b->window_head == NULL)
            b->window_tail = NULL;
        b->window_count--;
        status = cairn_backup_assemble(b, item, err);
        cairn_backup_progress(b);
    }
    return status;
}

static void append(struct backup *b, struct item *item)
{
    item->next = NULL;
    if (b->window_tail)
        b->window_tail->next = item;
    else
        b->window_head = item;
    b->window_tail = item;
    b->window_count++;
}

/* Files with several links: the first is read, the others refer to it. */
static int note_link(struct backup *b, struct item *item, struct cairn_error *err)
{
    struct link_entry *link;
    uint64_t device = cairn_stat_device(&item->stat);
    if (item->stat.nlink < 2)
        return CAIRN_OK;
    item->is_second_link = cairn_backup_link_find(b, device, item->stat.ino) != NULL;
    if (item->is_second_link)
        return CAIRN_OK;
    return cairn_backup_link_add(b, device, item->stat.ino, item->stat.nlink, &link, err);
}

/* A ctime this close to now could stay the same over a later change. */
static bool is_settled(const struct backup *b, const struct cairn_stat *st)
{
    (void)b;
    int64_t limit = cairn_clock_wall_ns() - TRUST_AFTER_NS;
    return st->ctime.sec < limit / 1000000000 ||
           (st->ctime.sec == limit / 1000000000 && st->ctime.nsec < (uint32_t)(limit % 1000000000));
}

/* ENTER and ENTRY. */
static int take_event(struct backup *b, const struct cairn_walk_event *event,
                      struct cairn_error *err)
{
    bool is_directory = event->kind == CAIRN_WALK_ENTER;
    struct item *item = cairn_backup_item_new(is_directory ? ITEM_ENTER : ITEM_ENTRY);
    if (item == NULL)
        return cairn_error_no_memory(err, "the backup");
    item->stat = *event->stat;
    item->dir = cairn_dir_ref(is_directory ? event->dir : event->parent);
    cairn_buf_put(&item->name, event->name, event->name_len + 1);
    item->is_trusted = is_settled(b, &item->stat);
    int status = cairn_buf_check(&item->name, "the backup", err);
    if (status == CAIRN_OK && event->depth > 0) {
        const struct cairn_slice name = {(const uint8_t *)event->name, event->name_len};
        status = cairn_backup_parent_match(b, item, name, err);
    } else if (status == CAIRN_OK && b->has_parent) {
        item->has_parent_directory = true;
        item->parent_directory = b->parent.root;
    }
    if (status == CAIRN_OK && event->depth > 0 && is_directory)
        status = cairn_backup_parent_enter(b, item, err);
    if (status == CAIRN_OK && !is_directory)
        status = note_link(b, item, err);
    if (status == CAIRN_OK && cairn_entry_type_of(item->stat.mode) == 0) {
        cairn_backup_item_problem(item, true, 0, "a file of an unknown type");
    } else if (status == CAIRN_OK && !item->is_unchanged && !item->is_second_link) {
        append(b, item);
        cairn_backup_submit(b, item);
        return CAIRN_OK;
    }
    if (status != CAIRN_OK) {
        cairn_backup_item_free(item);
        return status;
    }
    append(b, item);
    return CAIRN_OK;
}

static int take_leave(struct backup *b, const struct cairn_walk_event *event,
                      struct cairn_error *err)
{
    struct item *item = cairn_backup_item_new(ITEM_LEAVE);
    if (item == NULL)
        return cairn_error_no_memory(err, "the backup");
    item->is_incomplete = event->incomplete;
    append(b, item);
    if (event->depth > 0)
        cairn_backup_parent_leave(b);
    return CAIRN_OK;
}

/* The whole walk, item by item. */
static int run(struct backup *b, struct cairn_error *err)
{
    struct cairn_walk_event event;
    int status = cairn_backup_parent_begin(b, err);
    while (status == CAIRN_OK) {
        status = cairn_walk_next(b->walk, &event, err);
        if (status != CAIRN_OK || event.kind == CAIRN_WALK_END)
            break;
        status = event.kind == CAIRN_WALK_LEAVE ? take_leave(b, &event, err)
                                                : take_event(b, &event, err);
        if (status == CAIRN_OK)
            status = drain(b, WINDOW_ITEMS, err);
        cairn_backup_progress(b);
    }
    if (status == CAIRN_OK)
        status = drain(b, 0, err);
    if (status == CAIRN_OK && cairn_store_is_cancelled(b->repo->store))
        status = cairn_error_set(err, CAIRN_CANCELLED, 0, "cancelled");
    struct cairn_walk_counts counts;
    cairn_walk_get_counts(b->walk, &counts);
    b->result.excluded = atomic_load(&b->exclude.excluded) + counts.tagged + counts.shut;
    if (status == CAIRN_OK && counts.given == 0)
        status = cairn_error_set(err, CAIRN_NOT_FOUND, 0,
                                 b->result.excluded ? "all of the given paths are excluded or "
                                                      "cannot be read; no snapshot was made"
                                                    : "none of the given paths can be read; no "
                                                      "snapshot was made");
    return status;
}

/* Whether a snapshot is of the same host and paths. */
static bool is_same_source(const struct backup *b, const struct cairn_manifest *m)
{
    size_t count = cairn_walk_get_path_count(b->walk);
    if (m->host == NULL || strcmp(m->host, b->manifest.host) != 0 || m->paths.count != count)
        return false;
    for (size_t i = 0; i < count; i++) {
        if (strcmp(m->paths.items[i], cairn_walk_get_path(b->walk, i)) != 0)
            return false;
    }
    return true;
}

/* The parent: the one named, else the latest of the same host and paths. */
static int find_parent(struct backup *b, struct cairn_error *err)
{
    const struct cairn_log_state *log = cairn_store_log(b->repo->store);
    struct cairn_id id;
    int status;
    if (b->options->parent) {
        status = cairn_snapshot_resolve(b->repo, b->options->parent, NULL, &id, err);
        if (status == CAIRN_OK)
            status = cairn_repo_manifest(b->repo, &id, &b->parent, err);
        b->has_parent = status == CAIRN_OK;
        b->manifest.parent = id;
        b->manifest.has_parent = b->has_parent;
        return status;
    }
    for (size_t i = 0; i < log->snapshot_count; i++) {
        struct cairn_manifest m = {0};
        status = cairn_repo_manifest_at(b->repo, i, &m, NULL);
        if (status == CAIRN_NO_MEMORY)
            return cairn_error_no_memory(err, "the list of snapshots");
        if (status == CAIRN_OK && is_same_source(b, &m) &&
            (!b->has_parent || m.begun_ns >= b->parent.begun_ns)) {
            cairn_manifest_release(&b->parent);
            b->parent = m;
            b->has_parent = true;
            b->manifest.parent = log->snapshots[i].id;
            continue;
        }
        cairn_manifest_release(&m);
    }
    b->manifest.has_parent = b->has_parent;
    return CAIRN_OK;
}

/* Host, user, paths, tags: what describes the snapshot. */
static int describe(struct backup *b, struct cairn_error *err)
{
    struct cairn_manifest *m = &b->manifest;
    char host[256] = "localhost", user[256] = "", entry[1024];
    struct passwd pw, *found = NULL;
    (void)gethostname(host, sizeof(host) - 1);
    if (getpwuid_r(geteuid(), &pw, entry, sizeof(entry), &found) == 0 && found)
        (void)snprintf(user, sizeof(user), "%s", pw.pw_name);
    m->begun_ns = cairn_clock_wall_ns();
    m->host = cairn_strdup(b->options->host ? b->options->host : host);
    m->user = cairn_strdup(user);
    m->program = cairn_strdup("cairn " CAIRN_VERSION);
    int status =
        m->host && m->user && m->program ? CAIRN_OK : cairn_error_no_memory(err, "the backup");
    for (size_t i = 0; i < cairn_walk_get_path_count(b->walk) && status == CAIRN_OK; i++) {
        const char *path = cairn_walk_get_path(b->walk, i);
        status = cairn_strings_add(&m->paths, path, strlen(path), err);
    }
    for (size_t i = 0; i < b->options->tag_count && status == CAIRN_OK; i++)
        status = cairn_strings_add(&m->tags, b->options->tags[i], strlen(b->options->tags[i]), err);
    return status;
}

/* As many workers as cores, as memory allows; chunks of 16 MiB take more. */
static size_t worker_count(const struct backup *b)
{
    uint64_t each = WORKER_MEMORY +
                    6 * (uint64_t)cairn_store_log(b->repo->store)->genesis.chunk_max -
                    6 * ((uint64_t)4 << 20);
    uint64_t fit = b->repo->memory_limit > FIXED_MEMORY + each
                       ? (b->repo->memory_limit - FIXED_MEMORY) / each
                       : 1;
    size_t count = b->repo->threads < WORKERS_MAX ? b->repo->threads : WORKERS_MAX;
    return fit < count ? (size_t)fit : count;
}

static int prepare(struct backup *b, struct cairn_error *err)
{
    const struct cairn_genesis *genesis = &cairn_store_log(b->repo->store)->genesis;
    const struct cairn_session_options so = {
        .level = b->options->level,
        .compression = b->options->compression,
        .dry_run = b->options->dry_run,
    };
    struct cairn_walk_options wo = {
        .paths = b->options->paths,
        .path_count = b->options->path_count,
        .threads = b->repo->threads < 8 ? b->repo->threads : 8,
        .one_file_system = b->options->one_file_system,
        .filter = cairn_backup_exclude_filter,
        .problem = walk_problem,
        .ctx = b,
        .is_cancelled = is_cancelled,
        .cancel_ctx = b->repo->store,
    };
    struct cairn_chunker_params cp = {
        .kind = genesis->chunker,
        .avg_bytes = genesis->chunk_avg,
        .min_bytes = genesis->chunk_min,
        .max_bytes = genesis->chunk_max,
    };
    memcpy(cp.key, cairn_store_keys(b->repo->store)->chunker, sizeof(cp.key));
    b->worker_count = worker_count(b);
    int status = cairn_backup_exclude_init(b, err);
    wo.tags = b->exclude.tags;
    wo.tag_count = b->exclude.tag_count;
    if (status == CAIRN_OK)
        status = cairn_store_refresh(b->repo->store, err);
    if (status == CAIRN_OK)
        status = cairn_session_open(b->repo->store, &so, &b->session, err);
    if (status == CAIRN_OK)
        status = cairn_lane_new(b->session, CAIRN_KIND_METADATA, CAIRN_CHUNK_BYTES_MAX,
                                &b->metadata, err);
    if (status == CAIRN_OK)
        status = cairn_chunker_new(&cp, &b->chunker, err);
    cairn_wipe(cp.key, sizeof(cp.key));
    if (status == CAIRN_OK)
        status = cairn_fetcher_new(b->repo->store, PARENT_CACHE_BYTES, &b->fetcher, err);
    if (status == CAIRN_OK)
        status = cairn_walk_new(&wo, &b->walk, err);
    if (status == CAIRN_OK)
        status = describe(b, err);
    if (status == CAIRN_OK)
        status = find_parent(b, err);
    if (status == CAIRN_OK)
        status = cairn_backup_workers_start(b, err);
    return status;
}

/* What a person would want to know beyond the summary. */
static void report_notes(const struct backup *b, const struct cairn_session_stats *stats)
{
    char text[160];
    struct cairn_event event = {.type = CAIRN_EVENT_NOTE, .message = text};
    if (b->options->event == NULL)
        return;
    if (stats->adopted_packs > 0) {
        (void)snprintf(text, sizeof(text), "%llu packs of an interrupted backup were taken over",
                       (unsigned long long)stats->adopted_packs);
        b->options->event(b->options->event_ctx, &event);
    }
    if (atomic_load(&b->exclude.met_repository)) {
        event.message = "the repository lies within what is backed up; its contents were left out";
        b->options->event(b->options->event_ctx, &event);
        event.message = text;
    }
    int wanted = b->options->level ? b->options->level : cairn_store_log(b->repo->store)->level;
    if (b->result.level != wanted) {
        (void)snprintf(
            text, sizeof(text),
            "the sync level was %s: this file system offers no sync of all of it that can "
            "be trusted",
            cairn_level_name(b->result.level));
        b->options->event(b->options->event_ctx, &event);
    }
}

/* Writes the manifest and commits. */
static int finish(struct backup *b, struct cairn_error *err)
{
    struct cairn_manifest *m = &b->manifest;
    struct cairn_session_stats stats;
    struct cairn_buf bytes = CAIRN_BUF_INIT;
    int status = CAIRN_OK;
    if (b->problems.len > 0 && !b->problems.failed) {
        m->has_problem_list = true;
        status = cairn_lane_put(b->metadata, b->problems.data, b->problems.len, &m->problem_list,
                                NULL, err);
    }
    cairn_session_get_stats(b->session, &stats);
    m->ended_ns = cairn_clock_wall_ns();
    m->files = b->result.files_processed;
    m->dirs = b->result.dirs_new + b->result.dirs_changed + b->result.dirs_unmodified;
    m->others = b->result.others;
    m->bytes = b->result.bytes_processed;
    m->bytes_added = stats.bytes_new + stats.metadata_new - b->changes_new;
    m->problems = b->result.problems;
    cairn_manifest_encode(m, &bytes);
    if (status == CAIRN_OK)
        status = cairn_buf_check(&bytes, "a snapshot's description", err);
    if (status == CAIRN_OK) {
        struct cairn_session *session = b->session;
        b->session = NULL;
        status = cairn_session_commit(session, bytes.data, bytes.len, &b->result.snapshot,
                                      &b->result.level, &stats, err);
    }
    cairn_buf_release(&bytes);
    b->result.bytes_added = m->bytes_added;
    b->result.bytes_stored = stats.bytes_stored;
    if (status == CAIRN_OK && !b->options->dry_run)
        report_notes(b, &stats);
    return status;
}

static void report_stages(const struct backup *b)
{
    if (b->options->event == NULL)
        return;
    for (size_t i = 0; i < b->worker_count; i++) {
        char name[96];
        (void)snprintf(name, sizeof(name),
                       "worker %zu: read, chunk, hash, compress, encrypt, write", i + 1);
        const struct cairn_event event = {.type = CAIRN_EVENT_STAGE,
                                          .message = name,
                                          .seconds_busy = b->workers[i].busy,
                                          .seconds_waiting = b->workers[i].waiting};
        b->options->event(b->options->event_ctx, &event);
    }
}

static void release(struct backup *b)
{
    cairn_walk_free(b->walk);
    cairn_backup_exclude_release(b);
    cairn_backup_workers_stop(b);
    cairn_session_abort(b->session);
    while (b->window_head) {
        struct item *next = b->window_head->next;
        cairn_backup_item_free(b->window_head);
        b->window_head = next;
    }
    cairn_backup_parent_end(b);
    cairn_backup_assemble_end(b);
    for (size_t i = 0; i < WORKERS_MAX; i++)
        cairn_xattrs_release(&b->workers[i].xattrs);
    cairn_fetcher_free(b->fetcher);
    cairn_chunker_free(b->chunker);
    cairn_manifest_release(&b->manifest);
    cairn_manifest_release(&b->parent);
    cairn_buf_release(&b->problems);
    (void)pthread_mutex_destroy(&b->lock);
    (void)pthread_cond_destroy(&b->work);
    (void)pthread_cond_destroy(&b->ready);
    cairn_free(b);
}

int cairn_backup(struct cairn_repo *repo, const struct cairn_backup_options *given,
                 struct cairn_backup_result *result, struct cairn_error *err)
{
    struct cairn_backup_options options;
    uint64_t begun = cairn_clock_monotonic_ns();
    cairn_options_copy(&options, sizeof(options), given, given->size);
    struct backup *b = cairn_alloc_zero(1, sizeof(*b));
    if (b == NULL)
        return cairn_error_no_memory(err, "the backup");
    b->repo = repo;
    b->options = &options;
    (void)pthread_mutex_init(&b->lock, NULL);
    (void)pthread_cond_init(&b->work, NULL);
    (void)pthread_cond_init(&b->ready, NULL);
    int status = prepare(b, err);
    if (status == CAIRN_OK)
        status = run(b, err);
    if (status != CAIRN_OK) {
        struct cairn_error ended = {0};
        (void)cairn_error_set(&ended, status, 0, "ended");
        cairn_backup_fail(b, status, &ended);
    }
    cairn_backup_workers_stop(b);
    if (status == CAIRN_OK) {
        report_stages(b);
        status = finish(b, err);
    }
    b->result.seconds = (double)(cairn_clock_monotonic_ns() - begun) / 1e9;
    if (status == CAIRN_OK)
        *result = b->result;
    release(b);
    return status;
}
