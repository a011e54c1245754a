/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "source/walk_internal.h"

/* ---- problems -------------------------------------------------------------------------------- */

static int tell(struct cairn_walk *walk, const char *path, size_t len, int os_errno,
                const char *what)
{
    struct cairn_error text;
    if (!walk->options.problem)
        return CAIRN_OK;
    if (os_errno == ESTALE)
        what = "replaced by something else while it was being read";
    (void)cairn_error_set(&text, CAIRN_IO, os_errno == ESTALE ? 0 : os_errno, "%s", what);
    walk->options.problem(walk->options.ctx, path, len, os_errno, text.message);
    return CAIRN_OK;
}

/* Reports name in node's directory; NULL: the directory itself. */
static int report(struct cairn_walk *walk, struct walk_node *node, const char *name, int os_errno,
                  const char *what)
{
    node->is_incomplete = true;
    if (!walk->options.problem)
        return CAIRN_OK;
    cairn_buf_clear(&walk->path);
    cairn_dir_append_path(node->dir, name, &walk->path);
    cairn_buf_put_u8(&walk->path, 0);
    if (walk->path.failed)
        return CAIRN_NO_MEMORY;
    return tell(walk, (const char *)walk->path.data, walk->path.len - 1, os_errno, what);
}

/* An entry that could not be described. On the way to given paths: each of them is reported. */
static int report_entry(struct cairn_walk *walk, struct walk_node *node, size_t item, int os_errno)
{
    if (!node->child_parts)
        return report(walk, node, node->names + node->items[item], os_errno,
                      os_errno == ENOENT ? "vanished while the directory was being read"
                                         : "cannot be examined");
    const struct walk_part *part = &walk->paths.parts[node->child_parts[item]];
    node->is_incomplete = true;
    for (size_t i = 0; i < part->path_count; i++) {
        const char *path = walk->paths.paths[part->first_path + i];
        walk->counts.missing++;
        (void)tell(walk, path, strlen(path), os_errno, "cannot be examined");
    }
    return CAIRN_OK;
}

static int report_directory(struct cairn_walk *walk, struct walk_node *node)
{
    int status = CAIRN_OK;
    walk->counts.tagged += node->is_tagged;
    if (node->open_error)
        status = report(walk, node, NULL, node->open_error, "the directory cannot be opened");
    if (status == CAIRN_OK && node->read_error)
        status =
            report(walk, node, NULL, node->read_error, "the directory cannot be read to its end");
    if (status == CAIRN_OK && node->odd_names)
        status = report(walk, node, NULL, 0, "the directory has entries with impossible names");
    return status;
}

/* ---- batches --------------------------------------------------------------------------------- */

/* Waits for the first batch of node's queue, doing it or others meanwhile, and takes it. */
static int take_batch(struct cairn_walk *walk, struct walk_node *node)
{
    (void)pthread_mutex_lock(&walk->lock);
    struct walk_batch *batch;
    while ((batch = node->queue)->state != WALK_DONE) {
        struct walk_batch *other;
        if (batch->state == WALK_IDLE) {
            walk_batch_run(walk, batch, &walk->scratch, false);
        } else if ((other = walk_list_first(walk)) != NULL) {
            /* It counts as read ahead, so the limit for workers holds. */
            walk_batch_run(walk, other, &walk->scratch, true);
        } else {
            walk->awaited = batch;
            (void)pthread_cond_wait(&walk->ready, &walk->lock);
            walk->awaited = NULL;
        }
    }
    node->queue = batch->next;
    if (!node->queue)
        node->queue_end = NULL;
    walk->ahead -= batch->count;
    walk_wake_workers(walk, false);
    (void)pthread_mutex_unlock(&walk->lock);
    node->current = batch;
    node->slot = 0;
    return batch->status;
}

/* ---- events ---------------------------------------------------------------------------------- */

static void fill_directory(struct cairn_walk_event *event, enum cairn_walk_kind kind,
                           const struct walk_node *node)
{
    *event = (struct cairn_walk_event){
        .kind = kind,
        .name = node->dir->name,
        .name_len = node->dir->name_len,
        .stat = &node->stat,
        .depth = node->dir->depth,
        .parent = node->dir->parent,
        .dir = node->dir,
        .partial = node->part != WALK_NO_PART,
        .incomplete = kind == CAIRN_WALK_LEAVE && node->is_incomplete,
    };
}

static void enter(struct cairn_walk *walk, struct walk_node *node, struct cairn_walk_event *event)
{
    node->up = walk->at;
    walk->at = node;
    walk->has_entered = true;
    walk->counts.shut += node->is_shut;
    fill_directory(event, CAIRN_WALK_ENTER, node);
}

static void leave(struct cairn_walk *walk, struct cairn_walk_event *event)
{
    fill_directory(event, CAIRN_WALK_LEAVE, walk->at);
    walk->left = walk->at;
    walk->at = walk->at->up;
}

/* Delivers the next slot of the batch at hand. *has_event: there is one. */
static int deliver(struct cairn_walk *walk, struct cairn_walk_event *event, bool *has_event)
{
    struct walk_node *node = walk->at;
    struct walk_slot *slot = &node->current->slots[node->slot];
    size_t item = node->current->first + node->slot++;
    if (slot->is_dropped)
        return CAIRN_OK;
    if (slot->error)
        return report_entry(walk, node, item, slot->error);
    if (node->child_parts && walk->paths.parts[node->child_parts[item]].is_given)
        walk->counts.given++;
    *has_event = true;
    if (slot->child) {
        struct walk_node *child = slot->child;
        slot->child = NULL;
        enter(walk, child, event);
        return CAIRN_OK;
    }
    const char *name = node->names + node->items[item];
    *event = (struct cairn_walk_event){
        .kind = CAIRN_WALK_ENTRY,
        .name = name,
        .name_len = strlen(name),
        .stat = &slot->stat,
        .depth = node->dir->depth + 1,
        .parent = node->dir,
    };
    return CAIRN_OK;
}

static int advance(struct cairn_walk *walk, struct cairn_walk_event *event)
{
    int status = CAIRN_OK;
    bool has_event = false;
    while (status == CAIRN_OK && !has_event) {
        struct walk_node *node = walk->at;
        if (!node) {
            *event = (struct cairn_walk_event){.kind = CAIRN_WALK_END};
            return CAIRN_OK;
        }
        if (node->current && node->slot < node->current->count) {
            status = deliver(walk, event, &has_event);
            continue;
        }
        bool is_first = !node->current;
        if (node->current)
            walk_batch_free(node->current);
        node->current = NULL;
        if (node->queue) {
            status = take_batch(walk, node);
            if (status == CAIRN_OK && is_first)
                status = report_directory(walk, node);
        } else {
            leave(walk, event);
            has_event = true;
        }
    }
    return status;
}

static int fail(struct cairn_walk *walk, int status, struct cairn_error *err)
{
    walk->failed = status;
    switch (status) {
    case CAIRN_CANCELLED:
        return cairn_error_set(err, status, 0, "cancelled");
    case CAIRN_LIMIT:
        return cairn_error_set(err, status, 0, "a directory has more than 4 GiB of names");
    default:
        return cairn_error_no_memory(err, "reading directories");
    }
}

int cairn_walk_next(struct cairn_walk *walk, struct cairn_walk_event *event,
                    struct cairn_error *err)
{
    if (walk->failed)
        return fail(walk, walk->failed, err);
    if (walk->quiet++ % 64 == 0 && walk_is_stopped(walk))
        return fail(walk, CAIRN_CANCELLED, err);
    if (walk->left) {
        walk_node_unref(walk->left);
        walk->left = NULL;
    }
    walk->has_entered = false;
    if (!walk->is_begun) {
        walk->is_begun = true;
        walk->counts.given += walk->paths.parts[0].is_given;
        walk->at = NULL;
        enter(walk, walk->root, event);
        return CAIRN_OK;
    }
    int status = advance(walk, event);
    return status == CAIRN_OK ? CAIRN_OK : fail(walk, status, err);
}

void cairn_walk_skip(struct cairn_walk *walk)
{
    if (!walk->has_entered)
        return;
    (void)pthread_mutex_lock(&walk->lock);
    walk_node_drop_contents(walk, walk->at);
    walk_wake_workers(walk, false);
    (void)pthread_mutex_unlock(&walk->lock);
}
