/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "source/walk_internal.h"

/* Appends the components of text to out ("/a/b"), taking away one for each "..". */
static void append_clean(struct cairn_buf *out, const char *text)
{
    while (*text) {
        size_t len = strcspn(text, "/");
        if (len == 2 && text[0] == '.' && text[1] == '.') {
            while (out->len > 0 && out->data[--out->len] != '/')
                ;
        } else if (len > 0 && !(len == 1 && text[0] == '.')) {
            cairn_buf_put(out, "/", 1);
            cairn_buf_put(out, text, len);
        }
        text += len;
        text += *text == '/';
    }
}

/* Byte order of components: '/' and the end come before every other byte. */
static int compare_paths(const char *a, const char *b)
{
    while (*a && *a == *b)
        a++, b++;
    unsigned char x = *a == '/' ? 1 : (unsigned char)*a;
    unsigned char y = *b == '/' ? 1 : (unsigned char)*b;
    /* A byte 1 in a name must still come behind '/'. */
    if (x == 1 && y == 1 && *a != *b)
        return *a == '/' ? -1 : 1;
    return (int)x - (int)y;
}

static int compare_entries(const void *a, const void *b)
{
    return compare_paths(*(char *const *)a, *(char *const *)b);
}

/* true: path is above or the same as below. */
static bool is_prefix(const char *path, const char *below)
{
    size_t len = strcmp(path, "/") == 0 ? 0 : strlen(path);
    return strncmp(path, below, len) == 0 && (below[len] == '/' || below[len] == '\0');
}

static int make_absolute(const char *given, char **cwd, char **out, struct cairn_error *err)
{
    struct cairn_buf buf = CAIRN_BUF_INIT;
    if (given[0] == '\0')
        return cairn_error_set(err, CAIRN_MISUSE, 0, "a path to back up is empty");
    if (given[0] != '/') {
        if (!*cwd)
            *cwd = getcwd(NULL, 0);
        if (!*cwd || **cwd != '/')
            return cairn_error_set(err, CAIRN_IO, *cwd ? 0 : errno,
                                   "relative path given, but the working directory is unknown");
        append_clean(&buf, *cwd);
    }
    append_clean(&buf, given);
    if (buf.len == 0)
        cairn_buf_put(&buf, "/", 1);
    cairn_buf_put_u8(&buf, 0);
    if (buf.failed)
        return cairn_error_no_memory(err, "a path to back up");
    *out = (char *)buf.data;
    return CAIRN_OK;
}

/* Sorts and removes what lies below another. */
static void absorb(struct walk_paths *paths)
{
    qsort(paths->paths, paths->count, sizeof(char *), compare_entries);
    size_t kept = 0;
    for (size_t i = 0; i < paths->count; i++) {
        if (kept > 0 && is_prefix(paths->paths[kept - 1], paths->paths[i]))
            cairn_free(paths->paths[i]);
        else
            paths->paths[kept++] = paths->paths[i];
    }
    paths->count = kept;
}

/* Adds one path; since paths come in order, a component is new or its parent's last child. */
static void add_parts(struct walk_paths *paths, uint32_t path, uint32_t *last_child, char *name)
{
    uint32_t at = 0;
    paths->parts[0].path_count++;
    while (*name == '/' && name[1]) {
        name++;
        size_t len = strcspn(name, "/");
        uint32_t last = last_child[at];
        if (last == WALK_NO_PART || paths->parts[last].name_len != len ||
            memcmp(paths->parts[last].name, name, len) != 0) {
            uint32_t fresh = (uint32_t)paths->part_count++;
            paths->parts[fresh] = (struct walk_part){.name = name,
                                                     .name_len = len,
                                                     .first_child = WALK_NO_PART,
                                                     .next_sibling = WALK_NO_PART,
                                                     .first_path = path};
            last_child[fresh] = WALK_NO_PART;
            *(last == WALK_NO_PART ? &paths->parts[at].first_child
                                   : &paths->parts[last].next_sibling) = fresh;
            paths->parts[at].child_count++;
            last_child[at] = fresh;
        }
        at = last_child[at];
        paths->parts[at].path_count++;
        name += len;
    }
    paths->parts[at].is_given = true;
}

static int build_parts(struct walk_paths *paths, struct cairn_error *err)
{
    size_t bytes = 1, parts = 1;
    for (size_t i = 0; i < paths->count; i++) {
        bytes += strlen(paths->paths[i]) + 1;
        for (const char *p = paths->paths[i]; *p; p++)
            parts += *p == '/';
    }
    if (parts >= WALK_NO_PART)
        return cairn_error_set(err, CAIRN_LIMIT, 0, "too many paths to back up");
    uint32_t *last_child = cairn_alloc(parts, sizeof(*last_child));
    paths->parts = cairn_alloc(parts, sizeof(*paths->parts));
    paths->names = cairn_alloc(bytes, 1);
    if (!last_child || !paths->parts || !paths->names) {
        cairn_free(last_child);
        return cairn_error_no_memory(err, "the paths to back up");
    }
    paths->parts[0] =
        (struct walk_part){.name = "", .first_child = WALK_NO_PART, .next_sibling = WALK_NO_PART};
    paths->part_count = 1;
    last_child[0] = WALK_NO_PART;
    char *at = paths->names;
    for (size_t i = 0; i < paths->count; i++) {
        size_t len = strlen(paths->paths[i]) + 1;
        memcpy(at, paths->paths[i], len);
        add_parts(paths, (uint32_t)i, last_child, at);
        at += len;
    }
    cairn_free(last_child);
    return CAIRN_OK;
}

int walk_paths_init(struct walk_paths *paths, const char *const *given, size_t count,
                    struct cairn_error *err)
{
    char *cwd = NULL;
    int status = CAIRN_OK;
    *paths = (struct walk_paths){0};
    if (count == 0)
        return cairn_error_set(err, CAIRN_MISUSE, 0, "no path to back up");
    paths->paths = cairn_alloc_zero(count, sizeof(char *));
    if (!paths->paths)
        return cairn_error_no_memory(err, "the paths to back up");
    while (status == CAIRN_OK && paths->count < count) {
        status = make_absolute(given[paths->count], &cwd, &paths->paths[paths->count], err);
        paths->count += status == CAIRN_OK;
    }
    free(cwd);
    if (status == CAIRN_OK) {
        absorb(paths);
        status = build_parts(paths, err);
    }
    if (status != CAIRN_OK)
        walk_paths_release(paths);
    return status;
}

void walk_paths_release(struct walk_paths *paths)
{
    for (size_t i = 0; i < paths->count; i++)
        cairn_free(paths->paths[i]);
    cairn_free(paths->paths);
    cairn_free(paths->parts);
    cairn_free(paths->names);
    *paths = (struct walk_paths){0};
}
