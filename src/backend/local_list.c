/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "backend/local_internal.h"
#include "backend/name.h"
#include "base/error.h"
#include "base/io.h"

#define MAX_DEPTH 3 /* parts of a name */
#define STOP 1      /* ends a walk; the reason is in the walk's status */

struct walk {
    struct cairn_local *local;
    cairn_backend_list_fn fn;
    void *ctx;
    struct cairn_error *err;
    int status;
    int depth;                             /* parts in name, the directory's own */
    char name[CAIRN_BACKEND_NAME_MAX + 2]; /* the directory's name with "/" behind, or "" */
};

static int visit(void *ctx, int dir, const char *entry, unsigned char type);

static int fail(struct walk *walk, int os_errno)
{
    walk->status = cairn_local_read_error(walk->local, walk->name, os_errno, walk->err);
    /* An absent directory is damage: never an empty list, never a missing object. */
    if (walk->status == CAIRN_NOT_FOUND)
        walk->status = CAIRN_IO;
    if (walk->err != NULL)
        walk->err->status = walk->status;
    return STOP;
}

/* Lists an open directory, which is walk->name, and closes it. */
static int list_dir(struct walk *walk, int dir)
{
    int status = cairn_local_walk(dir, visit, walk);
    int saved = errno;
    (void)cairn_io_close(dir);
    return status < 0 ? fail(walk, saved) : status;
}

/* A directory inside the one being listed: its name is appended for the time of the visit. */
static int visit_dir(struct walk *walk, int dir, const char *entry)
{
    size_t len = strlen(walk->name);
    if (walk->depth + 1 >= MAX_DEPTH || (walk->depth == 0 && strcmp(entry, "tmp") == 0))
        return 0;
    if (len + strlen(entry) + 1 > CAIRN_BACKEND_NAME_MAX)
        return 0;
    (void)snprintf(walk->name + len, sizeof(walk->name) - len, "%s/", entry);
    int sub = cairn_io_open(dir, entry, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
    if (sub < 0)
        return fail(walk, errno);
    walk->depth++;
    int status = list_dir(walk, sub);
    walk->depth--;
    walk->name[len] = '\0';
    return status;
}

static int visit(void *ctx, int dir, const char *entry, unsigned char type)
{
    struct walk *walk = ctx;
    struct stat st;
    char name[CAIRN_BACKEND_NAME_MAX + 1];
    if (!cairn_backend_name_is_valid(entry) ||
        (type != DT_REG && type != DT_DIR && type != DT_UNKNOWN))
        return 0;
    if (type == DT_DIR)
        return visit_dir(walk, dir, entry);
    if (cairn_io()->fstatat(dir, entry, &st, AT_SYMLINK_NOFOLLOW) != 0)
        return errno == ENOENT ? 0 : fail(walk, errno); /* removed since the directory was read */
    if (S_ISDIR(st.st_mode))
        return visit_dir(walk, dir, entry);
    size_t len = strlen(walk->name), more = strlen(entry);
    if (!S_ISREG(st.st_mode) || len + more > CAIRN_BACKEND_NAME_MAX)
        return 0;
    memcpy(name, walk->name, len);
    memcpy(name + len, entry, more + 1);
    walk->status = walk->fn(walk->ctx, name, (uint64_t)st.st_size);
    return walk->status != 0 ? STOP : 0;
}

/* A directory that is missing shows nowhere in a list of the whole. errno tells why not. */
static bool has_layout(int root)
{
    static const char *const names[] = {"keys", "log", "index", "packs"};
    struct stat st;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (cairn_io()->fstatat(root, names[i], &st, AT_SYMLINK_NOFOLLOW) != 0)
            return false;
    }
    return true;
}

int cairn_local_list(struct cairn_backend *backend, const char *prefix, cairn_backend_list_fn fn,
                     void *ctx, struct cairn_error *err)
{
    struct cairn_local *local = cairn_local_from(backend);
    struct walk walk = {.local = local, .fn = fn, .ctx = ctx, .err = err};
    const char *leaf;
    size_t len = strlen(prefix);
    if (strncmp(prefix, "tmp/", 4) == 0)
        return CAIRN_OK;
    memcpy(walk.name, prefix, len + 1);
    for (const char *c = prefix; *c; c++)
        walk.depth += *c == '/';
    int dir = cairn_local_open_parent(local, prefix, &leaf);
    if (dir < 0 && (errno == ENOENT || errno == ENOTDIR) && !cairn_local_is_layout(prefix))
        return CAIRN_OK;
    if (dir < 0)
        (void)fail(&walk, errno);
    else if (len == 0 && !has_layout(dir))
        (void)fail(&walk, errno == ENOENT ? ENOTDIR : errno);
    if (dir >= 0 && walk.status != CAIRN_OK)
        (void)cairn_io_close(dir);
    else if (dir >= 0)
        (void)list_dir(&walk, dir);
    return walk.status;
}
