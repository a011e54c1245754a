/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "engine/repo.h"

/* Makes every directory of a path. Failures show when the directory is used. */
static void make_parents(char *path)
{
    for (char *at = path + 1; *at; at++) {
        if (*at != '/')
            continue;
        *at = '\0';
        (void)mkdir(path, 0700);
        *at = '/';
    }
    (void)mkdir(path, 0700);
}

int cairn_user_dir(const char *given, const char *kind, char **out, struct cairn_error *err)
{
    bool is_cache = strcmp(kind, "CACHE") == 0;
    const char *base = getenv(is_cache ? "XDG_CACHE_HOME" : "XDG_STATE_HOME");
    const char *home = getenv("HOME");
    char *path = NULL;
    int n = 0;
    if (given && *given)
        n = asprintf(&path, "%s", given);
    else if (base && *base == '/')
        n = asprintf(&path, "%s/cairn", base);
    else if (home && *home == '/')
        n = asprintf(&path, "%s/%s/cairn", home, is_cache ? ".cache" : ".local/state");
    if (n < 0)
        return cairn_error_no_memory(err, "a path");
    if (path)
        make_parents(path);
    *out = path;
    return CAIRN_OK;
}

int cairn_absolute_path(const char *path, char **out, struct cairn_error *err)
{
    char *whole = realpath(path, NULL);
    if (whole == NULL && errno == ENOENT) {
        /* Not there yet: what is there is the directory that it will be made in. */
        char *copy = cairn_strdup(path);
        if (copy == NULL)
            return cairn_error_no_memory(err, "a path");
        size_t len = strlen(copy);
        while (len > 1 && copy[len - 1] == '/')
            copy[--len] = '\0';
        char *slash = strrchr(copy, '/');
        const char *name = slash ? slash + 1 : copy;
        char *parent = NULL;
        if (slash == copy) {
            parent = realpath("/", NULL);
        } else if (slash) {
            *slash = '\0';
            parent = realpath(copy, NULL);
        } else {
            parent = realpath(".", NULL);
        }
        if (parent && asprintf(&whole, "%s/%s", strcmp(parent, "/") == 0 ? "" : parent, name) < 0)
            whole = NULL;
        free(parent);
        cairn_free(copy);
        errno = ENOENT;
    }
    if (whole == NULL)
        return cairn_error_system(err, errno, "cannot use %s", path);
    *out = whole;
    return CAIRN_OK;
}
