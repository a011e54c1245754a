/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "source/walk_internal.h"

bool walk_is_stopped(struct cairn_walk *walk)
{
    return atomic_load_explicit(&walk->stop, memory_order_relaxed) ||
           (walk->options.is_cancelled && walk->options.is_cancelled(walk->options.cancel_ctx));
}

static int status_of(int failed)
{
    if (failed == ECANCELED)
        return CAIRN_CANCELLED;
    return failed == EFBIG ? CAIRN_LIMIT : CAIRN_NO_MEMORY;
}

/* Reads the names of the batch's directory. 0, a status that ends the walk, or 1: too large to be
 * read ahead. */
int walk_batch_read(struct cairn_walk *walk, struct walk_batch *batch, struct walk_scratch *scratch,
                    bool is_worker)
{
    struct walk_node *node = batch->node;
    int fd, failed;
    if (node->part != WALK_NO_PART) {
        failed = walk_names_take_parts(node, &walk->paths);
        return failed ? status_of(failed) : 0;
    }
    failed = dir_pin(node->dir, &fd);
    if (failed == ENOMEM)
        return CAIRN_NO_MEMORY;
    if (failed == 0 && node->dir->is_path_only) {
        cairn_dir_unpin(node->dir);
        failed = EACCES;
    }
    if (failed) {
        node->open_error = failed;
        return 0;
    }
    /* A worker may have given it back half read. */
    if (batch->is_callers)
        (void)lseek(fd, 0, SEEK_SET);
    failed = walk_names_read(walk, node, fd, scratch, is_worker ? WALK_AHEAD_NAMES : 0);
    if (failed == 0)
        walk_tags_apply(walk, node, fd);
    cairn_dir_unpin(node->dir);
    if (failed == EAGAIN)
        return 1;
    return failed ? status_of(failed) : 0;
}

/* What becomes of an entry that was described: dropped, shut, or a directory to enter. */
static int settle(struct cairn_walk *walk, struct walk_node *node, size_t item,
                  struct walk_slot *slot)
{
    const char *name = node->names + node->items[item];
    uint32_t part = node->child_parts ? node->child_parts[item] : WALK_NO_PART;
    bool is_way = part != WALK_NO_PART && !walk->paths.parts[part].is_given;
    if (is_way && !cairn_stat_is_dir(&slot->stat)) {
        slot->error = ENOTDIR;
        return CAIRN_OK;
    }
    bool is_shut = false;
    if (!is_way && walk->options.filter) {
        enum cairn_walk_verdict verdict =
            walk->options.filter(walk->options.ctx, node->dir, name, strlen(name), &slot->stat);
        slot->is_dropped = verdict == CAIRN_WALK_DROP;
        is_shut = verdict == CAIRN_WALK_SHUT;
    }
    if (slot->is_dropped || !cairn_stat_is_dir(&slot->stat))
        return CAIRN_OK;
    uint64_t device = cairn_stat_device(&slot->stat);
    uint64_t root_device = part == WALK_NO_PART ? node->root_device : device;
    if (walk->options.one_file_system && device != root_device)
        is_shut = true;
    slot->child = walk_node_new(walk, node->dir, name, &slot->stat, is_way ? part : WALK_NO_PART,
                                root_device, is_shut);
    return slot->child ? CAIRN_OK : CAIRN_NO_MEMORY;
}

static int describe(struct cairn_walk *walk, struct walk_batch *batch, int fd)
{
    struct walk_node *node = batch->node;
    for (size_t i = 0; i < batch->count; i++) {
        struct walk_slot *slot = &batch->slots[i];
        size_t item = batch->first + i;
        const char *name = node->names + node->items[item];
        bool is_way = node->child_parts && !walk->paths.parts[node->child_parts[item]].is_given;
        slot->child = NULL;
        slot->error = 0;
        slot->is_dropped = false;
        int n = is_way ? cairn_stat_at_following(fd, name, &slot->stat)
                       : cairn_stat_at(fd, name, &slot->stat);
        if (n < 0) {
            slot->error = errno;
            continue;
        }
        int status =
            i % 16 == 0 && walk_is_stopped(walk) ? CAIRN_CANCELLED : settle(walk, node, item, slot);
        if (status != CAIRN_OK) {
            batch->count = i;
            return status;
        }
    }
    return CAIRN_OK;
}

/* Describes the batch's entries. */
void walk_batch_stat(struct cairn_walk *walk, struct walk_batch *batch)
{
    struct walk_node *node = batch->node;
    int fd;
    if (batch->count == 0)
        return;
    batch->slots = cairn_alloc(batch->count, sizeof(*batch->slots));
    if (!batch->slots) {
        batch->count = 0;
        batch->status = CAIRN_NO_MEMORY;
        return;
    }
    int failed = dir_pin(node->dir, &fd);
    if (failed) {
        /* It was open a moment ago: the entries are lost as they would be had they vanished. */
        for (size_t i = 0; i < batch->count; i++)
            batch->slots[i] = (struct walk_slot){.error = failed};
        return;
    }
    batch->status = describe(walk, batch, fd);
    cairn_dir_unpin(node->dir);
}
