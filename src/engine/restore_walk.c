/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "engine/restore_internal.h"

/* Levels below this depth keep the buffers of their readers between directories. */
#define KEEP_LEVELS 32u

/* Begins a directory. *entered: its tree could be read (else that was reported and it is ended). */
static int enter(struct cairn_restore *r, const struct cairn_id *directory,
                 struct cairn_restore_dir *dir, struct cairn_error *err)
{
    struct cairn_error why;
    if (r->depth == r->level_cap) {
        size_t cap = r->level_cap ? r->level_cap * 2 : 64;
        struct cairn_restore_level *grown = cairn_realloc(r->levels, cap, sizeof(*grown));
        if (grown == NULL) {
            cairn_restore_dir_end(r, dir);
            return cairn_error_no_memory(err, "a deep directory");
        }
        memset(grown + r->level_cap, 0, (cap - r->level_cap) * sizeof(*grown));
        r->levels = grown;
        r->level_cap = cap;
    }
    struct cairn_restore_level *level = &r->levels[r->depth];
    int status = cairn_tree_reader_init(&level->reader, r->fetcher, directory, &why);
    if (status == CAIRN_NO_MEMORY) {
        cairn_restore_dir_end(r, dir);
        if (err)
            *err = why;
        return status;
    }
    if (status != CAIRN_OK) {
        if (!r->is_verifying) /* else it was reported by the first walk */
            cairn_restore_problem(r, dir, NULL, dir->number, false, why.os_errno,
                                  "its entries cannot be read: %s", why.message);
        cairn_restore_dir_end(r, dir);
        return CAIRN_OK;
    }
    level->dir = dir;
    r->depth++;
    /* Only so many ancestors are held open. */
    if (r->depth > r->window && r->levels[r->depth - r->window - 1].dir->in_window)
        cairn_restore_dir_leave(r, r->levels[r->depth - r->window - 1].dir);
    return CAIRN_OK;
}

/* Ends the deepest directory, after the one above it is held again. */
static int leave(struct cairn_restore *r, struct cairn_error *err)
{
    struct cairn_restore_level *level = &r->levels[r->depth - 1];
    int status = CAIRN_OK;
    if (r->depth > 1 && !r->levels[r->depth - 2].dir->in_window)
        status = cairn_restore_dir_return(r->levels[r->depth - 2].dir, level->dir->fd, err);
    cairn_restore_dir_end(r, level->dir);
    level->dir = NULL;
    if (r->depth > KEEP_LEVELS)
        cairn_tree_reader_release(&level->reader);
    r->depth--;
    return status;
}

int cairn_restore_entry(struct cairn_restore *r, struct cairn_restore_dir *dir,
                        const struct cairn_entry *entry, struct cairn_error *err)
{
    uint64_t number = ++r->number;
    if (r->is_verifying)
        return cairn_restore_verify_entry(r, dir, entry, number, err);
    if (entry->hardlink_group != 0) {
        bool is_first;
        int status = cairn_restore_links_is_first(r, entry->hardlink_group, &is_first, err);
        if (status != CAIRN_OK)
            return status;
        if (!is_first)
            return cairn_restore_batch_link(r, dir, entry, number, err);
    }
    if (entry->type == CAIRN_ENTRY_FILE)
        return cairn_restore_batch_file(r, dir, entry, number, err);
    return cairn_restore_node(r, dir, entry, number, err);
}

static int step(struct cairn_restore *r, struct cairn_error *err)
{
    struct cairn_restore_level *level = &r->levels[r->depth - 1];
    struct cairn_restore_dir *below = NULL;
    struct cairn_entry entry;
    struct cairn_error why;
    bool done;
    int status = cairn_tree_next(&level->reader, &entry, &done, &why);
    if (status == CAIRN_NO_MEMORY) {
        if (err)
            *err = why;
        return status;
    }
    if (status != CAIRN_OK) {
        if (!r->is_verifying)
            cairn_restore_problem(r, level->dir, NULL, level->dir->number, false, why.os_errno,
                                  "some of its entries cannot be read: %s", why.message);
        done = true;
    }
    if (done)
        return leave(r, err);
    if (entry.type != CAIRN_ENTRY_DIRECTORY)
        return cairn_restore_entry(r, level->dir, &entry, err);
    uint64_t number = ++r->number;
    if (r->is_verifying)
        status = cairn_restore_dir_reopen(r, level->dir, &entry, number, &below, err);
    else
        status = cairn_restore_dir_make(r, level->dir, &entry, number, &below, err);
    if (status != CAIRN_OK || below == NULL)
        return status;
    if (!r->is_verifying)
        cairn_restore_item(r, below, NULL);
    return enter(r, &entry.directory, below, err);
}

int cairn_restore_walk(struct cairn_restore *r, const struct cairn_id *directory,
                       struct cairn_restore_dir *dir, struct cairn_error *err)
{
    int status = enter(r, directory, dir, err);
    while (status == CAIRN_OK && r->depth > 0) {
        status = cairn_restore_tick(r, err);
        if (status == CAIRN_OK)
            status = step(r, err);
    }
    /* After a failure: give up what is held. Directories out of the window are not held. */
    for (; r->depth > 0; r->depth--) {
        struct cairn_restore_dir *held = r->levels[r->depth - 1].dir;
        if (held->in_window)
            cairn_restore_dir_end(r, held);
        else
            cairn_restore_dir_unref(held);
    }
    return status;
}

void cairn_restore_walk_release(struct cairn_restore *r)
{
    for (size_t i = 0; i < r->level_cap; i++)
        cairn_tree_reader_release(&r->levels[i].reader);
    cairn_free(r->levels);
    cairn_content_reader_release(&r->content);
    cairn_buf_release(&r->verify_buf);
}
