/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "cli.h"
#include "filter.h"
#include "format.h"
#include "json.h"

struct ls_options {
    bool is_long, recursive;
    struct cli_filter filter;
};

static const struct cli_option options[] = {
    {.name = "long",
     .letter = 'l',
     .kind = CLI_FLAG,
     .offset = offsetof(struct ls_options, is_long),
     .help = "mode, owner, group, size and time too"},
    {.name = "recursive",
     .letter = 'R',
     .kind = CLI_FLAG,
     .offset = offsetof(struct ls_options, recursive),
     .help = "everything below, not only the directory's own entries"},
    CLI_FILTER_OPTIONS(struct ls_options),
    {0},
};

/* A listing in progress. */
struct listing {
    const struct cli *cli;
    bool is_long, escape, interrupted;
    uint64_t count;
};

static const char *type_name(uint32_t mode)
{
    return S_ISDIR(mode)    ? "dir"
           : S_ISLNK(mode)  ? "symlink"
           : S_ISBLK(mode)  ? "dev"
           : S_ISCHR(mode)  ? "chardev"
           : S_ISFIFO(mode) ? "fifo"
           : S_ISSOCK(mode) ? "socket"
                            : "file";
}

static bool is_device(uint32_t mode)
{
    return S_ISBLK(mode) || S_ISCHR(mode);
}

static void list_json(const struct cairn_entry_info *info)
{
    char mode[CLI_MODE_TEXT];
    const char *slash = strrchr(info->path, '/');
    json_t *object = cli_json_object("node");
    cli_json_text(object, "name", slash && slash[1] ? slash + 1 : info->path);
    cli_json_set(object, "type", json_string(type_name(info->mode)));
    cli_json_text(object, "path", info->path);
    cli_json_number(object, "uid", info->uid);
    cli_json_number(object, "gid", info->gid);
    if (S_ISREG(info->mode))
        cli_json_number(object, "size", info->size);
    cli_json_number(object, "mode", info->mode);
    cli_format_mode(mode, info->mode);
    cli_json_set(object, "permissions", json_string(mode));
    cli_json_time(object, "mtime", info->mtime_sec, info->mtime_nsec);
    if (info->link)
        cli_json_text(object, "linktarget", info->link);
    if (is_device(info->mode)) {
        cli_json_number(object, "device_major", info->rdev_major);
        cli_json_number(object, "device_minor", info->rdev_minor);
    }
    if (info->hardlink_group)
        cli_json_number(object, "hardlink_group", info->hardlink_group);
    cli_json_print_row(object);
}

static void list_text(const struct listing *l, const struct cairn_entry_info *info)
{
    if (l->is_long) {
        char mode[CLI_MODE_TEXT], when[CLI_TIME_TEXT], size[48];
        cli_format_mode(mode, info->mode);
        cli_format_local_time(when, info->mtime_sec);
        if (is_device(info->mode))
            (void)snprintf(size, sizeof(size), "%u, %u", info->rdev_major, info->rdev_minor);
        else
            (void)snprintf(size, sizeof(size), "%llu",
                           S_ISDIR(info->mode) ? 0ull : (unsigned long long)info->size);
        cli_out("%s %5u %5u %12s %s ", mode, info->uid, info->gid, size, when);
    }
    cli_out_name(info->path, l->escape);
    if (l->is_long && info->link) {
        cli_out(" -> ");
        cli_out_name(info->link, l->escape);
    }
    cli_out("\n");
}

static int list(void *ctx, const struct cairn_entry_info *info)
{
    struct listing *l = ctx;
    if (cli_signals_caught()) {
        l->interrupted = true;
        return 1;
    }
    if (l->cli->json)
        list_json(info);
    else
        list_text(l, info);
    l->count++;
    return cli_out_failed();
}

static int finish(const struct cli *cli, const struct listing *l, const struct cairn_id *id)
{
    if (l->interrupted) {
        const struct cairn_error err = {.status = CAIRN_CANCELLED};
        return cli_report(cli, &err);
    }
    if (cli->json) {
        json_t *object = cli_json_object("summary");
        cli_json_number(object, "nodes", l->count);
        cli_json_id(object, "snapshot_id", id, 0);
        cli_json_print(stdout, object);
    }
    return CLI_EXIT_DONE;
}

static int run(struct cli *cli, void *given, const struct cli_args *args)
{
    const struct ls_options *o = given;
    const struct cairn_snapshot_filter filter = cli_filter_get(&o->filter);
    struct cairn_error err = {0};
    struct cairn_id id = {{0}};
    char *path = NULL;
    struct listing l = {.cli = cli,
                        .is_long = o->is_long,
                        /* A name may steer a terminal, and a newline in it would fake a row. */
                        .escape = o->is_long || cli_out_is_terminal()};
    int status = cli_open(cli, &err);
    if (status == CAIRN_OK)
        status = cli_snapshot_path(cli, args->items[0], &filter, &id, &path, &err);
    if (status == CAIRN_OK)
        status = cairn_snapshot_walk(cli->opened, &id, path, o->recursive, list, &l, &err);
    free(path);
    return status < 0 ? cli_report(cli, &err) : finish(cli, &l, &id);
}

const struct cli_command cli_cmd_ls = {
    .name = "ls",
    .usage = "SNAPSHOT[:PATH] [-l] [-R]",
    .summary = "list what is in a snapshot",
    .options = options,
    .options_size = sizeof(struct ls_options),
    .args_min = 1,
    .args_max = 1,
    .run = run,
};
