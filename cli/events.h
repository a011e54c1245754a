/* SPDX-License-Identifier: Apache-2.0
 *
 * events.h - what a running operation reports: the progress line, problems, timings, or their JSON.
 */
#ifndef CAIRN_CLI_EVENTS_H
#define CAIRN_CLI_EVENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "cli.h"

struct cli_events {
    const struct cli *cli;
    const char *during; /* "backup", "restore", "check" */
    bool shows_new;     /* the progress line names new bytes */
    bool line_wanted;   /* there is a terminal for a progress line */
    bool line_drawn;
    uint64_t begin_ns; /* monotonic */
    uint64_t problems;
};

/* Begins to listen for one operation. */
void cli_events_init(struct cli_events *events, const struct cli *cli, const char *during);

/* The cairn_event_fn; ctx is the struct cli_events. */
void cli_events_receive(void *ctx, const struct cairn_event *event);

/* Removes the progress line. */
void cli_events_end(struct cli_events *events);

/* Seconds since init. */
double cli_events_seconds(const struct cli_events *events);

#endif
