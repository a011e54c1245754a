/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/alloc.h"
#include "source/walk_internal.h"

struct walk_node *walk_node_new(struct cairn_walk *walk, struct cairn_dir *parent, const char *name,
                                const struct cairn_stat *st, uint32_t part, uint64_t root_device,
                                bool is_shut)
{
    struct walk_node *node = cairn_alloc_zero(1, sizeof(*node));
    struct walk_batch *batch = is_shut ? NULL : cairn_alloc_zero(1, sizeof(*batch));
    struct cairn_dir *dir = NULL;
    bool is_partial = part != WALK_NO_PART;
    if (node && (batch || is_shut))
        dir = dir_new(walk->cache, parent, name, strlen(name), st, is_partial);
    if (!dir) {
        cairn_free(node);
        cairn_free(batch);
        return NULL;
    }
    node->dir = dir;
    node->stat = *st;
    node->part = part;
    node->root_device = root_device;
    node->refs = 1;
    node->is_shut = is_shut;
    if (batch) {
        batch->node = node;
        batch->is_reader = true;
        node->queue = node->queue_end = batch;
    }
    return node;
}

void walk_node_unref(struct walk_node *node)
{
    if (--node->refs > 0)
        return;
    cairn_dir_unref(node->dir);
    cairn_free(node->child_parts);
    cairn_free(node->names);
    cairn_free(node->items);
    cairn_free(node);
}

void walk_batch_free(struct walk_batch *batch)
{
    cairn_free(batch->slots);
    cairn_free(batch);
}

/* Puts the directories that a finished batch brought on a chain by their `up`. */
static void chain_children(const struct walk_batch *batch, size_t from, struct walk_node **chain)
{
    for (size_t i = from; batch->slots && i < batch->count; i++) {
        struct walk_node *child = batch->slots[i].child;
        if (child) {
            child->up = *chain;
            *chain = child;
        }
    }
}

static void drop_batch(struct cairn_walk *walk, struct walk_batch *batch, struct walk_node **chain)
{
    switch (batch->state) {
    case WALK_RUNNING:
        batch->is_abandoned = true;
        return;
    case WALK_IDLE:
        walk_list_remove(walk, batch);
        break;
    case WALK_DONE:
        walk->ahead -= batch->count;
        chain_children(batch, 0, chain);
        break;
    }
    walk_batch_free(batch);
}

void walk_node_drop_contents(struct cairn_walk *walk, struct walk_node *node)
{
    struct walk_node *chain = NULL;
    if (node->current) {
        chain_children(node->current, node->slot, &chain);
        walk_batch_free(node->current);
        node->current = NULL;
    }
    for (struct walk_node *at = node; at;) {
        while (at->queue) {
            struct walk_batch *batch = at->queue;
            at->queue = batch->next;
            drop_batch(walk, batch, &chain);
        }
        at->queue_end = NULL;
        if (at != node)
            walk_node_unref(at);
        at = chain;
        if (at)
            chain = at->up;
    }
}
