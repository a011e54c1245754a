/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/restore.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/io.h"
#include "base/threads.h"
#include "engine/browse.h"
#include "engine/restore_internal.h"

/* Directories come in about the order of their trees in the packs: a few frames are enough. */
#define WALK_CACHE_BYTES ((size_t)8 << 20)

/* What is to be restored, found in the snapshot. */
struct top {
    struct cairn_tree_reader found; /* slices of entry lead into it */
    struct cairn_entry entry;
    bool is_all; /* no path was given: the root's attributes are not applied to the target */
};

static void read_umask(struct cairn_restore *r)
{
    char line[256];
    unsigned mask = 0777; /* unknown: set every mode explicitly */
    FILE *status = fopen("/proc/self/status", "re");
    while (status && fgets(line, sizeof(line), status)) {
        if (sscanf(line, "Umask: %o", &mask) == 1)
            break;
    }
    if (status)
        (void)fclose(status);
    r->umask = (mode_t)mask;
}

/* How many descriptors the walk and each batch may hold, well within the process's limit. */
static void set_limits(struct cairn_restore *r)
{
    struct rlimit limit;
    rlim_t files = 1024;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0)
        files = limit.rlim_cur;
    if (files > 4096)
        files = 4096;
    r->window = files >= 512 ? 32 : 4;
    r->batch_descriptors = files >= 128 ? (unsigned)files / 4 - 24 : 8;
}

/* The path without repeated slashes and without one at its end. */
static char *clean_prefix(const char *path)
{
    char *out = cairn_alloc_zero(strlen(path) + 2, 1);
    size_t len = 0;
    for (const char *at = path; out && *(at += strspn(at, "/")); at += strcspn(at, "/")) {
        size_t part = strcspn(at, "/");
        out[len++] = '/';
        memcpy(out + len, at, part);
        len += part;
    }
    return out;
}

static int is_empty(int fd, bool *out)
{
    union {
        char bytes[1024];
        uint64_t align;
    } buf;
    ssize_t got = cairn_io()->getdents64(fd, buf.bytes, sizeof(buf.bytes));
    size_t entries = 0;
    /* Two entries are "." and ".."; a record's length stands at its byte 16. */
    for (ssize_t at = 0; at + 18 < got; entries++) {
        uint16_t len;
        memcpy(&len, buf.bytes + at + 16, sizeof(len));
        if (len == 0)
            break;
        at += len;
    }
    *out = entries <= 2;
    return got < 0 ? -1 : 0;
}

static int open_target(struct cairn_restore *r, struct cairn_error *err)
{
    const char *target = r->options->target;
    char shown[300];
    bool empty = false;
    if (target == NULL || target[0] == 0)
        return cairn_error_set(err, CAIRN_MISUSE, 0, "a directory to restore into must be named");
    cairn_escape(shown, sizeof(shown), target, strlen(target));
    if (cairn_io()->mkdirat(AT_FDCWD, target, 0777) != 0 && errno != EEXIST)
        return cairn_error_set(err, errno == ENOSPC ? CAIRN_NO_SPACE : CAIRN_IO, errno,
                               "making the directory %s", shown);
    r->target_fd = cairn_io_open(AT_FDCWD, target, O_RDONLY | O_DIRECTORY, 0);
    if (r->target_fd < 0 && errno == ENOTDIR)
        return cairn_error_set(err, CAIRN_MISUSE, 0, "%s is not a directory", shown);
    if (r->target_fd < 0 || is_empty(r->target_fd, &empty) != 0)
        return cairn_error_set(err, CAIRN_IO, errno, "opening the directory %s", shown);
    if (!empty)
        return cairn_error_set(err, CAIRN_EXISTS, 0,
                               "%s is not empty: name a new or an empty directory", shown);
    if (faccessat(r->target_fd, ".", W_OK | X_OK, AT_EACCESS) != 0)
        return cairn_error_set(err, CAIRN_IO, errno, "cannot write to the directory %s", shown);
    cairn_restore_direct_init(r);
    return CAIRN_OK;
}

static int find_top(struct cairn_restore *r, const struct cairn_manifest *manifest, struct top *top,
                    struct cairn_error *err)
{
    const char *path = r->options->path ? r->options->path : "";
    top->is_all = path[0] == 0;
    int status = cairn_browse_find(r->fetcher, &top->found, manifest, path, &top->entry, err);
    if (status != CAIRN_OK)
        return status;
    r->prefix = clean_prefix(path);
    if (r->prefix == NULL)
        return cairn_error_no_memory(err, "a path");
    /* A single entry stands below its parent's path. */
    if (top->entry.type != CAIRN_ENTRY_DIRECTORY && strrchr(r->prefix, '/'))
        *strrchr(r->prefix, '/') = 0;
    if (top->is_all) {
        r->files_total = manifest->files;
        r->bytes_total = manifest->bytes;
    }
    return CAIRN_OK;
}

/* Restores into the opened target; everything is done and retired afterwards. */
static int restore_top(struct cairn_restore *r, const struct top *top, struct cairn_error *err)
{
    struct cairn_restore_dir *target;
    bool is_dir = top->entry.type == CAIRN_ENTRY_DIRECTORY;
    int status =
        cairn_restore_dir_target(r, is_dir && !top->is_all ? &top->entry : NULL, &target, err);
    if (status != CAIRN_OK)
        return status;
    /* The target stays open until the kept links are gone, which change its time. */
    cairn_restore_dir_pin(target);
    if (is_dir) {
        struct cairn_id directory = top->entry.directory;
        status = cairn_restore_walk(r, &directory, target, err);
    } else {
        status = cairn_restore_entry(r, target, &top->entry, err);
        cairn_restore_dir_end(r, target);
    }
    if (status == CAIRN_OK)
        status = cairn_restore_batch_finish(r, err);
    if (status != CAIRN_OK) {
        struct cairn_error text = {.status = status};
        if (err)
            text = *err;
        cairn_restore_stop(r, status, &text);
    }
    cairn_restore_batches_release(r);
    cairn_restore_links_end(r);
    cairn_restore_dir_unpin(r, r->fetcher, target);
    cairn_restore_dir_unref(target);
    cairn_restore_drain(r);
    return status == CAIRN_OK ? cairn_restore_tick(r, err) : status;
}

static int init(struct cairn_restore *r, unsigned threads, struct cairn_error *err)
{
    r->target_fd = r->staging_fd = -1;
    r->uid = geteuid();
    r->gid = getegid();
    r->problems_end = &r->problems;
    r->threads = threads ? threads : cairn_cpu_count();
    /* One waits for the device while the other decodes. */
    if (threads == 0 && r->threads < 2)
        r->threads = 2;
    if (r->threads > CAIRN_RESTORE_THREADS_MAX)
        r->threads = CAIRN_RESTORE_THREADS_MAX;
    (void)pthread_mutex_init(&r->lock, NULL);
    (void)pthread_cond_init(&r->work, NULL);
    (void)pthread_cond_init(&r->done, NULL);
    for (size_t i = 0; i < CAIRN_RESTORE_STRIPES; i++)
        (void)pthread_mutex_init(&r->stripes[i], NULL);
    read_umask(r);
    set_limits(r);
    return cairn_fetcher_new(r->store, WALK_CACHE_BYTES, &r->fetcher, err);
}

static void release(struct cairn_restore *r)
{
    cairn_restore_batches_release(r);
    cairn_restore_drain(r);
    cairn_restore_walk_release(r);
    cairn_fetcher_free(r->fetcher);
    cairn_restore_set_release(&r->lost);
    cairn_free(r->prefix);
    if (r->target_fd >= 0)
        (void)cairn_io_close(r->target_fd);
    for (size_t i = 0; i < CAIRN_RESTORE_STRIPES; i++)
        (void)pthread_mutex_destroy(&r->stripes[i]);
    (void)pthread_cond_destroy(&r->done);
    (void)pthread_cond_destroy(&r->work);
    (void)pthread_mutex_destroy(&r->lock);
}

/* Makes what was written durable. target_fd was opened before the first write, so a failed write
 * back is reported here. */
static int sync_target(struct cairn_restore *r, uint64_t *ns, struct cairn_error *err)
{
    uint64_t begun = cairn_clock_monotonic_ns();
    if (r->options->level != CAIRN_LEVEL_NONE && cairn_io_syncfs(r->target_fd) != 0)
        return cairn_error_set(err, CAIRN_IO, errno,
                               "syncing the target: what was restored may not be on its disk");
    *ns = cairn_clock_monotonic_ns() - begun;
    return CAIRN_OK;
}

int cairn_restore_run(struct cairn_store *store, const struct cairn_manifest *manifest,
                      const struct cairn_restore_options *options, unsigned threads,
                      struct cairn_restore_result *result, struct cairn_error *err)
{
    uint64_t begun = cairn_clock_monotonic_ns(), sync_ns = 0;
    struct top top = {0};
    struct cairn_restore *r = cairn_alloc_zero(1, sizeof(*r));
    if (r == NULL)
        return cairn_error_no_memory(err, "a restore");
    r->store = store;
    r->options = options;
    int status = init(r, threads, err);
    if (status == CAIRN_OK)
        status = find_top(r, manifest, &top, err);
    if (status == CAIRN_OK)
        status = cairn_restore_batches_init(r, err);
    if (status == CAIRN_OK)
        status = open_target(r, err);
    if (status == CAIRN_OK)
        status = cairn_restore_workers_start(r, err);
    if (status == CAIRN_OK)
        status = restore_top(r, &top, err);
    if (status == CAIRN_OK)
        status = sync_target(r, &sync_ns, err);
    if (status == CAIRN_OK && options->verify)
        status = cairn_restore_verify(r, &top.entry, err);
    if (status == CAIRN_OK) {
        cairn_restore_progress(r);
        cairn_restore_stages(r, sync_ns);
    }
    uint64_t others = atomic_load(&r->others_done);
    struct cairn_restore_result done = {
        .files = atomic_load(&r->files_done),
        .dirs = atomic_load(&r->dirs_done),
        .others = others,
        .bytes = atomic_load(&r->bytes_done),
    };
    release(r);
    done.problems = r->problem_count;
    done.seconds = (double)(cairn_clock_monotonic_ns() - begun) / 1e9;
    cairn_tree_reader_release(&top.found);
    cairn_free(r);
    if (status == CAIRN_OK)
        *result = done;
    return status;
}
