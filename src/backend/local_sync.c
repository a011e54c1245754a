/* SPDX-License-Identifier: Apache-2.0
 *
 * local_sync.c - the thread that makes finished uploads durable in the background (level FILE), and
 * publish.
 */
#include <errno.h>
#include <stdio.h>

#include "backend/local_internal.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/io.h"
#include "base/threads.h"

void cairn_local_break(struct cairn_local *local, const struct cairn_error *why)
{
    pthread_mutex_lock(&local->lock);
    if (!local->broken) {
        local->broken = true;
        local->broken_error = *why;
    }
    pthread_mutex_unlock(&local->lock);
}

int cairn_local_check_broken(struct cairn_local *local, struct cairn_error *err)
{
    int status = CAIRN_OK;
    pthread_mutex_lock(&local->lock);
    if (local->broken) {
        status = local->broken_error.status;
        if (err != NULL)
            *err = local->broken_error;
    }
    pthread_mutex_unlock(&local->lock);
    return status;
}

/* Syncs the files of the list; one whose sync fails is removed and taken off. */
static void sync_files(struct cairn_local *local, struct cairn_local_pending **list)
{
    struct cairn_error err;
    while (*list != NULL) {
        struct cairn_local_pending *pending = *list;
        int status = cairn_io_fsync(pending->fd), saved = errno;
        if (cairn_io_close(pending->fd) != 0 && status == 0) {
            status = -1;
            saved = errno;
        }
        pending->fd = -1;
        if (status == 0) {
            list = &pending->next;
            continue;
        }
        (void)cairn_local_write_error(local, pending->name, saved, &err);
        cairn_local_break(local, &err);
        (void)cairn_io()->unlinkat(local->session_dir, pending->temp, 0);
        *list = pending->next;
        cairn_free(pending);
    }
}

/* What stays in the session's directory is offered to the next writer. */
static void forget(struct cairn_local_pending *list)
{
    while (list != NULL) {
        struct cairn_local_pending *next = list->next;
        if (list->fd >= 0)
            (void)cairn_io_close(list->fd);
        cairn_free(list);
        list = next;
    }
}

static void make_durable(struct cairn_local *local, struct cairn_local_pending *list)
{
    struct cairn_error err;
    bool sync_failed = false;
    sync_files(local, &list);
    if (cairn_local_place_all(local, local->session_dir, &list, true, &sync_failed, &err) !=
        CAIRN_OK)
        cairn_local_break(local, &err);
    forget(list);
}

/* Takes all that waits: the directories they share are then synced once. The caller holds the lock.
 */
static struct cairn_local_pending *take_queue(struct cairn_local *local)
{
    struct cairn_local_pending *list = local->queue;
    local->queue = NULL;
    local->queue_end = &local->queue;
    local->queue_len = 0;
    return list;
}

static void *run(void *ctx)
{
    struct cairn_local *local = ctx;
    pthread_mutex_lock(&local->lock);
    for (;;) {
        while (local->queue == NULL && !local->closing)
            pthread_cond_wait(&local->changed, &local->lock);
        if (local->closing)
            break;
        struct cairn_local_pending *list = take_queue(local);
        local->syncing = true;
        pthread_cond_broadcast(&local->changed);
        pthread_mutex_unlock(&local->lock);
        make_durable(local, list);
        pthread_mutex_lock(&local->lock);
        local->syncing = false;
        pthread_cond_broadcast(&local->changed);
    }
    pthread_mutex_unlock(&local->lock);
    return NULL;
}

int cairn_local_sync_enqueue(struct cairn_local *local, struct cairn_local_pending *pending,
                             struct cairn_error *err)
{
    size_t started = 0;
    pthread_mutex_lock(&local->lock);
    local->uncommitted = true;
    if (!local->syncer_started)
        local->syncer_started =
            cairn_threads_start(&local->syncer, 1, run, local, &started, NULL) == CAIRN_OK;
    if (!local->syncer_started) {
        /* No thread to be had: slower, not less durable. */
        pthread_mutex_unlock(&local->lock);
        make_durable(local, pending);
        return cairn_local_check_broken(local, err);
    }
    while (local->queue_len >= CAIRN_LOCAL_QUEUE_FILES)
        pthread_cond_wait(&local->changed, &local->lock);
    pending->next = NULL;
    *local->queue_end = pending;
    local->queue_end = &pending->next;
    local->queue_len++;
    pthread_cond_broadcast(&local->changed);
    pthread_mutex_unlock(&local->lock);
    return CAIRN_OK;
}

void cairn_local_sync_stop(struct cairn_local *local)
{
    pthread_mutex_lock(&local->lock);
    local->closing = true;
    pthread_cond_broadcast(&local->changed);
    pthread_mutex_unlock(&local->lock);
    if (local->syncer_started)
        cairn_threads_join(&local->syncer, 1);
    forget(take_queue(local));
    forget(local->pending);
    local->pending = NULL;
}

/* One sync for all that was written, then the names. On failure *list holds what may be published
 * later: nothing if the sync itself failed. */
static int publish_pending(struct cairn_local *local, struct cairn_local_pending **list,
                           struct cairn_error *err)
{
    bool sync_failed = false;
    struct cairn_error why;
    int status = CAIRN_OK;
    /* The session's directory was opened before the first write, so no error can have been told to
     * somebody else's descriptor instead of this one. */
    if (cairn_io_syncfs(local->session_dir) != 0) {
        sync_failed = true;
        status = cairn_local_write_error(local, "packs", errno, &why);
        while (*list != NULL) {
            struct cairn_local_pending *next = (*list)->next;
            (void)cairn_io()->unlinkat(local->session_dir, (*list)->temp, 0);
            cairn_free(*list);
            *list = next;
        }
    } else {
        status = cairn_local_place_all(local, local->session_dir, list, true, &sync_failed, &why);
    }
    if (sync_failed)
        cairn_local_break(local, &why);
    if (status != CAIRN_OK && err != NULL)
        *err = why;
    return status;
}

/* Puts uploads back that a failed publish has left. */
static void put_back(struct cairn_local *local, struct cairn_local_pending *list)
{
    pthread_mutex_lock(&local->lock);
    struct cairn_local_pending **end = &local->pending;
    while (*end != NULL)
        end = &(*end)->next;
    *end = list;
    local->uncommitted = true;
    pthread_mutex_unlock(&local->lock);
}

int cairn_local_publish(struct cairn_backend *backend, int *level, struct cairn_error *err)
{
    struct cairn_local *local = cairn_local_from(backend);
    int status = cairn_local_check_writable(local, "", err);
    if (status != CAIRN_OK)
        return status;
    pthread_mutex_lock(&local->publish_lock);
    pthread_mutex_lock(&local->lock);
    while (local->queue != NULL || local->syncing)
        pthread_cond_wait(&local->changed, &local->lock);
    struct cairn_local_pending *list = local->pending;
    local->pending = NULL;
    pthread_mutex_unlock(&local->lock);
    status = cairn_local_check_broken(local, err);
    if (status == CAIRN_OK && list != NULL)
        status = publish_pending(local, &list, err);
    if (status != CAIRN_OK)
        put_back(local, list);
    else if (*level == CAIRN_LEVEL_FILESYSTEM && !local->syncfs_trusted)
        *level = CAIRN_LEVEL_FILE;
    pthread_mutex_unlock(&local->publish_lock);
    return status;
}
