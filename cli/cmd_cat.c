/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "cli.h"
#include "filter.h"

struct cat_options {
    struct cli_filter filter;
};

static const struct cli_option options[] = {
    CLI_FILTER_OPTIONS(struct cat_options),
    {0},
};

static int write_data(void *ctx, const void *data, size_t len)
{
    (void)ctx;
    cli_out_bytes(data, len);
    return cli_out_failed();
}

static int run(struct cli *cli, void *given, const struct cli_args *args)
{
    const struct cat_options *o = given;
    const struct cairn_snapshot_filter filter = cli_filter_get(&o->filter);
    struct cairn_error err = {0};
    struct cairn_id id = {{0}};
    char *path = NULL;
    int status = CAIRN_OK;
    if (cli->json)
        status = cairn_error_set(&err, CAIRN_MISUSE, 0, "cat prints a file; --json does not apply");
    else if (strchr(args->items[0], ':') == NULL)
        status = cairn_error_set(&err, CAIRN_MISUSE, 0,
                                 "cat needs SNAPSHOT:PATH, for example latest:/etc/fstab");
    if (status == CAIRN_OK)
        status = cli_open(cli, &err);
    if (status == CAIRN_OK)
        status = cli_snapshot_path(cli, args->items[0], &filter, &id, &path, &err);
    if (status == CAIRN_OK)
        status = cairn_snapshot_read(cli->opened, &id, path, write_data, NULL, &err);
    free(path);
    return status < 0 ? cli_report(cli, &err) : CLI_EXIT_DONE;
}

const struct cli_command cli_cmd_cat = {
    .name = "cat",
    .usage = "SNAPSHOT:PATH",
    .summary = "print a file of a snapshot",
    .options = options,
    .options_size = sizeof(struct cat_options),
    .args_min = 1,
    .args_max = 1,
    .run = run,
};
