/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "engine/backup_internal.h"

/* The list of problems in the manifest is for people; it ends somewhere. */
#define PROBLEM_LIST_BYTES_MAX ((size_t)1 << 20)
#define PROGRESS_EVERY_NS 100000000u

void cairn_backup_report_problem(struct backup *b, const char *path, size_t path_len, int os_errno,
                                 const char *message)
{
    b->result.problems++;
    if (b->problems.len < PROBLEM_LIST_BYTES_MAX && !b->problems.failed) {
        cairn_buf_put_bytes(&b->problems, path, path_len);
        cairn_buf_put_bytes(&b->problems, message, strlen(message));
    }
    if (b->options->event == NULL)
        return;
    const struct cairn_event event = {
        .type = CAIRN_EVENT_PROBLEM, .path = path, .message = message, .os_errno = os_errno};
    b->options->event(b->options->event_ctx, &event);
}

void cairn_backup_report_item(struct backup *b, const struct item *item, const char *what)
{
    bool is_wanted = what && b->options->items && b->options->event && !item->is_partial;
    if (!item->has_problem && !is_wanted)
        return;
    struct cairn_buf path = CAIRN_BUF_INIT;
    const char *name = item->kind == ITEM_ENTER ? NULL : (const char *)item->name.data;
    if (item->dir)
        cairn_dir_append_path(item->dir, name, &path);
    size_t len = path.len;
    cairn_buf_put_u8(&path, 0);
    const char *shown = path.failed ? "" : (const char *)path.data;
    if (is_wanted) {
        const struct cairn_event event = {.type = CAIRN_EVENT_ITEM, .path = shown, .message = what};
        b->options->event(b->options->event_ctx, &event);
    }
    if (item->has_problem)
        cairn_backup_report_problem(b, shown, path.failed ? 0 : len, item->os_errno,
                                    item->message ? item->message : "cannot be stored");
    cairn_buf_release(&path);
}

void cairn_backup_progress(struct backup *b)
{
    uint64_t now;
    if (b->options->event == NULL)
        return;
    now = cairn_clock_monotonic_ns();
    if (now - b->last_event < PROGRESS_EVERY_NS)
        return;
    b->last_event = now;
    struct cairn_session_stats stats;
    cairn_session_get_stats(b->session, &stats);
    const struct cairn_event event = {
        .type = CAIRN_EVENT_PROGRESS,
        .files_done = b->files_done,
        .bytes_done = atomic_load(&b->bytes_done),
        .bytes_added = stats.bytes_new,
    };
    b->options->event(b->options->event_ctx, &event);
}
