/* SPDX-License-Identifier: Apache-2.0 */
#include "base/error.h"
#include "cli.h"
#include "events.h"
#include "format.h"
#include "json.h"

struct check_options {
    bool read_data;
};

static const struct cli_option options[] = {
    {.name = "read-data",
     .kind = CLI_FLAG,
     .offset = offsetof(struct check_options, read_data),
     .help = "read, decrypt and verify every stored byte"},
    {0},
};

static const char *const later[] = {"read-data-subset", "max-age", "budget", NULL};

static void print_json(const struct cairn_check_result *r)
{
    json_t *object = cli_json_object("summary");
    cli_json_number(object, "num_errors", r->damaged);
    cli_json_number(object, "log_entries", r->log_entries);
    cli_json_number(object, "index_segments", r->segments);
    cli_json_number(object, "packs", r->packs);
    cli_json_number(object, "orphan_packs", r->orphan_packs);
    cli_json_number(object, "chunks", r->chunks);
    cli_json_number(object, "snapshots", r->snapshots);
    cli_json_number(object, "trees", r->trees);
    cli_json_number(object, "bytes_read", r->bytes_read);
    cli_json_set(object, "total_duration", json_real(r->seconds));
    cli_json_print(stdout, object);
}

static void print_text(const struct cairn_check_result *r, bool read_data)
{
    char bytes[CLI_SIZE_TEXT], took[CLI_TIME_TEXT];
    cli_format_size(bytes, r->bytes_read);
    cli_format_duration(took, r->seconds);
    cli_out("checked %llu snapshots, %llu trees, %llu chunks, %llu packs, %llu index segments, "
            "%llu log entries; read %s in %s\n",
            (unsigned long long)r->snapshots, (unsigned long long)r->trees,
            (unsigned long long)r->chunks, (unsigned long long)r->packs,
            (unsigned long long)r->segments, (unsigned long long)r->log_entries, bytes, took);
    if (r->orphan_packs)
        cli_out("%llu packs belong to no snapshot: an interrupted backup left them; harmless\n",
                (unsigned long long)r->orphan_packs);
    if (r->damaged == 0)
        cli_out("no damage was found%s\n",
                read_data ? "" : "; --read-data would also verify the content of every file");
}

/* What makes another command fail is for this one a finding. */
static int report(const struct cli *cli, const struct cairn_error *err)
{
    if (err->status == CAIRN_CORRUPT || err->status == CAIRN_UNTRUSTED)
        return cli_report_exit(cli, CLI_EXIT_DAMAGED, "%s", err->message);
    return cli_report(cli, err);
}

static int run(struct cli *cli, void *given, const struct cli_args *args)
{
    const struct check_options *o = given;
    struct cairn_error err = {0};
    struct cairn_check_result result = {0};
    struct cli_events events;
    (void)args;
    if (cli_open(cli, &err) != CAIRN_OK)
        return report(cli, &err);
    cli_events_init(&events, cli, "check");
    const struct cairn_check_options check = {.size = sizeof(check),
                                              .read_data = o->read_data,
                                              .event = cli_events_receive,
                                              .event_ctx = &events};
    int status = cairn_check(cli->opened, &check, &result, &err);
    cli_events_end(&events);
    if (status != CAIRN_OK)
        return report(cli, &err);
    if (cli->json)
        print_json(&result);
    else if (!cli->quiet)
        print_text(&result, o->read_data);
    if (result.damaged > 0)
        return cli_report_exit(cli, CLI_EXIT_DAMAGED,
                               "check found damage in %llu place%s (named above)",
                               (unsigned long long)result.damaged, result.damaged == 1 ? "" : "s");
    return CLI_EXIT_DONE;
}

const struct cli_command cli_cmd_check = {
    .name = "check",
    .usage = "[--read-data]",
    .summary = "verify the repository",
    .details = "Verifies the log, the index, and that everything the snapshots refer to is there; "
               "with\n--read-data every stored byte as well. Changes nothing.",
    .options = options,
    .options_size = sizeof(struct check_options),
    .later = later,
    .args_max = 0,
    .run = run,
};
