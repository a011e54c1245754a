/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "cli.h"
#include "events.h"
#include "filter.h"
#include "format.h"
#include "json.h"

struct restore_options {
    const char *target;
    bool verify;
    int level;
    struct cli_filter filter;
};

static const struct cli_option options[] = {
    {.name = "target",
     .letter = 't',
     .kind = CLI_TEXT,
     .offset = offsetof(struct restore_options, target),
     .value = "DIR",
     .help = "restore into this directory, which is made or is empty (required)"},
    {.name = "verify",
     .kind = CLI_FLAG,
     .offset = offsetof(struct restore_options, verify),
     .help = "read everything back from the target and compare"},
    {.name = "sync-level",
     .kind = CLI_PARSED,
     .offset = offsetof(struct restore_options, level),
     .value = "LEVEL",
     .parse = cli_parse_level,
     .expects = CLI_EXPECTS_LEVEL,
     .help = "none: leave the writing to the kernel; else the target's file system is synced"},
    CLI_FILTER_OPTIONS(struct restore_options),
    {0},
};

static const char *const later[] = {"include", "exclude",        "overwrite", "delete",
                                    "dry-run", "limit-download", NULL};

static void print_json(const struct cairn_restore_result *r, const struct cairn_id *id)
{
    json_t *object = cli_json_object("summary");
    cli_json_set(object, "seconds_elapsed", json_integer((json_int_t)r->seconds));
    cli_json_set(object, "total_duration", json_real(r->seconds));
    cli_json_number(object, "files_restored", r->files);
    cli_json_number(object, "dirs_restored", r->dirs);
    cli_json_number(object, "others_restored", r->others);
    cli_json_number(object, "bytes_restored", r->bytes);
    cli_json_number(object, "error_count", r->problems);
    cli_json_id(object, "snapshot_id", id, 0);
    cli_json_print(stdout, object);
}

static void print_text(const struct cairn_restore_result *r, const struct cairn_id *id,
                       const struct restore_options *o)
{
    char bytes[CLI_SIZE_TEXT], took[CLI_TIME_TEXT], shown[CLI_SHORT_ID + 1];
    cli_format_size(bytes, r->bytes);
    cli_format_duration(took, r->seconds);
    cli_format_id(shown, id);
    cli_out("restored %llu files, %llu directories and %llu others, %s in %s%s\n",
            (unsigned long long)r->files, (unsigned long long)r->dirs,
            (unsigned long long)r->others, bytes, took,
            o->verify ? ", read back and compared" : "");
    cli_out("snapshot %s is in ", shown);
    cli_out_name(o->target, true);
    cli_out("\n");
}

static int restore(struct cli *cli, const struct restore_options *o, const struct cairn_id *id,
                   const char *path)
{
    struct cairn_error err = {0};
    struct cairn_restore_result result = {0};
    struct cli_events events;
    cli_events_init(&events, cli, "restore");
    const struct cairn_restore_options options_ = {.size = sizeof(options_),
                                                   .path = strcmp(path, "/") == 0 ? NULL : path,
                                                   .target = o->target,
                                                   .level = o->level,
                                                   .verify = o->verify,
                                                   .items = cli->verbose > 0,
                                                   .event = cli_events_receive,
                                                   .event_ctx = &events};
    int status = cairn_restore(cli->opened, id, &options_, &result, &err);
    cli_events_end(&events);
    if (status != CAIRN_OK)
        return cli_report(cli, &err);
    if (cli->json)
        print_json(&result, id);
    else if (!cli->quiet)
        print_text(&result, id, o);
    if (result.problems > 0)
        return cli_report_exit(
            cli, CLI_EXIT_PARTIAL,
            "%llu item%s could not be restored exactly (named above); everything "
            "else was",
            (unsigned long long)result.problems, result.problems == 1 ? "" : "s");
    return CLI_EXIT_DONE;
}

static int run(struct cli *cli, void *given, const struct cli_args *args)
{
    const struct restore_options *o = given;
    const struct cairn_snapshot_filter filter = cli_filter_get(&o->filter);
    struct cairn_error err = {0};
    struct cairn_id id;
    char *path = NULL;
    if (o->target == NULL || *o->target == '\0') {
        (void)cairn_error_set(&err, CAIRN_MISUSE, 0,
                              "restore needs --target DIR: an empty directory, or one to be made");
        return cli_report(cli, &err);
    }
    int status = cli_open(cli, &err);
    if (status == CAIRN_OK)
        status = cli_snapshot_path(cli, args->items[0], &filter, &id, &path, &err);
    if (status != CAIRN_OK)
        return cli_report(cli, &err);
    int code = restore(cli, o, &id, path);
    free(path);
    return code;
}

const struct cli_command cli_cmd_restore = {
    .name = "restore",
    .usage = "SNAPSHOT[:PATH] --target DIR [OPTIONS]",
    .summary = "restore a snapshot, or a path of it, into an empty directory",
    .details = "`restore latest --target DIR` recreates the full paths below DIR; `restore "
               "latest:/a/b\n--target DIR` puts the contents of /a/b into DIR.",
    .options = options,
    .options_size = sizeof(struct restore_options),
    .later = later,
    .args_min = 1,
    .args_max = 1,
    .interrupted = "the target holds a part of the snapshot",
    .run = run,
};
