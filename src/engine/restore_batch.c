/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/error.h"
#include "engine/restore_internal.h"

static struct cairn_restore_batch *current(struct cairn_restore *r)
{
    return &r->batches[r->batch_number & 1];
}

int cairn_restore_batches_init(struct cairn_restore *r, struct cairn_error *err)
{
    for (int i = 0; i < 2; i++) {
        struct cairn_restore_batch *b = &r->batches[i];
        b->wants = cairn_alloc(CAIRN_RESTORE_BATCH_WANTS, sizeof(*b->wants));
        b->order = cairn_alloc(CAIRN_RESTORE_BATCH_WANTS, sizeof(struct cairn_restore_want *));
        b->files = cairn_alloc(CAIRN_RESTORE_BATCH_FILES, sizeof(struct cairn_restore_file *));
        b->held = cairn_alloc(CAIRN_RESTORE_BATCH_FILES, sizeof(struct cairn_restore_file *));
        if (!b->wants || !b->order || !b->files || !b->held)
            return cairn_error_no_memory(err, "a batch of files");
    }
    r->batch_number = 2;
    current(r)->number = r->batch_number;
    return CAIRN_OK;
}

/* Ends a batch all of whose tasks are done. */
static void retire(struct cairn_restore *r, struct cairn_restore_batch *b)
{
    cairn_restore_drain(r);
    for (size_t i = 0; i < b->file_count; i++) {
        struct cairn_restore_file *file = b->files[i];
        if (!atomic_load(&file->failed))
            cairn_restore_item(r, file->dir, file->name);
        cairn_restore_dir_unref(file->dir);
        cairn_free(file);
    }
    for (size_t i = 0; i < b->link_count; i++) {
        struct cairn_restore_link *link = &b->links[i];
        if (!atomic_load(&r->stop))
            cairn_restore_links_make(r, link);
        cairn_restore_dir_unpin(r, r->fetcher, link->dir);
        cairn_restore_dir_unref(link->dir);
        cairn_free(link->name);
    }
    /* Idle workers look at these at any time. */
    (void)pthread_mutex_lock(&r->lock);
    b->is_submitted = false;
    b->task_count = b->stretch_count = b->tasks_left = 0;
    (void)pthread_mutex_unlock(&r->lock);
    b->want_count = b->order_count = b->file_count = b->held_count = b->link_count = 0;
    b->bytes = 0;
    b->name_bytes = 0;
    b->descriptors = 0;
}

/* Waits for a submitted batch; reports go out meanwhile. A failure does not end the wait: workers
 * then skip what is left. */
static int await(struct cairn_restore *r, struct cairn_restore_batch *b, struct cairn_error *err)
{
    int status = CAIRN_OK;
    for (;;) {
        int now = cairn_restore_tick(r, status == CAIRN_OK ? err : NULL);
        if (status == CAIRN_OK)
            status = now;
        struct timespec until;
        (void)clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += 50000000;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        (void)pthread_mutex_lock(&r->lock);
        if (b->tasks_left > 0 && !atomic_load(&r->has_problems))
            (void)pthread_cond_timedwait(&r->done, &r->lock, &until);
        bool is_done = b->tasks_left == 0;
        (void)pthread_mutex_unlock(&r->lock);
        if (is_done)
            return status;
    }
}

/* Hands the current batch to the workers, waits for the one before and makes its place current. */
static int submit(struct cairn_restore *r, struct cairn_error *err)
{
    struct cairn_restore_batch *b = current(r), *before = &r->batches[(r->batch_number + 1) & 1];
    int status = cairn_restore_plan(r, b, err);
    if (status != CAIRN_OK)
        return status;
    (void)pthread_mutex_lock(&r->lock);
    b->tasks_left = b->task_count;
    cairn_restore_tasks_spread(r, b);
    b->is_submitted = true;
    (void)pthread_cond_broadcast(&r->work);
    (void)pthread_mutex_unlock(&r->lock);
    if (before->is_submitted) {
        status = await(r, before, err);
        retire(r, before);
    }
    r->batch_number++;
    current(r)->number = r->batch_number;
    return status;
}

int cairn_restore_batch_finish(struct cairn_restore *r, struct cairn_error *err)
{
    int status = submit(r, err);
    struct cairn_restore_batch *last = &r->batches[(r->batch_number + 1) & 1];
    if (last->is_submitted) {
        int waited = await(r, last, status == CAIRN_OK ? err : NULL);
        retire(r, last);
        if (status == CAIRN_OK)
            status = waited;
    }
    return status;
}

/* After a failure, when stop is set: everything that is left is given up. */
static void give_up(struct cairn_restore *r, struct cairn_restore_batch *b)
{
    if (b->is_submitted) {
        (void)await(r, b, NULL);
    } else {
        for (size_t i = 0; i < b->want_count; i++) {
            atomic_store(&b->wants[i].file->failed, true);
            cairn_restore_file_drop(r, r->fetcher, b->wants[i].file);
        }
        for (size_t i = 0; i < b->held_count; i++) {
            atomic_store(&b->held[i]->failed, true);
            cairn_restore_file_drop(r, r->fetcher, b->held[i]);
        }
    }
    retire(r, b);
}

void cairn_restore_batches_release(struct cairn_restore *r)
{
    /* The older one first: files may go on in the newer one. */
    for (unsigned i = 1; i <= 2; i++) {
        struct cairn_restore_batch *b = &r->batches[(r->batch_number + i) & 1];
        if (b->wants && b->order && b->files && b->held)
            give_up(r, b);
    }
    cairn_restore_workers_end(r);
    for (unsigned i = 0; i < 2; i++) {
        struct cairn_restore_batch *b = &r->batches[i];
        cairn_free(b->wants);
        cairn_free(b->order);
        cairn_free(b->files);
        cairn_free(b->held);
        cairn_free(b->links);
        cairn_free(b->tasks);
        *b = (struct cairn_restore_batch){0};
    }
}

static struct cairn_restore_file *new_file(struct cairn_restore_dir *dir,
                                           const struct cairn_entry *entry, uint64_t number)
{
    size_t name = entry->name.len, xattrs = entry->xattrs.len, data = entry->inline_data.len;
    struct cairn_restore_file *file = cairn_alloc_zero(1, sizeof(*file) + name + 1 + xattrs + data);
    if (file == NULL)
        return NULL;
    cairn_restore_meta_from(&file->meta, entry);
    file->dir = dir;
    file->number = number;
    file->size = entry->size;
    file->group = entry->hardlink_group;
    file->name_len = name;
    atomic_init(&file->pending, 1);
    atomic_init(&file->failed, false);
    atomic_init(&file->fd, -1);
    file->direct_fd = -1;
    memcpy(file->name, entry->name.data, name);
    uint8_t *at = (uint8_t *)file->name + name + 1;
    if (xattrs > 0)
        memcpy(at, entry->xattrs.data, xattrs);
    file->meta.xattrs = (struct cairn_slice){at, xattrs};
    at += xattrs;
    if (data > 0)
        memcpy(at, entry->inline_data.data, data);
    file->inline_data = (struct cairn_slice){at, data};
    return file;
}

static bool is_full(const struct cairn_restore *r, const struct cairn_restore_batch *b)
{
    return b->file_count + b->link_count >= CAIRN_RESTORE_BATCH_FILES ||
           b->want_count >= CAIRN_RESTORE_BATCH_WANTS || b->bytes >= CAIRN_RESTORE_BATCH_BYTES ||
           b->name_bytes >= CAIRN_RESTORE_BATCH_NAMES || b->descriptors >= r->batch_descriptors;
}

/* Counts the descriptor of a directory once per batch. */
static void count_dir(struct cairn_restore_batch *b, struct cairn_restore_dir *dir)
{
    b->descriptors += dir->batch != b->number;
    dir->batch = b->number;
}

static int add_want(struct cairn_restore *r, struct cairn_restore_file *file,
                    const struct cairn_content_extent *extent, struct cairn_error *err)
{
    struct cairn_restore_batch *b = current(r);
    if (b->want_count >= CAIRN_RESTORE_BATCH_WANTS || b->bytes >= CAIRN_RESTORE_BATCH_BYTES) {
        int status = submit(r, err);
        if (status != CAIRN_OK)
            return status;
        b = current(r);
        count_dir(b, file->dir);
        b->descriptors++;
    }
    struct cairn_restore_want *want = &b->wants[b->want_count++];
    want->file = file;
    want->at = extent->at;
    want->len = (uint32_t)extent->len;
    want->id = extent->id;
    b->bytes += extent->len;
    if (!file->is_whole)
        atomic_fetch_add(&file->pending, 1);
    return CAIRN_OK;
}

/* Adds what a file consists of. Failures that concern the file alone are reported. */
static int add_content(struct cairn_restore *r, struct cairn_restore_file *file,
                       const struct cairn_entry *entry, struct cairn_error *err)
{
    struct cairn_content_extent extent;
    struct cairn_error why;
    bool done = false;
    int status = cairn_content_reader_init(&r->content, r->fetcher, entry, &why);
    while (status == CAIRN_OK && !atomic_load(&file->failed)) {
        status = cairn_content_next(&r->content, &extent, &done, &why);
        if (status != CAIRN_OK || done)
            break;
        file->ends_in_hole = extent.is_hole;
        if (extent.is_hole)
            continue;
        if (extent.at == atomic_load(&file->solid))
            atomic_store(&file->solid, extent.at + extent.len);
        /* One chunk: the want itself is what is pending. */
        if (extent.at == 0)
            file->is_whole = extent.len == entry->size;
        int added = add_want(r, file, &extent, err);
        if (added != CAIRN_OK) {
            file->is_whole = false; /* no want stands for it, so the hold has to */
            return added;
        }
    }
    if (status == CAIRN_NO_MEMORY) {
        if (err)
            *err = why;
        return status;
    }
    if (status != CAIRN_OK)
        cairn_restore_file_fail(r, file, why.os_errno, why.message);
    return CAIRN_OK;
}

int cairn_restore_batch_file(struct cairn_restore *r, struct cairn_restore_dir *dir,
                             const struct cairn_entry *entry, uint64_t number,
                             struct cairn_error *err)
{
    int status = is_full(r, current(r)) ? submit(r, err) : CAIRN_OK;
    if (status != CAIRN_OK)
        return status;
    struct cairn_restore_batch *b = current(r);
    struct cairn_restore_file *file = new_file(dir, entry, number);
    if (file == NULL)
        return cairn_error_no_memory(err, "a file");
    cairn_restore_dir_pin(dir);
    count_dir(b, dir);
    if (entry->has_content)
        status = add_content(r, file, entry, err);
    else if (!entry->has_inline && entry->size > 0)
        cairn_restore_file_fail(r, file, 0, "its content needs a newer cairn");
    /* Also after a failure: the file is given up with its batch. */
    b = current(r);
    b->name_bytes += sizeof(*file) + file->name_len + file->meta.xattrs.len + file->inline_data.len;
    b->files[b->file_count++] = file;
    if (!file->is_whole) {
        b->held[b->held_count++] = file;
        b->descriptors += entry->has_content;
    }
    return status;
}

int cairn_restore_batch_link(struct cairn_restore *r, struct cairn_restore_dir *dir,
                             const struct cairn_entry *entry, uint64_t number,
                             struct cairn_error *err)
{
    int status = is_full(r, current(r)) ? submit(r, err) : CAIRN_OK;
    if (status != CAIRN_OK)
        return status;
    struct cairn_restore_batch *b = current(r);
    if (b->link_count == b->link_cap) {
        size_t cap = b->link_cap ? b->link_cap * 2 : 64;
        struct cairn_restore_link *grown = cairn_realloc(b->links, cap, sizeof(*grown));
        if (grown == NULL)
            return cairn_error_no_memory(err, "a hard link");
        b->links = grown;
        b->link_cap = cap;
    }
    char *name = cairn_strndup((const char *)entry->name.data, entry->name.len);
    if (name == NULL)
        return cairn_error_no_memory(err, "a hard link");
    cairn_restore_dir_pin(dir);
    count_dir(b, dir);
    b->name_bytes += entry->name.len;
    b->links[b->link_count++] = (struct cairn_restore_link){
        .dir = dir,
        .number = number,
        .group = entry->hardlink_group,
        .size = entry->size,
        .is_file = entry->type == CAIRN_ENTRY_FILE,
        .name = name,
    };
    return CAIRN_OK;
}
