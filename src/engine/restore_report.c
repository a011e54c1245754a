/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "engine/restore_internal.h"

#define PROGRESS_NS 100000000u

/* The path of an entry in the snapshot, allocated. */
static char *path_of(const struct cairn_restore *r, const struct cairn_restore_dir *dir,
                     const char *name)
{
    size_t prefix = strlen(r->prefix), len = prefix + (name ? strlen(name) + 1 : 0);
    for (const struct cairn_restore_dir *d = dir; d->parent; d = d->parent)
        len += d->name_len + 1;
    bool is_root = len == 0;
    char *path = cairn_alloc(len + is_root + 1, 1);
    if (path == NULL)
        return NULL;
    char *end = path + len + is_root;
    *end = 0;
    if (is_root)
        *--end = '/';
    if (name) {
        end -= strlen(name);
        memcpy(end, name, strlen(name));
        *--end = '/';
    }
    for (const struct cairn_restore_dir *d = dir; d->parent; d = d->parent) {
        end -= d->name_len;
        memcpy(end, d->name, d->name_len);
        *--end = '/';
    }
    memcpy(path, r->prefix, prefix);
    return path;
}

void cairn_restore_problem(struct cairn_restore *r, const struct cairn_restore_dir *dir,
                           const char *name, uint64_t number, bool is_lost, int os_errno,
                           const char *fmt, ...)
{
    struct cairn_error text;
    struct cairn_restore_problem *p = cairn_alloc_zero(1, sizeof(*p));
    char *path = p ? path_of(r, dir, name) : NULL;
    if (path == NULL) {
        cairn_free(p);
        (void)cairn_error_no_memory(&text, "a report");
        cairn_restore_stop(r, CAIRN_NO_MEMORY, &text);
        return;
    }
    va_list args;
    va_start(args, fmt);
    (void)cairn_error_set_va(&text, CAIRN_IO, os_errno, fmt, args);
    va_end(args);
    p->number = number;
    p->is_lost = is_lost;
    p->os_errno = os_errno;
    p->path = path;
    memcpy(p->message, text.message, sizeof(p->message));
    (void)pthread_mutex_lock(&r->lock);
    *r->problems_end = p;
    r->problems_end = &p->next;
    atomic_store(&r->has_problems, true);
    (void)pthread_cond_signal(&r->done);
    (void)pthread_mutex_unlock(&r->lock);
}

void cairn_restore_stop(struct cairn_restore *r, int status, const struct cairn_error *err)
{
    (void)pthread_mutex_lock(&r->lock);
    if (r->fatal == CAIRN_OK) {
        r->fatal = status;
        r->fatal_error = *err;
    }
    atomic_store(&r->stop, true);
    (void)pthread_cond_signal(&r->done);
    (void)pthread_mutex_unlock(&r->lock);
}

bool cairn_restore_is_fatal(struct cairn_restore *r, int os_errno)
{
    struct cairn_error text;
    int status;
    if (os_errno == ENOSPC || os_errno == EDQUOT)
        status = CAIRN_NO_SPACE;
    else if (os_errno == EROFS)
        status = CAIRN_IO;
    else
        return false;
    char shown[300];
    cairn_escape(shown, sizeof(shown), r->options->target, strlen(r->options->target));
    (void)cairn_error_set(&text, status, os_errno, "the restore stopped: cannot write to %s",
                          shown);
    cairn_restore_stop(r, status, &text);
    return true;
}

static void send(const struct cairn_restore *r, const struct cairn_event *event)
{
    if (r->options->event)
        r->options->event(r->options->event_ctx, event);
}

void cairn_restore_drain(struct cairn_restore *r)
{
    if (!atomic_load(&r->has_problems))
        return;
    (void)pthread_mutex_lock(&r->lock);
    struct cairn_restore_problem *p = r->problems;
    r->problems = NULL;
    r->problems_end = &r->problems;
    atomic_store(&r->has_problems, false);
    (void)pthread_mutex_unlock(&r->lock);
    while (p) {
        struct cairn_restore_problem *next = p->next;
        const struct cairn_event event = {.type = CAIRN_EVENT_PROBLEM,
                                          .path = p->path,
                                          .message = p->message,
                                          .os_errno = p->os_errno};
        struct cairn_error err;
        bool added;
        r->problem_count++;
        send(r, &event);
        if (p->is_lost && r->options->verify && p->number != 0 &&
            cairn_restore_set_add(&r->lost, p->number, &added, &err) != CAIRN_OK)
            cairn_restore_stop(r, CAIRN_NO_MEMORY, &err);
        cairn_free(p->path);
        cairn_free(p);
        p = next;
    }
}

void cairn_restore_progress(struct cairn_restore *r)
{
    const struct cairn_event event = {
        .type = CAIRN_EVENT_PROGRESS,
        .files_done = atomic_load(&r->files_done),
        .files_total = r->files_total,
        .bytes_done = atomic_load(&r->bytes_done),
        .bytes_total = r->bytes_total,
    };
    send(r, &event);
}

void cairn_restore_item(struct cairn_restore *r, const struct cairn_restore_dir *dir,
                        const char *name)
{
    if (!r->options->items || r->options->event == NULL)
        return;
    char *path = path_of(r, dir, name);
    const struct cairn_event event = {.type = CAIRN_EVENT_ITEM, .path = path};
    if (path)
        send(r, &event);
    cairn_free(path);
}

int cairn_restore_tick(struct cairn_restore *r, struct cairn_error *err)
{
    cairn_restore_drain(r);
    uint64_t now = cairn_clock_monotonic_ns();
    if (now - r->last_progress_ns >= PROGRESS_NS) {
        r->last_progress_ns = now;
        cairn_restore_progress(r);
    }
    if (cairn_store_is_cancelled(r->store)) {
        struct cairn_error text;
        (void)cairn_error_set(&text, CAIRN_CANCELLED, 0, "the restore was cancelled");
        cairn_restore_stop(r, CAIRN_CANCELLED, &text);
    }
    if (!atomic_load(&r->stop))
        return CAIRN_OK;
    (void)pthread_mutex_lock(&r->lock);
    int status = r->fatal;
    if (err)
        *err = r->fatal_error;
    (void)pthread_mutex_unlock(&r->lock);
    return status;
}

void cairn_restore_stages(struct cairn_restore *r, uint64_t sync_ns)
{
    static const char *const names[] = {"read packs", "decode and verify", "write files"};
    double wait = (double)atomic_load(&r->stage_ns[CAIRN_RESTORE_STAGE_WAIT]) / 1e9;
    for (int i = 0; i < CAIRN_RESTORE_STAGE_WAIT; i++) {
        const struct cairn_event event = {
            .type = CAIRN_EVENT_STAGE,
            .message = names[i],
            .seconds_busy = (double)atomic_load(&r->stage_ns[i]) / 1e9,
            .seconds_waiting = i == 0 ? wait : 0,
        };
        send(r, &event);
    }
    const struct cairn_event event = {
        .type = CAIRN_EVENT_STAGE, .message = "sync", .seconds_busy = (double)sync_ns / 1e9};
    send(r, &event);
}
