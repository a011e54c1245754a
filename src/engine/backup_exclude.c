/* SPDX-License-Identifier: Apache-2.0
 *
 * What a backup leaves out: excluded by patterns or tags, on another file system, in the kernel's
 * own file systems, in the repository itself.
 */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "engine/backup_internal.h"
#include "source/patterns.h"

/* The cache directory tagging specification. */
#define CACHE_TAG_NAME "CACHEDIR.TAG"
#define CACHE_TAG_HEADER "Signature: 8a477f597d28d172789f06886806bc55"

static int make_tags(struct backup_exclude *x, const struct cairn_backup_options *o,
                     struct cairn_error *err)
{
    size_t count = o->exclude_if_present_count + (o->exclude_caches ? 1 : 0);
    if (count == 0)
        return CAIRN_OK;
    x->tags = cairn_alloc_zero(count, sizeof(*x->tags));
    if (x->tags == NULL)
        return cairn_error_no_memory(err, "the backup");
    for (size_t i = 0; i < o->exclude_if_present_count; i++) {
        const char *name = o->exclude_if_present[i];
        if (*name == '\0' || strchr(name, '/') || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
            return cairn_error_set(err, CAIRN_MISUSE, 0,
                                   "exclude-if-present takes a file's name without a directory, "
                                   "not \"%s\"",
                                   name);
        x->tags[x->tag_count++].name = name;
    }
    if (o->exclude_caches)
        x->tags[x->tag_count++] =
            (struct cairn_walk_tag){CACHE_TAG_NAME, CACHE_TAG_HEADER, sizeof(CACHE_TAG_HEADER) - 1};
    return CAIRN_OK;
}

int cairn_backup_exclude_init(struct backup *b, struct cairn_error *err)
{
    const struct cairn_backup_options *o = b->options;
    struct backup_exclude *x = &b->exclude;
    int status = cairn_patterns_new(&x->patterns, err);
    for (size_t i = 0; i < o->exclude_file_count && status == CAIRN_OK; i++)
        status = cairn_patterns_add_file(x->patterns, o->exclude_files[i], err);
    for (size_t i = 0; i < o->exclude_count && status == CAIRN_OK; i++)
        status =
            cairn_patterns_add(x->patterns, o->excludes[i], strlen(o->excludes[i]), "exclude", err);
    if (status == CAIRN_OK)
        status = make_tags(x, o, err);
    if (status == CAIRN_OK)
        status = cairn_mounts_read(&x->mounts, err);
    return status;
}

void cairn_backup_exclude_release(struct backup *b)
{
    cairn_patterns_free(b->exclude.patterns);
    cairn_free(b->exclude.tags);
    cairn_mounts_release(&b->exclude.mounts);
}

/* Where the given path that dir is below ends in an absolute path without its first slash: what
 * anchored patterns may begin at. */
static size_t base_of(const struct cairn_dir *dir, const char *path, size_t len)
{
    unsigned depth = cairn_dir_get_given_depth(dir);
    size_t at = 0;
    /* The given path itself: only as an absolute path. */
    if (depth > cairn_dir_get_depth(dir))
        return 0;
    for (; depth > 0; depth--) {
        const char *slash = memchr(path + at, '/', len - at);
        if (slash == NULL)
            return 0;
        at = (size_t)(slash - path) + 1;
    }
    return at;
}

static bool is_excluded(struct backup_exclude *x, const struct cairn_dir *dir, const char *name,
                        size_t name_len, bool is_directory)
{
    if (cairn_patterns_get_count(x->patterns) == 0)
        return false;
    if (!cairn_patterns_has_anchored(x->patterns))
        return cairn_patterns_match(x->patterns, name, name_len, 0, is_directory) ==
               CAIRN_PATTERN_MATCH;
    struct cairn_buf path = CAIRN_BUF_INIT;
    cairn_dir_append_path(dir, name, &path);
    bool is_match = false;
    /* Without memory too much is stored, not too little; the backup will soon end for want of it.
     */
    if (!path.failed && path.len > 1) {
        const char *bytes = (const char *)path.data + 1;
        size_t len = path.len - 1;
        is_match = cairn_patterns_match(x->patterns, bytes, len, base_of(dir, bytes, len),
                                        is_directory) == CAIRN_PATTERN_MATCH;
    }
    cairn_buf_release(&path);
    return is_match;
}

enum cairn_walk_verdict cairn_backup_exclude_filter(void *ctx, struct cairn_dir *dir,
                                                    const char *name, size_t name_len,
                                                    const struct cairn_stat *stat)
{
    struct backup *b = ctx;
    struct backup_exclude *x = &b->exclude;
    bool is_directory = cairn_stat_is_dir(stat);
    if (is_excluded(x, dir, name, name_len, is_directory)) {
        atomic_fetch_add_explicit(&x->excluded, 1, memory_order_relaxed);
        return CAIRN_WALK_DROP;
    }
    if (!is_directory)
        return CAIRN_WALK_TAKE;
    const struct cairn_repo_place *place = &b->repo->place;
    uint64_t device = cairn_stat_device(stat);
    if (place->is_known && place->ino == stat->ino && place->device == device) {
        atomic_store(&x->met_repository, true);
        return CAIRN_WALK_SHUT;
    }
    /* A given path is taken even there; what is mounted below it is not. */
    if (device != cairn_dir_get_device(dir) && cairn_mounts_has(&x->mounts, device) &&
        cairn_dir_get_given_depth(dir) <= cairn_dir_get_depth(dir))
        return CAIRN_WALK_SHUT;
    return CAIRN_WALK_TAKE;
}
