/* SPDX-License-Identifier: Apache-2.0
 *
 * Large files go past the page cache: filling fresh pages and writing them back costs several times
 * what the device needs. Chunks begin anywhere, so the whole blocks of a chunk are written
 * directly, from a buffer that lies in memory as the chunk lies in the file, and the parts of
 * blocks at its two ends through the page cache. A block is a whole page and a whole block of the
 * file system, so that no page holds bytes that were written both ways.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "base/io.h"
#include "engine/restore_internal.h"

#ifndef XFS_SUPER_MAGIC
#define XFS_SUPER_MAGIC 0x58465342
#endif

/* Below this a file's blocks are better left to the page cache. */
#define DIRECT_FILE_BYTES ((uint64_t)8 << 20)
/* Ends of chunks are small against what lies between. */
#define DIRECT_WRITE_BYTES 65536u

void cairn_restore_direct_init(struct cairn_restore *r)
{
    struct statfs fs;
    /* Elsewhere direct writes are not direct, or lose what the file system would add (compression,
     * checksums of data that does not change meanwhile). */
    if (fstatfs(r->target_fd, &fs) != 0 ||
        (fs.f_type != EXT4_SUPER_MAGIC && fs.f_type != XFS_SUPER_MAGIC))
        return;
    long page = sysconf(_SC_PAGESIZE);
    size_t block = fs.f_bsize > page ? (size_t)fs.f_bsize : (size_t)page;
    if (block <= CAIRN_FRAME_ALIGN && CAIRN_FRAME_ALIGN % block == 0)
        r->direct_block = block;
}

void cairn_restore_direct_open(const struct cairn_restore *r, struct cairn_restore_file *file,
                               int fd)
{
    struct stat made, opened;
    if (r->direct_block == 0 || file->size < DIRECT_FILE_BYTES)
        return;
    int direct =
        cairn_io_open(file->dir->fd, file->name, O_WRONLY | O_DIRECT | O_NOFOLLOW | O_NONBLOCK, 0);
    if (direct < 0)
        return;
    /* Whoever can write to the directory could have put something else there. */
    if (cairn_io()->fstat(fd, &made) != 0 || cairn_io()->fstat(direct, &opened) != 0 ||
        made.st_dev != opened.st_dev || made.st_ino != opened.st_ino)
        (void)cairn_io_close(direct);
    else
        file->direct_fd = direct;
}

/* Room for what the walk has found to be without holes: direct writes into room that is there do
 * not wait for each other, and lie together. That it cannot be had is found out by writing. */
static void allocate(struct cairn_restore *r, struct cairn_restore_file *file, uint64_t end)
{
    if (end <= atomic_load(&file->allocated))
        return;
    pthread_mutex_t *stripe = cairn_restore_stripe(r, file);
    (void)pthread_mutex_lock(stripe);
    uint64_t from = atomic_load(&file->allocated), to = atomic_load(&file->solid);
    if (from < end && from < to)
        (void)cairn_io()->fallocate(file->direct_fd, 0, (off_t)from, (off_t)(to - from));
    if (from < end)
        atomic_store(&file->allocated, to > end ? to : end);
    (void)pthread_mutex_unlock(stripe);
}

int cairn_restore_direct_write(struct cairn_restore *r, struct cairn_restore_file *file,
                               const uint8_t *data, size_t len, uint64_t at,
                               struct cairn_restore_span *out)
{
    size_t block = r->direct_block, done = 0;
    if (file->direct_fd < 0 || len < DIRECT_WRITE_BYTES)
        return 0;
    size_t skip = (size_t)(-at & (block - 1));
    if (((uintptr_t)(data + skip) & (block - 1)) != 0)
        return 0;
    size_t whole = (len - skip) & ~(block - 1);
    allocate(r, file, at + len);
    while (done < whole) {
        ssize_t got = cairn_io()->pwrite(file->direct_fd, data + skip + done, whole - done,
                                         (off_t)(at + skip + done));
        if (got < 0 && errno == EINTR)
            continue;
        /* Refused as it is, here or behind a short write: the page cache takes it. */
        if (got == 0 || (got < 0 && errno == EINVAL))
            break;
        if (got < 0)
            return -1;
        done += (size_t)got;
    }
    *out = (struct cairn_restore_span){skip, done & ~(block - 1)};
    return 0;
}

int cairn_restore_direct_close(struct cairn_restore_file *file)
{
    int fd = file->direct_fd;
    file->direct_fd = -1;
    return fd < 0 ? 0 : cairn_io_close(fd);
}
