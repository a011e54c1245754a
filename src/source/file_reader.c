/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading without pushing other things out of the page cache.
 *
 * UNCACHED: preadv2 with RWF_DONTCACHE (Linux 6.14 and later, file systems that know it): the
 * kernel drops what it had to read and keeps what was there. WATCHED: elsewhere. preadv2 with
 * RWF_NOWAIT answers only from the cache. As long as it does, nothing is changed. From the first
 * miss on, what is read is dropped behind the reader, because from there on the kernel's read-ahead
 * makes everything look cached. PLAIN: small files, a system without either, or tests that watch
 * the seam.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/uio.h>

#include "base/io.h"
#include "source/file.h"

#ifndef RWF_DONTCACHE
#define RWF_DONTCACHE 0x00000080
#endif

#define SPARE_FROM_BYTES (1u << 20)
#define DROP_STEP_BYTES (8u << 20)

enum { MODE_PLAIN, MODE_UNCACHED, MODE_WATCHED, MODE_DROPPING };

void cairn_file_reader_begin(struct cairn_file_reader *reader, int fd, uint64_t size)
{
    bool is_plain = size < SPARE_FROM_BYTES || !cairn_io_is_system();
    *reader = (struct cairn_file_reader){
        .fd = fd, .mode = is_plain ? MODE_PLAIN : MODE_UNCACHED, .size = size};
}

/* Drops what was read of a file that was not cached; at the very end the read-ahead beyond too. */
static void drop(struct cairn_file_reader *reader, bool is_last)
{
    if (reader->cold_to <= reader->cold_from)
        return;
    (void)posix_fadvise(reader->fd, (off_t)reader->cold_from,
                        is_last ? 0 : (off_t)(reader->cold_to - reader->cold_from),
                        POSIX_FADV_DONTNEED);
    reader->cold_from = reader->cold_to;
}

static void note_cold(struct cairn_file_reader *reader, uint64_t at, size_t len)
{
    if (at != reader->cold_to || reader->cold_from > reader->cold_to) {
        drop(reader, false);
        reader->cold_from = at;
    }
    reader->cold_to = at + len;
    if (reader->cold_to - reader->cold_from >= DROP_STEP_BYTES)
        drop(reader, false);
}

/* One system call in the reader's mode; changes the mode when the system does not know it. */
static ssize_t read_some(struct cairn_file_reader *reader, void *buf, size_t len, uint64_t at)
{
    struct iovec iov = {buf, len};
    ssize_t n;
    if (reader->mode == MODE_UNCACHED) {
        n = preadv2(reader->fd, &iov, 1, (off_t)at, RWF_DONTCACHE);
        if (n >= 0 || (errno != EOPNOTSUPP && errno != ENOSYS && errno != EINVAL))
            return n;
        reader->mode = MODE_WATCHED;
    }
    if (reader->mode == MODE_WATCHED) {
        n = preadv2(reader->fd, &iov, 1, (off_t)at, RWF_NOWAIT);
        if (n > 0 || (n == 0 && at >= reader->size))
            return n;
        if (n == 0 || errno == EAGAIN)
            reader->mode = MODE_DROPPING;
        else if (errno == EOPNOTSUPP || errno == ENOSYS || errno == EINVAL)
            reader->mode = MODE_PLAIN;
        else
            return n;
    }
    n = cairn_io()->pread(reader->fd, buf, len, (off_t)at);
    if (n > 0 && reader->mode == MODE_DROPPING)
        note_cold(reader, at, (size_t)n);
    return n;
}

ssize_t cairn_file_reader_pread(struct cairn_file_reader *reader, void *buf, size_t len,
                                uint64_t at)
{
    size_t done = 0;
    while (done < len) {
        ssize_t n = read_some(reader, (char *)buf + done, len - done, at + done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        if (n == 0)
            break;
        done += (size_t)n;
    }
    return (ssize_t)done;
}

void cairn_file_reader_end(struct cairn_file_reader *reader)
{
    if (reader->mode == MODE_DROPPING)
        drop(reader, reader->cold_to >= reader->size);
}
