/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/alloc.h"
#include "source/walk_internal.h"

static bool is_for_workers(const struct walk_batch *batch)
{
    return batch->state == WALK_IDLE && !batch->is_callers;
}

void walk_list_insert_before(struct cairn_walk *walk, struct walk_batch *batch,
                             struct walk_batch *later)
{
    batch->later = later;
    batch->earlier = later ? later->earlier : walk->list_end;
    *(batch->earlier ? &batch->earlier->later : &walk->list) = batch;
    *(later ? &later->earlier : &walk->list_end) = batch;
    walk->idle += is_for_workers(batch);
}

void walk_list_remove(struct cairn_walk *walk, struct walk_batch *batch)
{
    walk->idle -= is_for_workers(batch);
    *(batch->earlier ? &batch->earlier->later : &walk->list) = batch->later;
    *(batch->later ? &batch->later->earlier : &walk->list_end) = batch->earlier;
    batch->earlier = batch->later = NULL;
}

struct walk_batch *walk_list_first(struct cairn_walk *walk)
{
    if (walk->idle == 0 || walk->ahead >= WALK_AHEAD)
        return NULL;
    struct walk_batch *batch = walk->list;
    while (batch && !is_for_workers(batch))
        batch = batch->later;
    return batch;
}

/* One at a time is enough: who is woken wakes the next. */
void walk_wake_workers(struct cairn_walk *walk, bool is_busy)
{
    size_t own = is_busy ? 0 : 1;
    if (walk->asleep > 0 && walk->idle > own && walk->ahead < WALK_AHEAD / 2)
        (void)pthread_cond_signal(&walk->work);
}

/* Takes the next piece of a large directory as a batch of its own, directly behind. */
static void split(struct cairn_walk *walk, struct walk_batch *batch)
{
    struct walk_node *node = batch->node;
    size_t next = batch->first + batch->count;
    if (next >= node->count || batch->is_abandoned)
        return;
    struct walk_batch *rest = cairn_alloc_zero(1, sizeof(*rest));
    if (!rest) {
        batch->status = CAIRN_NO_MEMORY;
        return;
    }
    rest->node = node;
    rest->first = next;
    rest->count = node->count - next < WALK_BATCH ? node->count - next : WALK_BATCH;
    node->queue_end->next = rest;
    node->queue_end = rest;
    walk_list_insert_before(walk, rest, batch->later);
}

/* The batch is through: its directories take its place in the work list. */
static void complete(struct cairn_walk *walk, struct walk_batch *batch)
{
    struct walk_node *node = batch->node;
    if (batch->is_abandoned) {
        walk_list_remove(walk, batch);
        walk->ahead -= batch->count;
        for (size_t i = 0; batch->slots && i < batch->count; i++) {
            struct walk_node *child = batch->slots[i].child;
            if (!child)
                continue;
            if (child->queue)
                walk_batch_free(child->queue);
            walk_node_unref(child);
        }
        walk_batch_free(batch);
    } else {
        for (size_t i = 0; batch->slots && i < batch->count; i++) {
            struct walk_node *child = batch->slots[i].child;
            if (child && child->queue)
                walk_list_insert_before(walk, child->queue, batch);
        }
        walk_list_remove(walk, batch);
        batch->state = WALK_DONE;
        if (walk->awaited == batch)
            (void)pthread_cond_signal(&walk->ready);
    }
    walk_node_unref(node);
}

/* A worker found the directory too large: the caller's thread will read it. */
static void give_back(struct cairn_walk *walk, struct walk_batch *batch)
{
    struct walk_node *node = batch->node;
    if (batch->is_abandoned) {
        complete(walk, batch);
        return;
    }
    batch->state = WALK_IDLE;
    batch->is_callers = true;
    if (walk->awaited == batch)
        (void)pthread_cond_signal(&walk->ready);
    walk_node_unref(node);
}

void walk_batch_run(struct cairn_walk *walk, struct walk_batch *batch, struct walk_scratch *scratch,
                    bool is_worker)
{
    walk->idle -= is_for_workers(batch);
    batch->state = WALK_RUNNING;
    batch->node->refs++;
    if (!batch->is_reader) {
        walk->ahead += batch->count;
        split(walk, batch);
        walk_wake_workers(walk, true);
    }
    (void)pthread_mutex_unlock(&walk->lock);
    int result = 0;
    if (batch->is_reader && (result = walk_batch_read(walk, batch, scratch, is_worker)) == 0) {
        struct walk_node *node = batch->node;
        (void)pthread_mutex_lock(&walk->lock);
        batch->count = node->count < WALK_BATCH ? node->count : WALK_BATCH;
        walk->ahead += batch->count;
        split(walk, batch);
        walk_wake_workers(walk, true);
        (void)pthread_mutex_unlock(&walk->lock);
    }
    size_t claimed = batch->count;
    if (result < 0)
        batch->status = result;
    if (result == 0 && batch->status == CAIRN_OK)
        walk_batch_stat(walk, batch);
    else
        batch->count = 0;
    (void)pthread_mutex_lock(&walk->lock);
    walk->ahead -= claimed - batch->count;
    if (result > 0)
        give_back(walk, batch);
    else
        complete(walk, batch);
    walk_wake_workers(walk, false);
}

void *walk_worker(void *arg)
{
    struct cairn_walk *walk = arg;
    struct walk_scratch scratch = {cairn_alloc(WALK_DIRENTS_BYTES, 1)};
    /* Without memory the walk goes on with fewer threads. */
    (void)pthread_mutex_lock(&walk->lock);
    while (scratch.dirents && !walk->is_stopping) {
        struct walk_batch *batch = walk_list_first(walk);
        if (batch) {
            walk_batch_run(walk, batch, &scratch, true);
            continue;
        }
        walk->asleep++;
        (void)pthread_cond_wait(&walk->work, &walk->lock);
        walk->asleep--;
    }
    (void)pthread_mutex_unlock(&walk->lock);
    cairn_free(scratch.dirents);
    return NULL;
}
