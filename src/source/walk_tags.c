/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <string.h>

#include "base/io.h"
#include "source/walk_internal.h"

#define HEADER_BYTES_MAX 64u

/* The item with a name, at `low` or behind, or node->count. */
static size_t find(const struct walk_node *node, size_t low, const char *name)
{
    size_t high = node->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(node->names + node->items[middle], name);
        if (order == 0)
            return middle;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return node->count;
}

/* Whether the file is a regular one that begins as the tag asks. One that cannot be read does not:
 * too much is stored then, not too little. */
static bool has_header(int dir, const struct cairn_walk_tag *tag)
{
    char bytes[HEADER_BYTES_MAX];
    struct stat st;
    if (tag->header == NULL)
        return true;
    if (tag->header_len > sizeof(bytes) ||
        cairn_io()->fstatat(dir, tag->name, &st, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(st.st_mode))
        return false;
    int fd = cairn_io_open(dir, tag->name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
    if (fd < 0)
        return false;
    bool is_regular = cairn_io()->fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
    ssize_t n = is_regular ? cairn_io_pread_full(fd, bytes, tag->header_len, 0) : -1;
    (void)cairn_io_close(fd);
    return n == (ssize_t)tag->header_len && memcmp(bytes, tag->header, tag->header_len) == 0;
}

void walk_tags_apply(struct cairn_walk *walk, struct walk_node *node, int fd)
{
    size_t kept = 0;
    /* Items stay in order: a tag found later may stand before one found earlier. */
    for (size_t i = 0; i < walk->options.tag_count; i++) {
        const struct cairn_walk_tag *tag = &walk->options.tags[i];
        size_t item = find(node, kept, tag->name);
        if (item == node->count || !has_header(fd, tag))
            continue;
        uint32_t at = node->items[item];
        size_t to = kept;
        while (to > 0 && strcmp(node->names + node->items[to - 1], tag->name) > 0)
            to--;
        memmove(node->items + to + 1, node->items + to, (item - to) * sizeof(*node->items));
        node->items[to] = at;
        kept++;
    }
    node->is_tagged = kept > 0;
    if (kept > 0)
        node->count = kept;
}
