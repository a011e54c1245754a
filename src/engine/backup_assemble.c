/* SPDX-License-Identifier: Apache-2.0
 *
 * Builds trees and the change-detection stream from items, in the order of the walk.
 */
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "engine/backup_internal.h"

static const uint8_t *split_key(const struct backup *b)
{
    return cairn_store_keys(b->repo->store)->directory_split;
}

static struct cairn_change_record record_of(const struct item *item)
{
    return (struct cairn_change_record){
        .is_trusted = item->is_trusted,
        .inode = item->stat.ino,
        .device = cairn_stat_device(&item->stat),
        .ctime = {item->stat.ctime.sec, item->stat.ctime.nsec},
    };
}

static int push(struct backup *b, struct item *item, struct cairn_error *err)
{
    if (b->level_depth == b->level_cap) {
        size_t cap = b->level_cap ? b->level_cap * 2 : 16;
        struct build_level *grown = cairn_realloc(b->levels, cap, sizeof(*grown));
        if (grown == NULL)
            return cairn_error_no_memory(err, "building directories");
        memset(grown + b->level_cap, 0, (cap - b->level_cap) * sizeof(*grown));
        b->levels = grown;
        b->level_cap = cap;
    }
    struct build_level *level = &b->levels[b->level_depth++];
    level->item = item;
    cairn_tree_builder_clear(&level->tree);
    cairn_changes_builder_begin(&level->changes, cairn_stat_device(&item->stat));
    return CAIRN_OK;
}

/* Adds a finished entry and its record to the directory that is being built. */
static int add(struct backup *b, const struct cairn_entry *entry,
               const struct cairn_change_record *record, const struct cairn_buf *child,
               struct cairn_error *err)
{
    struct build_level *level = &b->levels[b->level_depth - 1];
    int status = cairn_tree_add(&level->tree, b->metadata, split_key(b), entry, err);
    if (status == CAIRN_OK)
        status = cairn_changes_add(&level->changes, b->metadata, record, child, err);
    return status;
}

/* The first link of several leaves its entry for the others. */
static int keep_first_link(struct backup *b, const struct item *item, struct cairn_entry *entry,
                           struct cairn_error *err)
{
    struct link_entry *link =
        cairn_backup_link_find(b, cairn_stat_device(&item->stat), item->stat.ino);
    if (link == NULL)
        return CAIRN_OK;
    entry->hardlink_group = link->group;
    cairn_entry_encode(entry, &link->entry);
    if (--link->left == 0)
        cairn_backup_link_drop(b, link);
    return cairn_buf_check(&link->entry, "the table of hard links", err);
}

/* Another link: the same entry under its own name. *lost: the first could not be read. */
static int second_link(struct backup *b, struct item *item, bool *lost, struct cairn_error *err)
{
    struct link_entry *link =
        cairn_backup_link_find(b, cairn_stat_device(&item->stat), item->stat.ino);
    struct cairn_entry entry;
    struct cairn_reader reader;
    *lost = link == NULL || link->entry.len == 0;
    if (*lost) {
        cairn_backup_item_problem(item, true, 0, "another link of the same file could not be read");
        return CAIRN_OK;
    }
    /* The table gives up its copy with the last link, and the entry is used after that. */
    cairn_buf_clear(&item->reused);
    cairn_buf_put(&item->reused, link->entry.data, link->entry.len);
    uint64_t group = link->group;
    if (--link->left == 0)
        cairn_backup_link_drop(b, link);
    int status = cairn_buf_check(&item->reused, "a hard link", err);
    if (status != CAIRN_OK)
        return status;
    cairn_reader_init(&reader, item->reused.data, item->reused.len);
    if (!cairn_entry_decode(&reader, &entry))
        return cairn_error_set(err, CAIRN_CORRUPT, 0, "a hard link's entry is malformed");
    entry.name = (struct cairn_slice){item->name.data, item->name.len - 1};
    entry.hardlink_group = group;
    const struct cairn_change_record record = record_of(item);
    return add(b, &entry, &record, NULL, err);
}

/* How an entry that is no directory compares with the parent snapshot's. */
static const char *change_of(const struct item *item)
{
    return item->is_unchanged ? "unmodified" : item->was_in_parent ? "changed" : "new";
}

static void count_file(struct backup *b, const struct item *item, uint64_t size)
{
    struct cairn_backup_result *r = &b->result;
    if (!S_ISREG(item->stat.mode)) {
        r->others++;
        return;
    }
    r->files_processed++;
    r->bytes_processed += size;
    if (item->is_unchanged)
        r->files_unmodified++;
    else if (item->was_in_parent)
        r->files_changed++;
    else
        r->files_new++;
    if (item->is_unchanged)
        atomic_fetch_add(&b->bytes_done, size);
    b->files_done++;
}

static int take_entry(struct backup *b, struct item *item, struct cairn_error *err)
{
    int status = CAIRN_OK;
    bool lost = item->is_lost;
    uint64_t size = item->stat.size;
    if (item->is_second_link && !lost) {
        status = second_link(b, item, &lost, err);
    } else if (!lost) {
        struct cairn_entry entry;
        status = cairn_backup_entry(b, item, &entry, err);
        if (status == CAIRN_OK && item->stat.nlink > 1)
            status = keep_first_link(b, item, &entry, err);
        const struct cairn_change_record record = record_of(item);
        size = entry.size;
        if (status == CAIRN_OK)
            status = add(b, &entry, &record, NULL, err);
    }
    if (status != CAIRN_OK)
        return status;
    if (!lost)
        count_file(b, item, size);
    cairn_backup_report_item(b, item, lost ? NULL : change_of(item));
    return CAIRN_OK;
}

static const char *count_directory(struct backup *b, const struct item *item,
                                   const struct cairn_id *id)
{
    struct cairn_backup_result *r = &b->result;
    bool is_root =
        b->level_depth == 1; /* it has no entry in the parent to compare its times with */
    if (!item->has_parent_directory) {
        r->dirs_new++;
        return "new";
    }
    if ((item->is_unchanged || is_root) && memcmp(id, &item->parent_directory, sizeof(*id)) == 0) {
        r->dirs_unmodified++;
        return "unmodified";
    }
    r->dirs_changed++;
    return "changed";
}

/* The root has no entry: its fields and ids go into the manifest. */
static int finish_root(struct backup *b, struct cairn_entry *entry, const struct cairn_buf *node,
                       struct cairn_error *err)
{
    struct cairn_manifest *m = &b->manifest;
    m->root = entry->directory;
    cairn_buf_clear(&m->root_fields);
    cairn_buf_put_u8(&m->root_fields, CAIRN_ENTRY_DIRECTORY);
    cairn_entry_encode_fields(entry, false, &m->root_fields);
    int status = cairn_buf_check(&m->root_fields, "a snapshot's description", err);
    m->has_changes = true;
    bool is_new = false;
    if (status == CAIRN_OK)
        status = cairn_lane_put(b->metadata, node->data, node->len, &m->changes, &is_new, err);
    if (is_new)
        b->changes_new += node->len;
    return status;
}

static int leave(struct backup *b, struct cairn_error *err)
{
    struct build_level *level = &b->levels[b->level_depth - 1];
    struct item *item = level->item;
    struct cairn_entry entry = {0};
    struct cairn_id id;
    int status = cairn_tree_finish(&level->tree, b->metadata, split_key(b), &id, err);
    if (status == CAIRN_OK)
        status = cairn_changes_finish(&level->changes, b->metadata, &level->node, err);
    if (status == CAIRN_OK)
        status = cairn_backup_entry(b, item, &entry, err);
    if (status != CAIRN_OK)
        return status;
    b->changes_new += level->changes.stored;
    level->changes.stored = 0;
    entry.has_directory = true;
    entry.directory = id;
    const char *what = count_directory(b, item, &id);
    b->level_depth--;
    if (b->level_depth == 0) {
        status = finish_root(b, &entry, &level->node, err);
    } else {
        const struct cairn_change_record record = record_of(item);
        status = add(b, &entry, &record, &level->node, err);
    }
    cairn_backup_report_item(b, item, what);
    cairn_backup_item_free(item);
    level->item = NULL;
    return status;
}

int cairn_backup_assemble(struct backup *b, struct item *item, struct cairn_error *err)
{
    int status;
    switch (item->kind) {
    case ITEM_ENTER:
        status = push(b, item, err);
        if (status != CAIRN_OK)
            cairn_backup_item_free(item);
        return status;
    case ITEM_LEAVE:
        cairn_backup_item_free(item);
        return leave(b, err);
    default:
        status = take_entry(b, item, err);
        cairn_backup_item_free(item);
        return status;
    }
}

void cairn_backup_assemble_end(struct backup *b)
{
    for (size_t i = 0; i < b->level_cap; i++) {
        cairn_tree_builder_release(&b->levels[i].tree);
        cairn_changes_builder_release(&b->levels[i].changes);
        cairn_buf_release(&b->levels[i].node);
        if (i < b->level_depth)
            cairn_backup_item_free(b->levels[i].item);
    }
    cairn_free(b->levels);
    cairn_content_builder_release(&b->content);
    for (size_t i = 0; i < b->link_cap; i++)
        cairn_buf_release(&b->links[i].entry);
    cairn_free(b->links);
}
