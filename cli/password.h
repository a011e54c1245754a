/* SPDX-License-Identifier: Apache-2.0
 *
 * password.h - where a password comes from: a file, a command, the environment or the terminal.
 */
#ifndef CAIRN_CLI_PASSWORD_H
#define CAIRN_CLI_PASSWORD_H

#include <stdbool.h>

#include "cli.h"

struct cli_password {
    const struct cli *cli;
    bool is_new;              /* a new one: ask twice, refuse an empty one */
    bool from_terminal;       /* out: a person typed it */
    struct cairn_error error; /* out: why none could be given (status CAIRN_OK: nothing failed) */
};

/* The cairn_password_fn; ctx is the struct cli_password. In this order: --password-file,
 * --password-command, CAIRN_PASSWORD, CAIRN_PASSWORD_FILE, CAIRN_PASSWORD_COMMAND, the terminal. */
int cli_password_get(void *ctx, char *out, size_t cap, size_t *len);

/* Whether one was named on the command line or in the environment. */
bool cli_password_is_named(const struct cli *cli);

/* The value of an environment variable; an empty one counts as absent (NULL). */
const char *cli_environment(const char *name);

#endif
