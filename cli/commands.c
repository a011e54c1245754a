/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "cli.h"

const struct cli_command *const cli_commands[] = {
    &cli_cmd_init, &cli_cmd_backup, &cli_cmd_restore, &cli_cmd_snapshots, &cli_cmd_ls,
    &cli_cmd_cat,  &cli_cmd_check,  &cli_cmd_version, &cli_cmd_help,      NULL,
};

const struct cli_option cli_global_options[] = {
    {.name = "repo",
     .letter = 'r',
     .kind = CLI_TEXT,
     .offset = offsetof(struct cli, repo),
     .value = "DIR",
     .help = "the repository (CAIRN_REPO)"},
    {.name = "password-file",
     .kind = CLI_TEXT,
     .offset = offsetof(struct cli, password_file),
     .value = "FILE",
     .help = "read the password from a file that only you can read (CAIRN_PASSWORD_FILE)"},
    {.name = "password-command",
     .kind = CLI_TEXT,
     .offset = offsetof(struct cli, password_command),
     .value = "COMMAND",
     .help = "run a shell command that prints the password (CAIRN_PASSWORD_COMMAND)"},
    {.name = "key-file",
     .kind = CLI_TEXT,
     .offset = offsetof(struct cli, key_file),
     .value = "FILE",
     .help = "open the repository with a key file (CAIRN_KEY_FILE)"},
    {.name = "cache-dir",
     .kind = CLI_TEXT,
     .offset = offsetof(struct cli, cache_dir),
     .value = "DIR",
     .help = "where the local cache is kept (CAIRN_CACHE_DIR)"},
    {.name = "json",
     .kind = CLI_FLAG,
     .offset = offsetof(struct cli, json),
     .help = "print one JSON object a line; see cairn-json(5)"},
    {.name = "quiet",
     .letter = 'q',
     .kind = CLI_FLAG,
     .offset = offsetof(struct cli, quiet),
     .help = "no progress, no summary"},
    {.name = "verbose",
     .letter = 'v',
     .kind = CLI_COUNT,
     .offset = offsetof(struct cli, verbose),
     .help = "what is handled and how long each stage took, on standard error"},
    {.name = "no-progress",
     .kind = CLI_FLAG,
     .offset = offsetof(struct cli, no_progress),
     .help = "no progress line"},
    {.name = "threads",
     .kind = CLI_PARSED,
     .offset = offsetof(struct cli, threads),
     .value = "N",
     .parse = cli_parse_number,
     .expects = CLI_EXPECTS_NUMBER,
     .help = "threads that compute (one for each processor)"},
    {.name = "memory-limit",
     .kind = CLI_PARSED,
     .offset = offsetof(struct cli, memory_limit),
     .value = "SIZE",
     .parse = cli_parse_size,
     .expects = CLI_EXPECTS_SIZE,
     .help = "memory to use at most (128M)"},
    {.name = "help",
     .letter = 'h',
     .kind = CLI_FLAG,
     .offset = offsetof(struct cli, help),
     .help = "explain the command"},
    {.name = "version",
     .kind = CLI_FLAG,
     .offset = offsetof(struct cli, version),
     .help = "the same as the command version"},
    {0},
};

const struct cli_command *cli_command_find(const char *name)
{
    for (const struct cli_command *const *c = cli_commands; *c; c++) {
        if (strcmp((*c)->name, name) == 0)
            return *c;
    }
    return NULL;
}
