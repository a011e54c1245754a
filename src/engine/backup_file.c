/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "engine/backup_internal.h"
#include "source/file.h"
#include "source/holes.h"

/* Shorter holes are read as zeros: an extent of their own would cost more than it saves. */
#define HOLE_BYTES_MIN 65536u

/* One file being read. */
struct reading {
    struct worker *worker;
    struct item *item;
    struct cairn_file_reader reader;
    bool is_short; /* the file ended before its size said so */
};

static int no_extent(struct cairn_error *err)
{
    return cairn_error_no_memory(err, "a file's list of chunks");
}

static int stopped(struct reading *r, struct cairn_error *err)
{
    struct backup *b = r->worker->backup;
    if (cairn_store_is_cancelled(b->repo->store) || atomic_load(&b->failed))
        return cairn_error_set(err, CAIRN_CANCELLED, 0, "cancelled");
    return CAIRN_OK;
}

/* A read error is the source's, never the repository's: the item is lost, the backup goes on. */
static int lost(struct reading *r, int os_errno, struct cairn_error *err)
{
    cairn_backup_item_problem(r->item, true, os_errno, "cannot be read");
    return cairn_error_set(err, CAIRN_IO, os_errno, "cannot be read");
}

/* Cuts what is in the buffer; *start is how far it was consumed. */
static int cut_buffer(struct reading *r, struct shared_buffer *buffer, size_t fill, bool is_end,
                      size_t *start, struct cairn_error *err)
{
    struct backup *b = r->worker->backup;
    int status = CAIRN_OK;
    while (*start < fill && status == CAIRN_OK) {
        size_t len = cairn_chunker_next(b->chunker, buffer->bytes + *start, fill - *start, is_end);
        if (len == 0)
            break;
        struct cairn_id *id = cairn_backup_item_extent(r->item, len, false);
        if (id == NULL)
            return no_extent(err);
        status =
            cairn_backup_chunk(r->worker, r->item, buffer, buffer->bytes + *start, len, id, err);
        *start += len;
        r->item->size += len;
    }
    return status;
}

/* What was not consumed begins the next buffer. */
static struct shared_buffer *next_buffer(struct reading *r, struct shared_buffer *buffer,
                                         size_t start, size_t fill)
{
    if (atomic_load(&buffer->refs) == 1) {
        memmove(buffer->bytes, buffer->bytes + start, fill - start);
        return buffer;
    }
    struct shared_buffer *next = cairn_backup_buffer_get(r->worker);
    if (next)
        memcpy(next->bytes, buffer->bytes + start, fill - start);
    cairn_backup_buffer_put(buffer);
    return next;
}

/* Reads and cuts [at, end). Ends early, and says so, where the file does. */
static int read_range(struct reading *r, uint64_t at, uint64_t end, struct cairn_error *err)
{
    struct backup *b = r->worker->backup;
    struct shared_buffer *buffer = cairn_backup_buffer_get(r->worker);
    size_t fill = 0;
    int status = buffer ? CAIRN_OK : cairn_error_no_memory(err, "read buffers");
    while (status == CAIRN_OK) {
        size_t want = b->buffer_bytes - fill, start = 0;
        if (want > end - at)
            want = (size_t)(end - at);
        ssize_t n = want ? cairn_file_reader_pread(&r->reader, buffer->bytes + fill, want, at) : 0;
        if (n < 0) {
            status = lost(r, errno, err);
            break;
        }
        at += (uint64_t)n;
        fill += (size_t)n;
        r->is_short = (size_t)n < want;
        bool is_end = at == end || r->is_short;
        status = cut_buffer(r, buffer, fill, is_end, &start, err);
        if (status != CAIRN_OK || is_end)
            break;
        buffer = next_buffer(r, buffer, start, fill);
        fill -= start;
        status = buffer ? stopped(r, err) : cairn_error_no_memory(err, "read buffers");
    }
    cairn_backup_buffer_put(buffer);
    return status;
}

static int add_hole(struct reading *r, uint64_t len, struct cairn_error *err)
{
    if (cairn_backup_item_extent(r->item, len, true) == NULL)
        return no_extent(err);
    r->item->size += len;
    return CAIRN_OK;
}

/* A file with holes: long ones become extents, the data between is cut apart from them. */
static int read_sparse(struct reading *r, int fd, uint64_t size, struct cairn_error *err)
{
    struct cairn_holes holes;
    struct cairn_extent extent;
    uint64_t data_from = 0;
    int status = CAIRN_OK;
    cairn_holes_begin(&holes, fd, size);
    while (status == CAIRN_OK && !r->is_short && cairn_holes_next(&holes, &extent)) {
        uint64_t from = (extent.offset + 4095) & ~(uint64_t)4095;
        uint64_t to = extent.offset + extent.length;
        if (to < size)
            to &= ~(uint64_t)4095;
        if (!extent.is_hole || to <= from || to - from < HOLE_BYTES_MIN)
            continue;
        if (data_from < from)
            status = read_range(r, data_from, from, err);
        if (status == CAIRN_OK && !r->is_short)
            status = add_hole(r, to - from, err);
        data_from = to;
    }
    if (status == CAIRN_OK && !r->is_short && data_from < size)
        status = read_range(r, data_from, size, err);
    return status;
}

/* A file of at most one minimal chunk. *grew: there is more than its size said. */
static int read_small(struct reading *r, uint64_t size, bool *grew, struct cairn_error *err)
{
    struct worker *w = r->worker;
    size_t len = 0;
    for (;;) {
        /* One byte more than expected: so the end shows without another call. */
        size_t want = (size_t)size + 1 - len;
        ssize_t n = cairn_file_reader_pread(&r->reader, w->small + len, want, len);
        if (n < 0)
            return lost(r, errno, err);
        len += (size_t)n;
        if (n == 0 || len > size || (size_t)n < want)
            break;
    }
    *grew = len > size;
    if (*grew)
        len = (size_t)size;
    r->is_short = len < size;
    r->item->size = len;
    if (len <= CAIRN_INLINE_BYTES) {
        cairn_buf_put(&r->item->inline_data, w->small, len);
        return cairn_buf_check(&r->item->inline_data, "a small file", err);
    }
    struct cairn_id *id = cairn_backup_item_extent(r->item, len, false);
    if (id == NULL)
        return no_extent(err);
    int status = cairn_lane_put(w->lane, w->small, len, id, NULL, err);
    if (status == CAIRN_OK)
        atomic_fetch_add(&w->backup->bytes_done, len);
    return status;
}

int cairn_backup_read_content(struct worker *w, struct item *item, int fd, struct cairn_error *err)
{
    struct reading r = {.worker = w, .item = item};
    const uint64_t size = item->stat.size;
    bool grew = false;
    int status = CAIRN_OK;
    if (size == 0)
        return CAIRN_OK;
    cairn_file_reader_begin(&r.reader, fd, size);
    if (cairn_holes_are_likely(&item->stat) && size >= HOLE_BYTES_MIN)
        status = read_sparse(&r, fd, size, err);
    else if (size <= w->backup->small_bytes)
        status = read_small(&r, size, &grew, err);
    else
        status = read_range(&r, 0, size, err);
    cairn_file_reader_end(&r.reader);
    return status;
}
