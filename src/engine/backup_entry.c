/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/error.h"
#include "engine/backup_internal.h"

static struct cairn_time time_of(struct cairn_stat_time t)
{
    return (struct cairn_time){t.sec, t.nsec};
}

/* What statx tells. */
static void from_stat(struct cairn_entry *e, const struct cairn_stat *st, bool with_atime)
{
    e->type = cairn_entry_type_of(st->mode);
    e->mode = st->mode & 07777;
    e->uid = st->uid;
    e->gid = st->gid;
    e->mtime = time_of(st->mtime);
    e->has_btime = st->has_btime;
    e->btime = time_of(st->btime);
    e->has_atime = with_atime;
    e->atime = time_of(st->atime);
    if (e->type == CAIRN_ENTRY_BLOCK || e->type == CAIRN_ENTRY_CHARACTER) {
        e->rdev_major = st->rdev_major;
        e->rdev_minor = st->rdev_minor;
    }
}

/* Attributes stand in the entry, or in a chunk of their own when they are long. */
static int put_xattrs(struct backup *b, const struct item *item, struct cairn_entry *e,
                      struct cairn_error *err)
{
    if (item->xattrs.len <= CAIRN_XATTRS_INLINE_BYTES) {
        e->xattrs = (struct cairn_slice){item->xattrs.data, item->xattrs.len};
        return CAIRN_OK;
    }
    e->has_xattrs_ref = true;
    return cairn_lane_put(b->metadata, item->xattrs.data, item->xattrs.len, &e->xattrs_ref, NULL,
                          err);
}

static int put_content(struct backup *b, const struct item *item, struct cairn_entry *e,
                       struct cairn_error *err)
{
    e->size = item->size;
    if (item->first == NULL) {
        e->has_inline = item->size > 0;
        e->inline_data = (struct cairn_slice){item->inline_data.data, item->inline_data.len};
        return CAIRN_OK;
    }
    int status = CAIRN_OK;
    cairn_content_builder_clear(&b->content);
    for (const struct extent_block *block = item->first; block; block = block->next) {
        for (uint32_t i = 0; i < block->count && status == CAIRN_OK; i++) {
            const struct extent *x = &block->extents[i];
            status = cairn_content_add(&b->content, b->metadata, x->is_hole ? NULL : &x->id, x->len,
                                       err);
        }
    }
    e->has_content = true;
    if (status == CAIRN_OK)
        status =
            cairn_content_finish(&b->content, b->metadata, &e->content_level, &e->content, err);
    return status;
}

/* The parent's entry again. */
static int from_parent(const struct item *item, struct cairn_entry *out, struct cairn_error *err)
{
    struct cairn_reader reader;
    cairn_reader_init(&reader, item->reused.data, item->reused.len);
    if (!cairn_entry_decode(&reader, out))
        return cairn_error_set(err, CAIRN_CORRUPT, 0,
                               "an entry of the parent snapshot is malformed");
    out->hardlink_group = 0;
    return CAIRN_OK;
}

int cairn_backup_entry(struct backup *b, struct item *item, struct cairn_entry *out,
                       struct cairn_error *err)
{
    struct cairn_entry e = {0};
    int status;
    if (item->is_unchanged) {
        status = from_parent(item, &e, err);
    } else {
        from_stat(&e, &item->stat, b->options->with_atime);
        status = put_xattrs(b, item, &e, err);
        e.has_flags = item->has_flags;
        e.flags = item->flags;
        e.has_project = item->has_project;
        e.project = item->project;
        if (status == CAIRN_OK && e.type == CAIRN_ENTRY_FILE)
            status = put_content(b, item, &e, err);
        if (e.type == CAIRN_ENTRY_SYMLINK)
            e.link = (struct cairn_slice){item->inline_data.data, item->inline_data.len};
    }
    e.name = (struct cairn_slice){item->name.data, item->name.len - 1};
    if (status == CAIRN_OK)
        *out = e;
    return status;
}
