/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/io.h"
#include "source/walk_internal.h"

/* The names of one directory while it is read. */
struct gathering {
    char *names;
    size_t len, cap;
    struct walk_item *items;
    size_t count, item_cap;
};

/* 0, ENOMEM or EFBIG. */
static int add_name(struct gathering *g, const char *name, size_t len)
{
    if (g->len + len + 1 > UINT32_MAX)
        return EFBIG;
    if (g->len + len + 1 > g->cap) {
        size_t cap = g->cap + g->cap / 2 + len + 512;
        char *names = cairn_realloc(g->names, cap, 1);
        if (!names)
            return ENOMEM;
        g->names = names;
        g->cap = cap;
    }
    if (g->count == g->item_cap) {
        size_t cap = g->item_cap + g->item_cap / 2 + 32;
        struct walk_item *items = cairn_realloc(g->items, cap, sizeof(*items));
        if (!items)
            return ENOMEM;
        g->items = items;
        g->item_cap = cap;
    }
    g->items[g->count++].at = (uint32_t)g->len;
    memcpy(g->names + g->len, name, len + 1);
    g->len += len + 1;
    return 0;
}

/* Adds the entries of one answer of getdents. 0, ENOMEM, EFBIG, or EIO: the answer is malformed. */
static int add_entries(struct gathering *g, struct walk_node *node, const uint8_t *bytes,
                       size_t len)
{
    const size_t head = offsetof(struct dirent64, d_name);
    for (size_t at = 0; at < len;) {
        const struct dirent64 *entry = (const struct dirent64 *)(const void *)(bytes + at);
        if (len - at <= head || entry->d_reclen <= head || entry->d_reclen > len - at)
            return EIO;
        size_t name_len = strnlen(entry->d_name, entry->d_reclen - head);
        if (name_len == entry->d_reclen - head)
            return EIO;
        at += entry->d_reclen;
        const char *name = entry->d_name;
        if (name[0] == '.' && (name_len == 1 || (name_len == 2 && name[1] == '.')))
            continue;
        if (name_len == 0 || memchr(name, '/', name_len)) {
            node->odd_names++;
            continue;
        }
        int failed = add_name(g, name, name_len);
        if (failed)
            return failed;
    }
    return 0;
}

/* Sorts, removes repeated names (a directory that changes meanwhile may give one twice) and hands
 * over to the node. The sort keys' memory is reused for the offsets. */
static void finish(struct gathering *g, struct walk_node *node)
{
    walk_sort(g->items, g->count, g->names);
    uint32_t *items = (uint32_t *)(void *)g->items;
    size_t kept = 0;
    for (size_t i = 0; i < g->count; i++) {
        uint32_t at;
        memcpy(&at, &g->items[i].at, sizeof(at));
        if (kept > 0) {
            uint32_t before;
            memcpy(&before, &items[kept - 1], sizeof(before));
            if (strcmp(g->names + before, g->names + at) == 0)
                continue;
        }
        memcpy(&items[kept++], &at, sizeof(at));
    }
    void *shrunk = kept ? cairn_realloc(items, kept, sizeof(*items)) : NULL;
    node->items = shrunk ? shrunk : items;
    shrunk = g->len ? cairn_realloc(g->names, g->len, 1) : NULL;
    node->names = shrunk ? shrunk : g->names;
    node->count = kept;
}

int walk_names_read(struct cairn_walk *walk, struct walk_node *node, int fd,
                    struct walk_scratch *scratch, size_t most)
{
    struct gathering g = {0};
    int failed = 0;
    node->odd_names = 0;
    node->read_error = 0;
    while (failed == 0) {
        ssize_t n = cairn_io()->getdents64(fd, scratch->dirents, WALK_DIRENTS_BYTES);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            node->read_error = errno;
        if (n <= 0)
            break;
        failed = add_entries(&g, node, scratch->dirents, (size_t)n);
        if (failed == EIO) {
            node->read_error = EIO;
            failed = 0;
            break;
        }
        if (failed == 0 && most && g.count > most)
            failed = EAGAIN;
        if (failed == 0 && walk_is_stopped(walk))
            failed = ECANCELED;
    }
    if (failed) {
        cairn_free(g.names);
        cairn_free(g.items);
        return failed;
    }
    finish(&g, node);
    return 0;
}

int walk_names_take_parts(struct walk_node *node, const struct walk_paths *paths)
{
    const struct walk_part *part = &paths->parts[node->part];
    struct gathering g = {0};
    uint32_t *items = cairn_alloc(part->child_count, sizeof(*items));
    uint32_t *parts = cairn_alloc(part->child_count, sizeof(*parts));
    int failed = items && parts ? 0 : ENOMEM;
    uint32_t child = part->first_child;
    for (size_t i = 0; failed == 0 && child != WALK_NO_PART; i++) {
        const struct walk_part *p = &paths->parts[child];
        char *name = cairn_strndup(p->name, p->name_len);
        failed = name ? add_name(&g, name, p->name_len) : ENOMEM;
        cairn_free(name);
        if (failed == 0) {
            items[i] = g.items[i].at;
            parts[i] = child;
        }
        child = p->next_sibling;
    }
    cairn_free(g.items);
    if (failed) {
        cairn_free(items);
        cairn_free(parts);
        cairn_free(g.names);
        return failed;
    }
    node->names = g.names;
    node->items = items;
    node->child_parts = parts;
    node->count = part->child_count;
    return 0;
}
