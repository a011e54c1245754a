/* SPDX-License-Identifier: Apache-2.0 */
#include "cli.h"

static int run(struct cli *cli, void *given, const struct cli_args *args)
{
    const struct cli_command *command = NULL;
    (void)given;
    if (args->count > 0) {
        command = cli_command_find(args->items[0]);
        if (command == NULL)
            return cli_command_unknown(cli, args->items[0]);
    }
    cli_help(command);
    return CLI_EXIT_DONE;
}

const struct cli_command cli_cmd_help = {
    .name = "help",
    .usage = "[COMMAND]",
    .summary = "explain cairn, or one command",
    .args_max = 1,
    .run = run,
};
