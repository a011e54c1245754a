/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "cli.h"
#include "json.h"

static int exit_status(int status)
{
    switch (status) {
    case CAIRN_OK:
        return CLI_EXIT_DONE;
    case CAIRN_MISUSE:
        return CLI_EXIT_USAGE;
    case CAIRN_NO_REPOSITORY:
        return CLI_EXIT_NO_REPOSITORY;
    case CAIRN_BUSY:
        return CLI_EXIT_BUSY;
    case CAIRN_AUTH:
        return CLI_EXIT_PASSWORD;
    default:
        return CLI_EXIT_FAILED;
    }
}

/* What was printed on standard output comes first, so that the two never interleave. */
static int say(const struct cli *cli, int code, const char *message)
{
    cli_out_flush();
    if (cli->json) {
        json_t *object = cli_json_object("exit_error");
        cli_json_set(object, "code", json_integer(code));
        cli_json_text(object, "message", message);
        cli_json_print(stderr, object);
    } else {
        (void)fprintf(stderr, "cairn: %s\n", message);
    }
    return code;
}

int cli_report(const struct cli *cli, const struct cairn_error *err)
{
    if (err->status == CAIRN_CANCELLED && cli_signals_caught()) {
        const struct cli_command *command = cli->command;
        return cli_report_exit(cli, CLI_EXIT_SIGNAL + cli_signals_caught(),
                               "%s was interrupted%s%s", command ? command->name : "cairn",
                               command && command->interrupted ? "; " : "",
                               command && command->interrupted ? command->interrupted : "");
    }
    return say(cli, exit_status(err->status), err->message);
}

int cli_report_exit(const struct cli *cli, int code, const char *fmt, ...)
{
    struct cairn_error err;
    va_list args;
    va_start(args, fmt);
    (void)cairn_error_set_va(&err, CAIRN_OK, 0, fmt, args);
    va_end(args);
    return say(cli, code, err.message);
}
