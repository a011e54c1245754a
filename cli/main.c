/* SPDX-License-Identifier: Apache-2.0
 *
 * cairn [GLOBAL OPTIONS] COMMAND [OPTIONS] [ARGUMENTS]: finds the command and runs it.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "cli.h"

static int check_arguments(const struct cli_command *command, size_t count, struct cairn_error *err)
{
    if (count < command->args_min)
        return cairn_error_set(err, CAIRN_MISUSE, 0, "too few arguments: cairn %s %s",
                               command->name, command->usage);
    if (count > command->args_max)
        return cairn_error_set(err, CAIRN_MISUSE, 0, "too many arguments: cairn %s %s",
                               command->name, command->usage);
    return CAIRN_OK;
}

static int check_globals(const struct cli *cli, struct cairn_error *err)
{
    if (cli->quiet && cli->verbose)
        return cairn_error_set(err, CAIRN_MISUSE, 0, "-q and -v exclude each other");
    if (cli->password_file && cli->password_command)
        return cairn_error_set(err, CAIRN_MISUSE, 0,
                               "--password-file and --password-command exclude each other");
    if (cli->threads > 1024)
        return cairn_error_set(err, CAIRN_MISUSE, 0, "--threads is at most 1024");
    return CAIRN_OK;
}

/* Parses what follows the command's name and runs it. */
static int run(struct cli *cli, int argc, char *const *argv)
{
    const struct cli_command *command = cli->command;
    struct cairn_error err = {0};
    int used, code, status = CAIRN_OK;
    void *options = calloc(1, command->options_size + 1);
    struct cli_parser parser = {
        .sets = {{cli_global_options, cli}, {command->options, options}},
        .later = command->later,
        .what = command->name,
        .args = calloc((size_t)argc + 1, sizeof(char *)),
    };
    if (options == NULL || parser.args == NULL)
        status = cairn_error_no_memory(&err, "the command line");
    if (status == CAIRN_OK)
        status = cli_parse(&parser, argc, argv, &used, &err);
    if (status == CAIRN_OK && cli->help) {
        cli_help(command);
        code = CLI_EXIT_DONE;
        goto out;
    }
    if (status == CAIRN_OK)
        status = check_globals(cli, &err);
    if (status == CAIRN_OK)
        status = check_arguments(command, parser.arg_count, &err);
    if (status == CAIRN_OK) {
        const struct cli_args args = {parser.args, parser.arg_count};
        code = command->run(cli, options, &args);
        cli_close(cli);
    } else {
        code = cli_report(cli, &err);
    }
out:
    if (options)
        cli_option_set_release(&parser.sets[1]);
    free(parser.args);
    free(options);
    return code;
}

static int dispatch(struct cli *cli, int argc, char *const *argv)
{
    struct cairn_error err = {0};
    struct cli_parser parser = {.sets = {{cli_global_options, cli}},
                                .what = "cairn",
                                .is_global = true,
                                .stop_at_argument = true};
    int used = 0;
    if (cli_parse(&parser, argc, argv, &used, &err) != CAIRN_OK)
        return cli_report(cli, &err);
    if (used == argc) {
        if (cli->version) {
            cli->command = &cli_cmd_version;
        } else if (cli->help) {
            cli_help(NULL);
            return CLI_EXIT_DONE;
        } else {
            return cli_report_exit(cli, CLI_EXIT_USAGE, "no command was given; see `cairn help`");
        }
    } else {
        cli->command = cli_command_find(argv[used]);
        if (cli->command == NULL)
            return cli_command_unknown(cli, argv[used]);
        used++;
    }
    return run(cli, argc - used, argv + used);
}

int main(int argc, char **argv)
{
    struct cli cli = {0};
    cli_signals_init();
    int code = dispatch(&cli, argc > 0 ? argc - 1 : 0, argv + (argc > 0));
    return cli_out_finish(&cli, code);
}
