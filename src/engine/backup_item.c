/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "engine/backup_internal.h"

struct item *cairn_backup_item_new(int kind)
{
    struct item *item = cairn_alloc_zero(1, sizeof(*item));
    if (item)
        item->kind = kind;
    return item;
}

void cairn_backup_item_free(struct item *item)
{
    if (item == NULL)
        return;
    for (struct extent_block *block = item->first; block;) {
        struct extent_block *next = block->next;
        cairn_free(block);
        block = next;
    }
    cairn_buf_release(&item->name);
    cairn_buf_release(&item->reused);
    cairn_buf_release(&item->inline_data);
    cairn_buf_release(&item->xattrs);
    cairn_free(item->message);
    if (item->dir)
        cairn_dir_unref(item->dir);
    cairn_free(item);
}

void cairn_backup_item_problem(struct item *item, bool is_lost, int os_errno, const char *fmt, ...)
{
    item->has_problem = true;
    item->is_lost |= is_lost;
    item->is_trusted = false;
    if (item->message)
        return;
    char text[512];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    if (os_errno) {
        char why[128];
        size_t len = strlen(text);
        (void)snprintf(text + len, sizeof(text) - len, ": %s",
                       strerror_r(os_errno, why, sizeof(why)));
    }
    item->os_errno = os_errno;
    item->message = cairn_strdup(text);
}

struct cairn_id *cairn_backup_item_extent(struct item *item, uint64_t len, bool is_hole)
{
    struct extent_block *block = item->last;
    if (block == NULL || block->count == block->cap) {
        /* Most files have one extent; large ones get large blocks. */
        uint32_t cap = block == NULL ? 1 : EXTENTS_PER_BLOCK;
        block = cairn_alloc(1, sizeof(*block) + cap * sizeof(block->extents[0]));
        if (block == NULL)
            return NULL;
        block->next = NULL;
        block->count = 0;
        block->cap = cap;
        if (item->last)
            item->last->next = block;
        else
            item->first = block;
        item->last = block;
    }
    struct extent *extent = &block->extents[block->count++];
    extent->len = len;
    extent->is_hole = is_hole;
    return &extent->id;
}

void cairn_backup_item_drop_content(struct item *item)
{
    for (struct extent_block *block = item->first; block;) {
        struct extent_block *next = block->next;
        cairn_free(block);
        block = next;
    }
    item->first = item->last = NULL;
    cairn_buf_clear(&item->inline_data);
    item->size = 0;
}
