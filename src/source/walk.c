/* SPDX-License-Identifier: Apache-2.0 */
#include "source/walk.h"

#include <errno.h>
#include <fcntl.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/threads.h"
#include "source/walk_internal.h"

/* Makes the root's node and puts its first batch into the work list. */
static int make_root(struct cairn_walk *walk, struct cairn_error *err)
{
    struct cairn_stat st;
    if (cairn_stat_at(AT_FDCWD, "/", &st) < 0)
        return cairn_error_set(err, CAIRN_IO, errno, "cannot examine /");
    uint32_t part = walk->paths.parts[0].is_given ? WALK_NO_PART : 0;
    walk->root = walk_node_new(walk, NULL, "", &st, part, cairn_stat_device(&st), false);
    if (!walk->root)
        return cairn_error_no_memory(err, "the walk");
    walk_list_insert_before(walk, walk->root->queue, NULL);
    return CAIRN_OK;
}

int cairn_walk_new(const struct cairn_walk_options *options, struct cairn_walk **out,
                   struct cairn_error *err)
{
    int status;
    if (options->threads > WALK_THREADS_MAX)
        return cairn_error_set(err, CAIRN_MISUSE, 0, "at most %u threads can walk",
                               WALK_THREADS_MAX);
    struct cairn_walk *walk = cairn_alloc_zero(1, sizeof(*walk));
    if (!walk)
        return cairn_error_no_memory(err, "the walk");
    walk->options = *options;
    walk->options.paths = NULL;
    (void)pthread_mutex_init(&walk->lock, NULL);
    (void)pthread_cond_init(&walk->work, NULL);
    (void)pthread_cond_init(&walk->ready, NULL);
    status = walk_paths_init(&walk->paths, options->paths, options->path_count, err);
    if (status != CAIRN_OK)
        goto fail;
    walk->cache = dir_cache_new();
    walk->scratch.dirents = cairn_alloc(WALK_DIRENTS_BYTES, 1);
    if (!walk->cache || !walk->scratch.dirents) {
        status = cairn_error_no_memory(err, "the walk");
        goto fail;
    }
    status = make_root(walk, err);
    if (status != CAIRN_OK)
        goto fail;
    status = cairn_threads_start(walk->threads, options->threads, walk_worker, walk,
                                 &walk->thread_count, err);
    if (status != CAIRN_OK)
        goto fail;
    *out = walk;
    return CAIRN_OK;

fail:
    cairn_walk_free(walk);
    return status;
}

void cairn_walk_get_counts(const struct cairn_walk *walk, struct cairn_walk_counts *out)
{
    *out = walk->counts;
}

size_t cairn_walk_get_path_count(const struct cairn_walk *walk)
{
    return walk->paths.count;
}

const char *cairn_walk_get_path(const struct cairn_walk *walk, size_t index)
{
    return walk->paths.paths[index];
}

void cairn_walk_free(struct cairn_walk *walk)
{
    if (!walk)
        return;
    (void)pthread_mutex_lock(&walk->lock);
    walk->is_stopping = true;
    atomic_store(&walk->stop, true);
    (void)pthread_cond_broadcast(&walk->work);
    (void)pthread_mutex_unlock(&walk->lock);
    cairn_threads_join(walk->threads, walk->thread_count);

    struct walk_node *at = walk->is_begun ? walk->at : walk->root;
    while (at) {
        struct walk_node *up = at->up;
        walk_node_drop_contents(walk, at);
        walk_node_unref(at);
        at = up;
    }
    if (walk->left)
        walk_node_unref(walk->left);
    dir_cache_unref(walk->cache);
    walk_paths_release(&walk->paths);
    cairn_buf_release(&walk->path);
    cairn_free(walk->scratch.dirents);
    (void)pthread_cond_destroy(&walk->ready);
    (void)pthread_cond_destroy(&walk->work);
    (void)pthread_mutex_destroy(&walk->lock);
    cairn_free(walk);
}
