/* SPDX-License-Identifier: Apache-2.0
 *
 * Files with several links: which were met, under which number, with what content. Open addressing
 * over (device, inode); an entry is dropped once all its links were met, so that memory follows the
 * links that are still expected.
 */
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "engine/backup_internal.h"

/* States of a slot: group 0 is free; group UINT64_MAX was dropped. */
#define DROPPED UINT64_MAX

static size_t start_of(const struct backup *b, uint64_t device, uint64_t inode)
{
    uint64_t x = (inode ^ device * 0x9e3779b97f4a7c15u) * 0xbf58476d1ce4e5b9u;
    return (size_t)(x ^ x >> 31) & (b->link_cap - 1);
}

struct link_entry *cairn_backup_link_find(struct backup *b, uint64_t device, uint64_t inode)
{
    if (b->link_cap == 0)
        return NULL;
    for (size_t i = start_of(b, device, inode); b->links[i].group != 0;
         i = (i + 1) & (b->link_cap - 1)) {
        if (b->links[i].group != DROPPED && b->links[i].device == device &&
            b->links[i].inode == inode)
            return &b->links[i];
    }
    return NULL;
}

/* The free slot for a key that is not in the table. */
static struct link_entry *slot_for(struct backup *b, uint64_t device, uint64_t inode)
{
    size_t i = start_of(b, device, inode);
    while (b->links[i].group != 0)
        i = (i + 1) & (b->link_cap - 1);
    return &b->links[i];
}

static int grow(struct backup *b, struct cairn_error *err)
{
    struct link_entry *old = b->links;
    size_t old_cap = b->link_cap, live = 0;
    for (size_t i = 0; i < old_cap; i++)
        live += old[i].group != 0 && old[i].group != DROPPED;
    size_t cap = 256;
    while (cap < live * 4)
        cap *= 2;
    struct link_entry *fresh = cairn_alloc_zero(cap, sizeof(*fresh));
    if (fresh == NULL)
        return cairn_error_no_memory(err, "the table of hard links");
    b->links = fresh;
    b->link_cap = cap;
    b->link_count = live;
    for (size_t i = 0; i < old_cap; i++) {
        if (old[i].group != 0 && old[i].group != DROPPED)
            *slot_for(b, old[i].device, old[i].inode) = old[i];
    }
    cairn_free(old);
    return CAIRN_OK;
}

int cairn_backup_link_add(struct backup *b, uint64_t device, uint64_t inode, uint64_t links,
                          struct link_entry **out, struct cairn_error *err)
{
    if ((b->link_count + 1) * 2 > b->link_cap) {
        int status = grow(b, err);
        if (status != CAIRN_OK)
            return status;
    }
    struct link_entry *entry = slot_for(b, device, inode);
    memset(entry, 0, sizeof(*entry));
    entry->device = device;
    entry->inode = inode;
    entry->left = links;
    entry->group = ++b->next_group;
    b->link_count++;
    *out = entry;
    return CAIRN_OK;
}

void cairn_backup_link_drop(struct backup *b, struct link_entry *entry)
{
    (void)b;
    cairn_buf_release(&entry->entry);
    entry->group = DROPPED;
}
