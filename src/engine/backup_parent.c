/* SPDX-License-Identifier: Apache-2.0
 *
 * The parent snapshot, read level by level beside the walk. A parent that cannot be read (damaged,
 * or its chunks gone) is no parent from there on: files below are read again.
 */
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "engine/backup_internal.h"

/* A new level; it is closed until its readers are begun. */
static struct parent_level *push(struct backup *b)
{
    if (b->parent_depth == b->parent_cap) {
        size_t cap = b->parent_cap ? b->parent_cap * 2 : 16;
        struct parent_level *grown = cairn_realloc(b->parents, cap, sizeof(*grown));
        if (grown == NULL)
            return NULL;
        memset(grown + b->parent_cap, 0, (cap - b->parent_cap) * sizeof(*grown));
        b->parents = grown;
        b->parent_cap = cap;
    }
    struct parent_level *level = &b->parents[b->parent_depth++];
    level->is_open = level->has_entry = level->has_changes = false;
    return level;
}

/* Whether a failure to read the parent ends the backup: only if memory ran out. */
static int tolerate(int status, struct cairn_error *err)
{
    return status == CAIRN_NO_MEMORY ? cairn_error_no_memory(err, "the parent snapshot") : CAIRN_OK;
}

int cairn_backup_parent_begin(struct backup *b, struct cairn_error *err)
{
    struct parent_level *level = push(b);
    if (level == NULL)
        return cairn_error_no_memory(err, "the parent snapshot");
    if (!b->has_parent)
        return CAIRN_OK;
    int status = cairn_tree_reader_init(&level->tree, b->fetcher, &b->parent.root, NULL);
    level->is_open = status == CAIRN_OK;
    if (status == CAIRN_OK && b->parent.has_changes) {
        status =
            cairn_changes_reader_init_chunk(&level->changes, b->fetcher, &b->parent.changes, NULL);
        level->has_changes = status == CAIRN_OK;
    }
    return tolerate(status, err);
}

/* Steps to the level's next entry, and its record. */
static int advance(struct parent_level *level)
{
    bool done = false, no_record = true;
    int status = cairn_tree_next(&level->tree, &level->entry, &done, NULL);
    level->has_entry = status == CAIRN_OK && !done;
    if (!level->has_entry) {
        level->is_open = false;
        return status;
    }
    if (level->has_changes) {
        int found = cairn_changes_next(&level->changes, &level->record, &no_record, NULL);
        /* Without its record nothing below can be trusted, but the entry itself tells new from
         * changed. */
        if (found != CAIRN_OK || no_record)
            level->has_changes = false;
    }
    return CAIRN_OK;
}

/* The level's entry of this name, or NULL. */
static struct parent_level *find(struct backup *b, struct cairn_slice name, int *status)
{
    struct parent_level *level = &b->parents[b->parent_depth - 1];
    *status = CAIRN_OK;
    while (level->is_open && *status == CAIRN_OK) {
        if (level->has_entry) {
            int order = cairn_name_compare(level->entry.name, name);
            if (order == 0)
                return level;
            if (order > 0)
                return NULL;
        }
        *status = advance(level);
    }
    return NULL;
}

/* Whether the parent's entry has the same identity and times as what the walk saw. */
static bool is_same(const struct parent_level *level, const struct item *item)
{
    const struct cairn_entry *e = &level->entry;
    const struct cairn_change_record *r = &level->record;
    const struct cairn_stat *st = &item->stat;
    return level->has_changes && r->is_trusted && e->unknown_field == 0 &&
           cairn_entry_type_of(st->mode) == e->type && r->inode == st->ino &&
           r->device == cairn_stat_device(st) && r->ctime.sec == st->ctime.sec &&
           r->ctime.nsec == st->ctime.nsec && e->mtime.sec == st->mtime.sec &&
           e->mtime.nsec == st->mtime.nsec && e->mode == (st->mode & 07777) && e->uid == st->uid &&
           e->gid == st->gid && (e->type != CAIRN_ENTRY_FILE || e->size == st->size);
}

/* Whether everything the parent's entry refers to can be referred to again. */
static int is_whole(struct backup *b, const struct cairn_entry *e, bool *whole,
                    struct cairn_error *err)
{
    *whole = !e->has_xattrs_ref || cairn_session_has(b->session, &e->xattrs_ref);
    if (!e->has_content || !*whole)
        return CAIRN_OK;
    struct cairn_content_reader reader = {0};
    bool done = false;
    int status = cairn_content_reader_init(&reader, b->fetcher, e, NULL);
    while (status == CAIRN_OK && !done && *whole) {
        struct cairn_content_extent extent;
        status = cairn_content_next(&reader, &extent, &done, NULL);
        if (status == CAIRN_OK && !done && !extent.is_hole)
            *whole = cairn_session_has(b->session, &extent.id);
    }
    cairn_content_reader_release(&reader);
    if (status != CAIRN_OK)
        *whole = false;
    return tolerate(status, err);
}

int cairn_backup_parent_match(struct backup *b, struct item *item, struct cairn_slice name,
                              struct cairn_error *err)
{
    int status;
    struct parent_level *level = find(b, name, &status);
    if (level == NULL)
        return tolerate(status, err);
    item->was_in_parent = cairn_entry_type_of(item->stat.mode) == level->entry.type;
    if (item->kind == ITEM_ENTER && level->entry.has_directory) {
        item->has_parent_directory = true;
        item->parent_directory = level->entry.directory;
    }
    if (b->options->force || b->options->with_atime || !is_same(level, item))
        return CAIRN_OK;
    status = is_whole(b, &level->entry, &item->is_unchanged, err);
    if (status == CAIRN_OK && item->is_unchanged) {
        cairn_entry_encode(&level->entry, &item->reused);
        status = cairn_buf_check(&item->reused, "the parent snapshot", err);
    }
    return status;
}

int cairn_backup_parent_enter(struct backup *b, struct item *item, struct cairn_error *err)
{
    bool has_changes = b->parents[b->parent_depth - 1].has_changes;
    struct parent_level *level = push(b);
    if (level == NULL)
        return cairn_error_no_memory(err, "the parent snapshot");
    if (!item->has_parent_directory)
        return CAIRN_OK;
    int status = cairn_tree_reader_init(&level->tree, b->fetcher, &item->parent_directory, NULL);
    level->is_open = status == CAIRN_OK;
    if (status == CAIRN_OK && has_changes) {
        const struct parent_level *above = &b->parents[b->parent_depth - 2];
        level->has_changes =
            cairn_changes_reader_init_child(&level->changes, &above->changes, NULL) == CAIRN_OK;
    }
    return tolerate(status, err);
}

void cairn_backup_parent_leave(struct backup *b)
{
    b->parent_depth--;
}

void cairn_backup_parent_end(struct backup *b)
{
    for (size_t i = 0; i < b->parent_cap; i++) {
        cairn_tree_reader_release(&b->parents[i].tree);
        cairn_changes_reader_release(&b->parents[i].changes);
    }
    cairn_free(b->parents);
    b->parents = NULL;
}
