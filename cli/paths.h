/* SPDX-License-Identifier: Apache-2.0
 *
 * paths.h - the paths that a command was given, in its arguments and in files.
 */
#ifndef CAIRN_CLI_PATHS_H
#define CAIRN_CLI_PATHS_H

#include <stddef.h>

#include "cli.h"

/* Files of paths are at most so large. */
#define CLI_PATHS_FILE_BYTES_MAX ((size_t)256 << 20)

/* items points to the arguments and into texts. Released by cli_paths_release, also after a
 * failure. */
struct cli_paths {
    const char **items;
    size_t count, cap;
    char **texts;
    size_t text_count;
};

/* The arguments, then what is in each of the files ("-": standard input): a path on each line, as
 * it stands, or, if there is a zero byte anywhere in the file, ended by zero bytes. Empty ones are
 * passed over. CAIRN_IO, CAIRN_LIMIT, CAIRN_NO_MEMORY. */
int cli_paths_gather(struct cli_paths *paths, const struct cli_args *args,
                     const struct cli_list *files, struct cairn_error *err);
void cli_paths_release(struct cli_paths *paths);

#endif
