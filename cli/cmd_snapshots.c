/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/error.h"
#include "cli.h"
#include "filter.h"
#include "format.h"
#include "json.h"
#include "table.h"

struct snapshots_options {
    struct cli_filter filter;
    uint64_t latest;
};

static const struct cli_option options[] = {
    CLI_FILTER_OPTIONS(struct snapshots_options),
    {.name = "latest",
     .kind = CLI_PARSED,
     .offset = offsetof(struct snapshots_options, latest),
     .value = "N",
     .parse = cli_parse_number,
     .expects = CLI_EXPECTS_NUMBER,
     .help = "only the newest N of them"},
    {0},
};

/* A listing in progress. */
struct listing {
    const struct cli *cli;
    struct cli_table table;
    struct cairn_error error;
    uint64_t count;
};

static int list_json(struct listing *l, const struct cairn_snapshot_info *info)
{
    static const struct cairn_id none;
    int64_t seconds;
    uint32_t nanoseconds;
    json_t *object = cli_json_object("snapshot");
    cli_split_ns(info->time_ns, &seconds, &nanoseconds);
    cli_json_time(object, "time", seconds, nanoseconds);
    if (memcmp(&info->parent, &none, sizeof(none)) != 0)
        cli_json_id(object, "parent", &info->parent, 0);
    cli_json_list(object, "paths", info->paths, info->path_count);
    cli_json_text(object, "hostname", info->host);
    cli_json_text(object, "username", info->user);
    cli_json_list(object, "tags", info->tags, info->tag_count);
    cli_json_text(object, "program_version", info->program);
    cli_json_number(object, "total_files_processed", info->files);
    cli_json_number(object, "total_dirs_processed", info->dirs);
    cli_json_number(object, "total_others_processed", info->others);
    cli_json_number(object, "total_bytes_processed", info->bytes);
    cli_json_number(object, "data_added", info->bytes_added);
    cli_json_number(object, "error_count", info->problems);
    cli_json_id(object, "id", &info->id, 0);
    char shown[CLI_SHORT_ID + 1];
    cli_format_id(shown, &info->id);
    cli_json_set(object, "short_id", json_string(shown));
    cli_json_print_row(object);
    l->count++;
    return cli_out_failed();
}

/* The rows of one snapshot: the first has everything, more tags and paths stand below it. */
static int list_text(struct listing *l, const struct cairn_snapshot_info *info)
{
    char id[CLI_SHORT_ID + 1], when[CLI_TIME_TEXT], files[24], size[CLI_SIZE_TEXT];
    int64_t seconds;
    uint32_t nanoseconds;
    cli_split_ns(info->time_ns, &seconds, &nanoseconds);
    cli_format_id(id, &info->id);
    cli_format_local_time(when, seconds);
    (void)snprintf(files, sizeof(files), "%llu", (unsigned long long)info->files);
    cli_format_size(size, info->bytes);
    size_t rows = info->path_count > info->tag_count ? info->path_count : info->tag_count;
    for (size_t i = 0; i < rows || i == 0; i++) {
        const char *const cells[] = {i ? "" : id,
                                     i ? "" : when,
                                     i ? "" : info->host,
                                     i ? "" : files,
                                     i ? "" : size,
                                     i < info->tag_count ? info->tags[i] : "",
                                     i < info->path_count ? info->paths[i] : ""};
        for (size_t j = 0; j < sizeof(cells) / sizeof(cells[0]); j++) {
            int status = cli_table_add(&l->table, cells[j], &l->error);
            if (status != CAIRN_OK)
                return status;
        }
    }
    l->count++;
    return 0;
}

static int list(void *ctx, const struct cairn_snapshot_info *info)
{
    struct listing *l = ctx;
    if (cli_signals_caught())
        return cairn_error_set(&l->error, CAIRN_CANCELLED, 0, "interrupted");
    return l->cli->json ? list_json(l, info) : list_text(l, info);
}

static int begin_table(struct listing *l)
{
    static const char *const heading[] = {"ID", "Time", "Host", "Files", "Size", "Tags", "Paths"};
    l->table.columns = sizeof(heading) / sizeof(heading[0]);
    l->table.right = 1u << 3 | 1u << 4;
    int status = CAIRN_OK;
    for (size_t i = 0; i < l->table.columns && status == CAIRN_OK; i++)
        status = cli_table_add(&l->table, heading[i], &l->error);
    return status;
}

static void finish(const struct listing *l)
{
    if (l->cli->json) {
        json_t *object = cli_json_object("summary");
        cli_json_number(object, "snapshots", l->count);
        cli_json_print(stdout, object);
        return;
    }
    if (l->count > 0)
        cli_table_print(&l->table);
    if (!l->cli->quiet)
        cli_out("%llu snapshot%s\n", (unsigned long long)l->count, l->count == 1 ? "" : "s");
}

static int run(struct cli *cli, void *given, const struct cli_args *args)
{
    const struct snapshots_options *o = given;
    struct cairn_snapshot_filter filter = cli_filter_get(&o->filter);
    struct listing l = {.cli = cli};
    struct cairn_error err = {0};
    (void)args;
    filter.latest = o->latest;
    int status = cli_open(cli, &err);
    if (status == CAIRN_OK)
        status = begin_table(&l);
    if (status == CAIRN_OK)
        status = cairn_snapshot_list(cli->opened, &filter, list, &l, &err);
    int code = CLI_EXIT_DONE;
    if (status == CAIRN_OK)
        finish(&l);
    else if (status < 0)
        code = cli_report(cli, l.error.status ? &l.error : &err);
    cli_table_release(&l.table);
    return code;
}

const struct cli_command cli_cmd_snapshots = {
    .name = "snapshots",
    .usage = "[OPTIONS]",
    .summary = "list the snapshots, the newest last",
    .options = options,
    .options_size = sizeof(struct snapshots_options),
    .args_max = 0,
    .run = run,
};
