/* SPDX-License-Identifier: Apache-2.0
 *
 * local_upload.c - writes a pack past the page cache, several pieces at a time where io_uring may
 * be used, at once otherwise.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>

#include "backend/local_internal.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/io.h"

struct upload {
    struct cairn_upload base;
    int fd; /* -1: closed or handed over */
    int level;
    bool direct; /* the descriptor has O_DIRECT */
    bool ended;  /* a piece was submitted whose length is no multiple of the alignment */
    int failed;  /* errno of the write that failed; 0: none */
    uint64_t at;
    struct cairn_local_ring *ring; /* NULL: pieces are written at once */
    void **done;                   /* tokens of written pieces, oldest at done_at */
    size_t done_at, done_len, done_cap;
    char temp[CAIRN_LOCAL_TEMP_CHARS + 1];
};

static struct upload *from(struct cairn_upload *upload)
{
    return (struct upload *)upload;
}

static struct cairn_local *local_of(const struct upload *upload)
{
    return cairn_local_from(upload->base.backend);
}

static unsigned under_way(const struct upload *upload)
{
    return upload->ring != NULL ? cairn_local_ring_count(upload->ring) : 0;
}

static int drop_direct(struct upload *upload)
{
    int flags = fcntl(upload->fd, F_GETFL);
    if (flags < 0 || fcntl(upload->fd, F_SETFL, flags & ~O_DIRECT) != 0)
        return -1;
    upload->direct = false;
    return 0;
}

/* 0, or -1 and errno. */
static int write_now(struct upload *upload, const void *data, size_t len, uint64_t at)
{
    int status = cairn_io_pwrite_full(upload->fd, data, len, (off_t)at);
    /* A device that wants a coarser alignment, or the rest of a short write. */
    if (status != 0 && errno == EINVAL && upload->direct && drop_direct(upload) == 0)
        status = cairn_io_pwrite_full(upload->fd, data, len, (off_t)at);
    return status;
}

/* Room for the tokens of all pieces under way and one more. */
static bool reserve_token(struct upload *upload)
{
    size_t want = upload->done_len + under_way(upload) + 1;
    if (upload->done_at > 0) {
        memmove(upload->done, upload->done + upload->done_at,
                upload->done_len * sizeof(*upload->done));
        upload->done_at = 0;
    }
    if (want <= upload->done_cap)
        return true;
    void **more = cairn_realloc(upload->done, want + CAIRN_UPLOAD_DEPTH, sizeof(*more));
    if (more == NULL)
        return false;
    upload->done = more;
    upload->done_cap = want + CAIRN_UPLOAD_DEPTH;
    return true;
}

static void push_token(struct upload *upload, void *token)
{
    upload->done[upload->done_at + upload->done_len++] = token;
}

/* Waits for one piece and sees to it that it is written whole. 0, or -1 and errno. */
static int collect(struct upload *upload)
{
    struct cairn_local_piece piece;
    int status = cairn_local_ring_wait(upload->ring, &piece);
    if (status != 0) {
        errno = -status;
        return -1;
    }
    size_t done = piece.result > 0 ? (size_t)piece.result : 0;
    bool again = piece.result >= 0 || piece.result == -EINTR || piece.result == -EAGAIN ||
                 piece.result == -EINVAL;
    if (!again) {
        errno = -piece.result;
        return -1;
    }
    if (done < piece.len &&
        write_now(upload, (const char *)piece.data + done, piece.len - done, piece.at + done) != 0)
        return -1;
    push_token(upload, piece.token);
    return 0;
}

static int collect_all(struct upload *upload)
{
    while (under_way(upload) > 0) {
        if (collect(upload) != 0)
            return -1;
    }
    return 0;
}

static int fail(struct upload *upload, int os_errno, struct cairn_error *err)
{
    if (upload->failed == 0)
        upload->failed = os_errno;
    return cairn_local_write_error(local_of(upload), "a pack", os_errno, err);
}

/* Opens the temporary file past the page cache where the file system allows it. */
static int open_temp(const struct cairn_local *local, struct upload *upload)
{
    int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW;
    int fd = cairn_io_open(local->session_dir, upload->temp, flags | O_DIRECT, 0600);
    upload->direct = fd >= 0;
    if (fd >= 0 || errno != EINVAL)
        return fd;
    /* Some kernels have made the file before they refuse the flag. */
    (void)cairn_io()->unlinkat(local->session_dir, upload->temp, 0);
    return cairn_io_open(local->session_dir, upload->temp, flags, 0600);
}

int cairn_local_upload_open(struct cairn_backend *backend, int level, struct cairn_upload **out,
                            struct cairn_error *err)
{
    struct cairn_local *local = cairn_local_from(backend);
    int status = cairn_local_check_writable(local, "", err);
    if (status == CAIRN_OK)
        status = cairn_local_check_broken(local, err);
    if (status == CAIRN_OK)
        status = cairn_local_session_begin(local, err);
    if (status != CAIRN_OK)
        return status;
    struct upload *upload = cairn_alloc_zero(1, sizeof(*upload));
    if (upload == NULL)
        return cairn_error_no_memory(err, "an upload");
    upload->base.backend = backend;
    upload->level = level;
    if (level != CAIRN_LEVEL_NONE && level != CAIRN_LEVEL_METADATA &&
        !(level == CAIRN_LEVEL_FILESYSTEM && local->syncfs_trusted))
        upload->level = CAIRN_LEVEL_FILE;
    cairn_local_session_temp(local, 'u', upload->temp);
    upload->fd = open_temp(local, upload);
    if (upload->fd < 0) {
        status = cairn_local_write_error(local, "a pack", errno, err);
        cairn_free(upload);
        return status;
    }
    upload->ring = cairn_local_ring_get(local);
    *out = &upload->base;
    return CAIRN_OK;
}

/* Starts or makes the write; 0, or -1 and errno. */
static int start(struct upload *upload, const void *data, size_t len, void *token)
{
    struct cairn_local_piece piece = {
        .data = data, .len = len, .at = upload->at, .token = token, .result = 0};
    if (under_way(upload) == CAIRN_UPLOAD_DEPTH && collect(upload) != 0)
        return -1;
    if (upload->ring != NULL && cairn_local_ring_write(upload->ring, upload->fd, &piece) == 0)
        return 0;
    if (upload->ring != NULL) {
        /* What could not be started is still in the ring's queue, so the ring is used no more. */
        if (collect_all(upload) != 0)
            return -1;
        cairn_local_ring_put(local_of(upload), upload->ring);
        upload->ring = NULL;
    }
    if (write_now(upload, data, len, upload->at) != 0)
        return -1;
    push_token(upload, token);
    return 0;
}

int cairn_local_upload_submit(struct cairn_upload *base, const void *data, size_t len, void *token,
                              struct cairn_error *err)
{
    struct upload *upload = from(base);
    bool aligned = (uintptr_t)data % CAIRN_LOCAL_ALIGN == 0 && len % CAIRN_LOCAL_ALIGN == 0;
    if (upload->failed != 0)
        return fail(upload, upload->failed, err);
    if (upload->ended || len > INT64_MAX - upload->at)
        return cairn_error_set(err, CAIRN_MISUSE, 0, "the upload has had its last piece");
    if (!reserve_token(upload))
        return cairn_error_no_memory(err, "an upload");
    /* Writes under way look at the flag when they are carried out. */
    if (!aligned && upload->direct && (collect_all(upload) != 0 || drop_direct(upload) != 0))
        return fail(upload, errno, err);
    if (start(upload, data, len, token) != 0)
        return fail(upload, errno, err);
    upload->at += len;
    upload->ended = len % CAIRN_LOCAL_ALIGN != 0;
    return CAIRN_OK;
}

int cairn_local_upload_reap(struct cairn_upload *base, void **token, struct cairn_error *err)
{
    struct upload *upload = from(base);
    if (upload->failed != 0)
        return fail(upload, upload->failed, err);
    if (upload->done_len == 0 && under_way(upload) > 0 && collect(upload) != 0)
        return fail(upload, errno, err);
    if (upload->done_len == 0) {
        *token = NULL;
        return CAIRN_OK;
    }
    *token = upload->done[upload->done_at++];
    upload->done_len--;
    return CAIRN_OK;
}

/* Frees all but the file. */
static void release(struct upload *upload)
{
    struct cairn_local_piece piece;
    while (under_way(upload) > 0 && cairn_local_ring_wait(upload->ring, &piece) == 0)
        continue;
    cairn_local_ring_put(local_of(upload), upload->ring);
    if (upload->fd >= 0)
        (void)cairn_io_close(upload->fd);
    cairn_free(upload->done);
    cairn_free(upload);
}

void cairn_local_upload_abort(struct cairn_upload *base)
{
    struct upload *upload = from(base);
    (void)cairn_io()->unlinkat(local_of(upload)->session_dir, upload->temp, 0);
    release(upload);
}

/* What has to be so before the file may get a name. */
static int check_complete(struct upload *upload, const char *name, struct stat *st,
                          struct cairn_error *err)
{
    struct cairn_local *local = local_of(upload);
    int status = cairn_local_check_writable(local, name, err);
    if (status == CAIRN_OK)
        status = cairn_local_check_broken(local, err);
    if (status != CAIRN_OK)
        return status;
    if (upload->failed != 0)
        return fail(upload, upload->failed, err);
    if (under_way(upload) > 0 || upload->done_len > 0)
        return cairn_error_set(err, CAIRN_MISUSE, 0, "an upload has pieces that were not reaped");
    if (cairn_io()->fstat(upload->fd, st) != 0)
        return cairn_local_write_error(local, name, errno, err);
    if ((uint64_t)st->st_size != upload->at)
        return cairn_error_set(err, CAIRN_IO, 0, "%s in repository %s was changed by somebody else",
                               name, local->path);
    return CAIRN_OK;
}

/* The file's way to its name; the pending belongs to the handle or is freed. */
static int hand_over(struct upload *upload, struct cairn_local_pending *pending,
                     struct cairn_error *err)
{
    struct cairn_local *local = local_of(upload);
    int fd = upload->fd;
    bool sync_failed = false;
    upload->fd = -1;
    if (upload->level == CAIRN_LEVEL_FILE) {
        pending->fd = fd;
        return cairn_local_sync_enqueue(local, pending, err);
    }
    /* Some network file systems tell of a failed write only here. */
    int status = cairn_io_close(fd) == 0
                     ? CAIRN_OK
                     : cairn_local_write_error(local, pending->name, errno, err);
    if (status == CAIRN_OK && upload->level == CAIRN_LEVEL_FILESYSTEM) {
        pthread_mutex_lock(&local->lock);
        pending->next = local->pending;
        local->pending = pending;
        local->uncommitted = true;
        pthread_mutex_unlock(&local->lock);
        return CAIRN_OK;
    }
    if (status == CAIRN_OK)
        status =
            cairn_local_place_all(local, local->session_dir, &pending, false, &sync_failed, err);
    if (status != CAIRN_OK) {
        (void)cairn_io()->unlinkat(local->session_dir, upload->temp, 0);
        cairn_free(pending);
        return status;
    }
    pthread_mutex_lock(&local->lock);
    local->uncommitted = true;
    pthread_mutex_unlock(&local->lock);
    return CAIRN_OK;
}

int cairn_local_upload_finish(struct cairn_upload *base, const char *name, struct cairn_error *err)
{
    struct upload *upload = from(base);
    struct cairn_local_pending *pending = NULL;
    struct stat st;
    int status = check_complete(upload, name, &st, err);
    if (status == CAIRN_OK) {
        pending = cairn_alloc_zero(1, sizeof(*pending));
        if (pending == NULL)
            status = cairn_error_no_memory(err, "an upload");
    }
    if (status != CAIRN_OK) {
        cairn_local_upload_abort(base);
        return status;
    }
    pending->fd = -1;
    pending->file =
        (struct cairn_local_file){.dev = st.st_dev, .ino = st.st_ino, .size = upload->at};
    memcpy(pending->temp, upload->temp, sizeof(pending->temp));
    memcpy(pending->name, name, strlen(name) + 1);
    status = hand_over(upload, pending, err);
    release(upload);
    return status;
}
