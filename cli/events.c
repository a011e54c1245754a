/* SPDX-License-Identifier: Apache-2.0 */
#include "events.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "format.h"
#include "json.h"

void cli_events_init(struct cli_events *events, const struct cli *cli, const char *during)
{
    const char *term = getenv("TERM");
    *events = (struct cli_events){.cli = cli, .during = during};
    events->begin_ns = cairn_clock_monotonic_ns();
    events->line_wanted = !cli->json && !cli->quiet && !cli->no_progress &&
                          isatty(STDERR_FILENO) == 1 && term && strcmp(term, "dumb") != 0;
}

double cli_events_seconds(const struct cli_events *events)
{
    return (double)(cairn_clock_monotonic_ns() - events->begin_ns) / 1e9;
}

static void clear_line(struct cli_events *events)
{
    if (events->line_drawn)
        (void)fputs("\r\033[K", stderr);
    events->line_drawn = false;
}

void cli_events_end(struct cli_events *events)
{
    clear_line(events);
    (void)fflush(stderr);
}

/* Seconds that remain at the pace so far, or below 0 while nobody can say. */
static double remaining(const struct cairn_event *e, double seconds)
{
    if (e->bytes_total == 0 || e->bytes_done == 0 || e->bytes_done > e->bytes_total || seconds < 1)
        return -1;
    return seconds * (double)(e->bytes_total - e->bytes_done) / (double)e->bytes_done;
}

static double fraction(const struct cairn_event *e)
{
    uint64_t done = e->bytes_total ? e->bytes_done : e->files_done;
    uint64_t total = e->bytes_total ? e->bytes_total : e->files_total;
    return total == 0 ? 0 : done >= total ? 1 : (double)done / (double)total;
}

static size_t terminal_columns(void)
{
    struct winsize size;
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1)
        return size.ws_col - 1u;
    return 79;
}

static void draw_line(struct cli_events *events, const struct cairn_event *e)
{
    char line[512], elapsed[CLI_TIME_TEXT], left[CLI_TIME_TEXT], bytes[CLI_SIZE_TEXT],
        rate[CLI_SIZE_TEXT], added[CLI_SIZE_TEXT];
    double seconds = cli_events_seconds(events), eta = remaining(e, seconds);
    int n = 0;
    cli_format_duration(elapsed, seconds);
    cli_format_size(bytes, e->bytes_done);
    cli_format_size(rate, seconds > 0 ? (uint64_t)((double)e->bytes_done / seconds) : 0);
    n += snprintf(line, sizeof(line), "[%s]", elapsed);
    if (e->bytes_total || e->files_total)
        n += snprintf(line + n, sizeof(line) - (size_t)n, " %.1f%%", fraction(e) * 100);
    n += snprintf(line + n, sizeof(line) - (size_t)n, "  %llu files  %s  %s/s",
                  (unsigned long long)e->files_done, bytes, rate);
    if (events->shows_new) {
        cli_format_size(added, e->bytes_added);
        n += snprintf(line + n, sizeof(line) - (size_t)n, "  new %s", added);
    }
    if (eta >= 0) {
        cli_format_duration(left, eta);
        n += snprintf(line + n, sizeof(line) - (size_t)n, "  ETA %s", left);
    }
    if (events->problems)
        (void)snprintf(line + n, sizeof(line) - (size_t)n, "  %llu problems",
                       (unsigned long long)events->problems);
    (void)fprintf(stderr, "\r%.*s\033[K", (int)terminal_columns(), line);
    (void)fflush(stderr);
    events->line_drawn = true;
}

/* The message of a problem with the system's reason behind it, where it is not there yet. */
static const char *problem_text(const struct cairn_event *e, char *text, size_t cap)
{
    char reason[128];
    const char *message = e->message ? e->message : "";
    if (e->os_errno == 0)
        return message;
    const char *said = strerror_r(e->os_errno, reason, sizeof(reason));
    if (strstr(message, said))
        return message;
    (void)snprintf(text, cap, "%s%s%s", message, *message ? ": " : "", said);
    return text;
}

static void text_event(struct cli_events *events, const struct cairn_event *e)
{
    char path[2048] = "", text[1200];
    if (e->type == CAIRN_EVENT_PROGRESS) {
        if (events->line_wanted)
            draw_line(events, e);
        return;
    }
    if ((e->type == CAIRN_EVENT_STAGE || e->type == CAIRN_EVENT_ITEM) && !events->cli->verbose)
        return;
    if (e->type == CAIRN_EVENT_NOTE && events->cli->quiet)
        return;
    clear_line(events);
    if (e->path)
        cairn_escape(path, sizeof(path), e->path, strlen(e->path));
    switch (e->type) {
    case CAIRN_EVENT_PROBLEM:
        (void)fprintf(stderr, "cairn: %s%s%s\n", path, e->path ? ": " : "",
                      problem_text(e, text, sizeof(text)));
        break;
    case CAIRN_EVENT_ITEM:
        (void)fprintf(stderr, "%s%s%s\n", e->message ? e->message : "", e->message ? " " : "",
                      path);
        break;
    case CAIRN_EVENT_STAGE:
        (void)fprintf(stderr, "stage %-12s busy %8.3f s  waiting %8.3f s\n",
                      e->message ? e->message : "", e->seconds_busy, e->seconds_waiting);
        break;
    default:
        (void)fprintf(stderr, "cairn: note: %s\n", e->message ? e->message : "");
        break;
    }
}

static json_t *json_status(const struct cli_events *events, const struct cairn_event *e)
{
    double seconds = cli_events_seconds(events), eta = remaining(e, seconds);
    json_t *object = cli_json_object("status");
    cli_json_number(object, "seconds_elapsed", (uint64_t)seconds);
    if (eta >= 0)
        cli_json_number(object, "seconds_remaining", (uint64_t)eta);
    cli_json_set(object, "percent_done", json_real(fraction(e)));
    cli_json_number(object, "total_files", e->files_total);
    cli_json_number(object, "files_done", e->files_done);
    cli_json_number(object, "total_bytes", e->bytes_total);
    cli_json_number(object, "bytes_done", e->bytes_done);
    if (events->shows_new)
        cli_json_number(object, "data_added", e->bytes_added);
    cli_json_number(object, "error_count", events->problems);
    return object;
}

static json_t *json_problem(const struct cli_events *events, const struct cairn_event *e)
{
    char text[1200];
    json_t *object = cli_json_object("error"), *error = json_object();
    cli_json_text(error, "message", problem_text(e, text, sizeof(text)));
    if (e->os_errno)
        cli_json_number(error, "errno", (uint64_t)e->os_errno);
    cli_json_set(object, "error", error);
    cli_json_set(object, "during", json_string(events->during));
    cli_json_text(object, "item", e->path);
    return object;
}

static void json_event(const struct cli_events *events, const struct cairn_event *e)
{
    json_t *object = NULL;
    switch (e->type) {
    case CAIRN_EVENT_PROGRESS:
        if (events->cli->quiet || events->cli->no_progress)
            return;
        object = json_status(events, e);
        break;
    case CAIRN_EVENT_PROBLEM:
        object = json_problem(events, e);
        break;
    case CAIRN_EVENT_ITEM:
        if (!events->cli->verbose)
            return;
        object = cli_json_object("item");
        cli_json_text(object, "item", e->path);
        if (e->message)
            cli_json_text(object, "action", e->message);
        break;
    case CAIRN_EVENT_STAGE:
        if (!events->cli->verbose)
            return;
        object = cli_json_object("stage");
        cli_json_text(object, "stage", e->message);
        cli_json_set(object, "seconds_busy", json_real(e->seconds_busy));
        cli_json_set(object, "seconds_waiting", json_real(e->seconds_waiting));
        break;
    default:
        if (events->cli->quiet)
            return;
        object = cli_json_object("note");
        cli_json_text(object, "message", e->message);
        break;
    }
    cli_json_print(stdout, object);
}

void cli_events_receive(void *ctx, const struct cairn_event *event)
{
    struct cli_events *events = ctx;
    if (event->type == CAIRN_EVENT_PROBLEM)
        events->problems++;
    if (events->cli->json)
        json_event(events, event);
    else
        text_event(events, event);
}
