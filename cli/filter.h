/* SPDX-License-Identifier: Apache-2.0
 *
 * filter.h - the options that say among which snapshots "latest" is sought.
 */
#ifndef CAIRN_CLI_FILTER_H
#define CAIRN_CLI_FILTER_H

#include "options.h"

/* Embedded in the options of a command under the name `filter`. */
struct cli_filter {
    const char *host, *tag, *path;
};

/* The rows of the option table of a command whose options are `type`. */
#define CLI_FILTER_OPTIONS(type)                                                                   \
    {.name = "host",                                                                               \
     .kind = CLI_TEXT,                                                                             \
     .offset = offsetof(type, filter.host),                                                        \
     .value = "HOST",                                                                              \
     .help = "only snapshots of this host"},                                                       \
        {.name = "tag",                                                                            \
         .kind = CLI_TEXT,                                                                         \
         .offset = offsetof(type, filter.tag),                                                     \
         .value = "TAG",                                                                           \
         .help = "only snapshots with this tag"},                                                  \
    {                                                                                              \
        .name = "path", .kind = CLI_TEXT, .offset = offsetof(type, filter.path), .value = "PATH",  \
        .help = "only snapshots of this path"                                                      \
    }

static inline struct cairn_snapshot_filter cli_filter_get(const struct cli_filter *filter)
{
    return (struct cairn_snapshot_filter){.size = sizeof(struct cairn_snapshot_filter),
                                          .host = filter->host,
                                          .path = filter->path,
                                          .tag = filter->tag};
}

#endif
