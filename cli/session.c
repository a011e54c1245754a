/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "cli.h"
#include "password.h"

#define TERMINAL_TRIES 3

static const char *first(const char *given, const char *variable)
{
    return given ? given : cli_environment(variable);
}

void cli_repo_options(const struct cli *cli, struct cairn_repo_options *out)
{
    *out = (struct cairn_repo_options){
        .size = sizeof(*out),
        .location = first(cli->repo, "CAIRN_REPO"),
        .cache_dir = first(cli->cache_dir, "CAIRN_CACHE_DIR"),
        .key_file = first(cli->key_file, "CAIRN_KEY_FILE"),
        .threads = (unsigned)cli->threads,
        .memory_limit = cli->memory_limit,
    };
}

static int need_location(const struct cairn_repo_options *options, struct cairn_error *err)
{
    if (options->location && *options->location)
        return CAIRN_OK;
    return cairn_error_set(err, CAIRN_MISUSE, 0,
                           "no repository was named: give -r REPO or set CAIRN_REPO");
}

/* The library knows only that no password came; why, we know. */
static int blame_password(const struct cli_password *password, int status, struct cairn_error *err)
{
    if (status == CAIRN_OK || password->error.status == CAIRN_OK)
        return status;
    *err = password->error;
    return err->status;
}

static int finish(struct cli *cli, struct cairn_repo *repo, struct cairn_error *err)
{
    cli->opened = repo;
    cli_signals_watch(repo);
    if (cli_signals_caught())
        return cairn_error_set(err, CAIRN_CANCELLED, 0, "interrupted");
    return CAIRN_OK;
}

int cli_open(struct cli *cli, struct cairn_error *err)
{
    struct cairn_repo_options options;
    struct cairn_repo *repo = NULL;
    cli_repo_options(cli, &options);
    int status = need_location(&options, err);
    if (status != CAIRN_OK)
        return status;
    for (int tries = 0; tries < TERMINAL_TRIES; tries++) {
        struct cli_password password = {.cli = cli};
        /* Who names a key file and no password wants to be asked for none. */
        if (options.key_file == NULL || cli_password_is_named(cli)) {
            options.password = cli_password_get;
            options.password_ctx = &password;
        }
        status = cairn_repo_open(&options, &repo, err);
        status = blame_password(&password, status, err);
        if (status != CAIRN_AUTH || !password.from_terminal || password.error.status != CAIRN_OK)
            break;
    }
    return status == CAIRN_OK ? finish(cli, repo, err) : status;
}

int cli_init(struct cli *cli, const struct cairn_init_options *init, struct cairn_error *err)
{
    struct cairn_repo_options options;
    struct cairn_repo *repo = NULL;
    struct cli_password password = {.cli = cli, .is_new = true};
    cli_repo_options(cli, &options);
    int status = need_location(&options, err);
    if (status != CAIRN_OK)
        return status;
    bool is_encrypted = init->aead != CAIRN_AEAD_NONE;
    if (is_encrypted && (options.key_file == NULL || cli_password_is_named(cli))) {
        options.password = cli_password_get;
        options.password_ctx = &password;
    }
    status = cairn_repo_init(&options, init, &repo, err);
    status = blame_password(&password, status, err);
    return status == CAIRN_OK ? finish(cli, repo, err) : status;
}

void cli_close(struct cli *cli)
{
    cli_signals_watch(NULL);
    cairn_repo_close(cli->opened);
    cli->opened = NULL;
}

/* "a//b/" becomes "/a/b". */
static char *normal_path(const char *path)
{
    char *out = malloc(strlen(path) + 2);
    size_t n = 0;
    if (out == NULL)
        return NULL;
    out[n++] = '/';
    for (; *path; path++) {
        if (*path != '/' || out[n - 1] != '/')
            out[n++] = *path;
    }
    if (n > 1 && out[n - 1] == '/')
        n--;
    out[n] = '\0';
    return out;
}

int cli_snapshot_path(struct cli *cli, const char *arg, const struct cairn_snapshot_filter *filter,
                      struct cairn_id *id, char **path, struct cairn_error *err)
{
    const char *colon = strchr(arg, ':');
    size_t len = colon ? (size_t)(colon - arg) : strlen(arg);
    char *spec = strndup(arg, len);
    char *found = normal_path(colon ? colon + 1 : "");
    struct cairn_id resolved;
    int status = CAIRN_OK;
    if (spec == NULL || found == NULL)
        status = cairn_error_no_memory(err, "a path");
    else if (len == 0)
        status = cairn_error_set(err, CAIRN_MISUSE, 0,
                                 "no snapshot was named: SNAPSHOT[:PATH], for example latest:/etc");
    if (status == CAIRN_OK)
        status = cairn_snapshot_resolve(cli->opened, spec, filter, &resolved, err);
    free(spec);
    if (status != CAIRN_OK) {
        free(found);
        return status;
    }
    *id = resolved;
    *path = found;
    return CAIRN_OK;
}
