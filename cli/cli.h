/* SPDX-License-Identifier: Apache-2.0
 *
 * cli.h - what the files of the command share.
 *
 * The command is a thin front end: it parses the command line, calls <cairn/cairn.h>, prints. Every
 * command returns an exit status; library statuses become exit statuses in cli_report alone.
 * Standard output carries results (text, or one JSON object a line, never both), standard error
 * carries progress, problems and the reason of a nonzero exit status.
 */
#ifndef CAIRN_CLI_CLI_H
#define CAIRN_CLI_CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cairn/cairn.h>

#include "options.h"

/* Exit statuses; docs/man/cairn.1.scd explains them. */
enum cli_exit {
    CLI_EXIT_DONE = 0,
    CLI_EXIT_FAILED = 1,
    CLI_EXIT_USAGE = 2,
    CLI_EXIT_PARTIAL = 3, /* done, but some items were not wholly handled */
    CLI_EXIT_DAMAGED = 4, /* check found damage */
    CLI_EXIT_NO_REPOSITORY = 10,
    CLI_EXIT_BUSY = 11,
    CLI_EXIT_PASSWORD = 12,
    CLI_EXIT_SIGNAL = 128 /* plus the number of the signal */
};

/* One run of the command: the global options and what goes with them. */
struct cli {
    const char *repo, *password_file, *password_command, *key_file, *cache_dir;
    bool json, quiet, no_progress, help, version;
    unsigned verbose;
    uint64_t threads, memory_limit;
    const struct cli_command *command; /* NULL until it is known */
    struct cairn_repo *opened;         /* by cli_open; cli_close closes it */
};

/* Command-line arguments that are no options; borrowed from argv. */
struct cli_args {
    const char *const *items;
    size_t count;
};

/* A command. Its options are filled into a zeroed structure of options_size bytes. */
struct cli_command {
    const char *name;
    const char *usage;   /* what follows the name */
    const char *summary; /* one line */
    const char *details; /* for help; NULL: nothing more to say */
    const struct cli_option *options;
    size_t options_size;
    const char *const *later; /* options of other versions, NULL-terminated, or NULL */
    unsigned args_min, args_max;
    const char *interrupted; /* what is so after an interruption */
    int (*run)(struct cli *cli, void *options, const struct cli_args *args);
};

/* ---- report.c: the last word ---- */

/* Says why the command fails and returns the exit status that belongs to err->status. After an
 * interruption that is 128 plus the signal. */
int cli_report(const struct cli *cli, const struct cairn_error *err);

/* The same with an exit status and a message of its own. Names in it must be escaped already. */
int cli_report_exit(const struct cli *cli, int code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* ---- session.c: the repository ---- */

/* The repository's options as the command line and the environment give them. */
void cli_repo_options(const struct cli *cli, struct cairn_repo_options *out);

/* Opens the repository into cli->opened, asking for a password where one is needed, and makes
 * SIGINT and SIGTERM cancel what runs on it. A status of the library. */
int cli_open(struct cli *cli, struct cairn_error *err);

/* Makes a new one and opens it likewise. */
int cli_init(struct cli *cli, const struct cairn_init_options *init, struct cairn_error *err);

/* Closes the repository, if one is open. */
void cli_close(struct cli *cli);

/* Reads "SNAPSHOT" or "SNAPSHOT:PATH": finds the snapshot and sets *path to a path that begins
 * with a slash and has none doubled or at its end ("/" where the argument has no path). The caller
 * frees *path. */
int cli_snapshot_path(struct cli *cli, const char *arg, const struct cairn_snapshot_filter *filter,
                      struct cairn_id *id, char **path, struct cairn_error *err);

/* ---- signals.c ---- */

/* Catches SIGINT and SIGTERM (the first is noted, a second one ends the process at once) and
 * ignores SIGPIPE, so that a closed pipe is a failed write. Call before threads start. */
void cli_signals_init(void);

/* The signal that was caught, or 0. */
int cli_signals_caught(void);

/* From now on a caught signal cancels what runs on repo, at once if one was caught before. NULL:
 * nothing; after that call returns no handler uses the old handle any more. */
void cli_signals_watch(struct cairn_repo *repo);

/* ---- output.c: standard output ---- */

/* As printf. A failed write is remembered. */
void cli_out(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Writes bytes as they are. */
void cli_out_bytes(const void *data, size_t len);

/* Writes a name: escaped where a terminal or a table would be misled, else as it is. */
void cli_out_name(const char *name, bool escape);

/* Hands everything to the system now. */
void cli_out_flush(void);

/* Whether a write failed: nobody will see what follows. */
bool cli_out_failed(void);

/* Flushes. Returns code, or after a failed write another one: 141 in silence where the reader went
 * away (and code is 0), 1 with a message otherwise. */
int cli_out_finish(const struct cli *cli, int code);

/* Whether standard output is a terminal. */
bool cli_out_is_terminal(void);

/* ---- commands.c, suggest.c ---- */

/* All commands, in the order of the help text; a NULL ends them. */
extern const struct cli_command *const cli_commands[];

/* The global options. */
extern const struct cli_option cli_global_options[];

/* The command of that name, or NULL. */
const struct cli_command *cli_command_find(const char *name);

/* Explains why name is no command of this version, and what would be. Exit status 2. */
int cli_command_unknown(const struct cli *cli, const char *name);

/* The closest word of a NULL-terminated list, or NULL if none is close. */
const char *cli_suggest(const char *word, const char *const *words);

/* Prints the general help, or that of a command. */
void cli_help(const struct cli_command *command);

extern const struct cli_command cli_cmd_init, cli_cmd_backup, cli_cmd_restore, cli_cmd_snapshots,
    cli_cmd_ls, cli_cmd_cat, cli_cmd_check, cli_cmd_version, cli_cmd_help;

#endif
