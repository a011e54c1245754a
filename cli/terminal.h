/* SPDX-License-Identifier: Apache-2.0
 *
 * terminal.h - asking a person for a secret.
 */
#ifndef CAIRN_CLI_TERMINAL_H
#define CAIRN_CLI_TERMINAL_H

#include <stddef.h>

#include <cairn/cairn.h>

/* Asks on the controlling terminal with the echo off and reads one line of at most cap bytes
 * without its end. The terminal is as before when it returns, after a signal too. CAIRN_AUTH: there
 * is no terminal; CAIRN_CANCELLED: SIGINT or SIGTERM came; CAIRN_LIMIT; CAIRN_IO. */
int cli_terminal_ask(const char *question, char *out, size_t cap, size_t *len,
                     struct cairn_error *err);

#endif
