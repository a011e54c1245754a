/* SPDX-License-Identifier: Apache-2.0 */
/*
 * blocklog: a FUSE file system of two files that plays a disk with a volatile write cache.
 *
 *   image   one big sparse file; every WRITE, FALLOCATE and FSYNC that arrives is logged
 *   mark    a write of NAME puts the mark NAME into the log
 *
 * Invariants:
 * 1. One thread. A request is answered only after its record is in the log, so the order of the
 *    log is an order in which a client could see the requests complete.
 * 2. `image` is opened with direct_io: the page cache of the host holds nothing of it, a write is
 *    acknowledged to the loop device when, and only when, it is in the log.
 * 3. The first failure to log is final: every later request fails with EIO, so that no log with a
 *    gap is taken for a whole one.
 *
 * Usage: blocklog IMAGE-FILE LOG-DIRECTORY MOUNTPOINT
 * IMAGE-FILE exists and has its final size. Stays in the foreground until unmounted.
 */
#define FUSE_USE_VERSION 31
#include <errno.h>
#include <fcntl.h>
#include <fuse.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "powercut_log.h"

#define IMAGE_PATH "/image"
#define MARK_PATH "/mark"
#define MAX_WRITE_BYTES (1u << 20)

struct blocklog {
    int image_fd;
    int ops_fd;
    int data_fd;
    uint64_t image_bytes;
    uint64_t data_bytes;
    uint64_t count;
    bool broken;
};

static struct blocklog *self(void)
{
    return fuse_get_context()->private_data;
}

static int write_all(int fd, const void *data, size_t length, uint64_t offset)
{
    const char *p = data;
    while (length > 0) {
        ssize_t n = pwrite(fd, p, length, (off_t)offset);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return -EIO;
        p += n;
        length -= (size_t)n;
        offset += (uint64_t)n;
    }
    return 0;
}

static int append(struct blocklog *b, enum pc_type type, uint64_t offset, uint64_t length,
                  const void *data)
{
    if (b->broken)
        return -EIO;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    struct pc_record r = {
        .magic = PC_MAGIC,
        .type = type,
        .seq = b->count,
        .offset = offset,
        .length = length,
        .data_pos = b->data_bytes,
        .time_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec,
    };
    if ((data && write_all(b->data_fd, data, length, b->data_bytes)) ||
        write_all(b->ops_fd, &r, sizeof r, b->count * sizeof r)) {
        b->broken = true;
        fprintf(stderr, "blocklog: cannot write the log: %s\n", strerror(errno));
        return -EIO;
    }
    if (data)
        b->data_bytes += length;
    b->count++;
    return 0;
}

static bool in_image(const struct blocklog *b, uint64_t offset, uint64_t length)
{
    return offset <= b->image_bytes && length <= b->image_bytes - offset;
}

static void *bl_init(struct fuse_conn_info *conn, struct fuse_config *config)
{
    conn->max_write = MAX_WRITE_BYTES;
    conn->want &= ~(unsigned)FUSE_CAP_WRITEBACK_CACHE;
    config->direct_io = 1;
    config->kernel_cache = 0;
    return self();
}

static int bl_getattr(const char *path, struct stat *st, struct fuse_file_info *fi)
{
    (void)fi;
    memset(st, 0, sizeof *st);
    st->st_nlink = 1;
    if (!strcmp(path, "/")) {
        st->st_mode = S_IFDIR | 0755;
        st->st_nlink = 2;
    } else if (!strcmp(path, IMAGE_PATH)) {
        st->st_mode = S_IFREG | 0600;
        st->st_size = (off_t)self()->image_bytes;
        st->st_blksize = 4096;
    } else if (!strcmp(path, MARK_PATH)) {
        st->st_mode = S_IFREG | 0666;
    } else {
        return -ENOENT;
    }
    return 0;
}

static int bl_readdir(const char *path, void *buf, fuse_fill_dir_t fill, off_t offset,
                      struct fuse_file_info *fi, enum fuse_readdir_flags flags)
{
    (void)offset, (void)fi, (void)flags;
    if (strcmp(path, "/"))
        return -ENOENT;
    const char *names[] = {".", "..", &IMAGE_PATH[1], &MARK_PATH[1]};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (fill(buf, names[i], NULL, 0, 0))
            return -ENOMEM;
    return 0;
}

static int bl_open(const char *path, struct fuse_file_info *fi)
{
    if (strcmp(path, IMAGE_PATH) && strcmp(path, MARK_PATH))
        return -ENOENT;
    fi->direct_io = 1;
    fi->keep_cache = 0;
    return 0;
}

/* O_TRUNC of a shell's `> mark` arrives here; the image keeps its size. */
static int bl_truncate(const char *path, off_t size, struct fuse_file_info *fi)
{
    (void)fi;
    return !strcmp(path, MARK_PATH) && size == 0 ? 0 : -EPERM;
}

static int bl_read(const char *path, char *buf, size_t size, off_t offset,
                   struct fuse_file_info *fi)
{
    (void)fi;
    if (strcmp(path, IMAGE_PATH))
        return 0;
    ssize_t n;
    do {
        n = pread(self()->image_fd, buf, size, offset);
    } while (n < 0 && errno == EINTR);
    return n < 0 ? -EIO : (int)n;
}

static int write_mark(struct blocklog *b, const char *name, size_t size)
{
    size_t length = size;
    while (length > 0 && name[length - 1] == '\n')
        length--;
    if (length == 0 || length > PC_MARK_MAX_BYTES || memchr(name, '\n', length) ||
        memchr(name, '\0', length))
        return -EINVAL;
    int rc = append(b, PC_MARK, 0, length, name);
    return rc ? rc : (int)size;
}

static int bl_write(const char *path, const char *buf, size_t size, off_t offset,
                    struct fuse_file_info *fi)
{
    (void)fi;
    struct blocklog *b = self();
    if (!strcmp(path, MARK_PATH))
        return write_mark(b, buf, size);
    if (strcmp(path, IMAGE_PATH))
        return -ENOENT;
    if (offset < 0 || !in_image(b, (uint64_t)offset, size))
        return -ENOSPC;
    int rc = append(b, PC_WRITE, (uint64_t)offset, size, buf);
    if (!rc)
        rc = write_all(b->image_fd, buf, size, (uint64_t)offset);
    if (rc)
        b->broken = true;
    return rc ? rc : (int)size;
}

static int bl_fallocate(const char *path, int mode, off_t offset, off_t length,
                        struct fuse_file_info *fi)
{
    (void)fi;
    struct blocklog *b = self();
    int what = mode & ~FALLOC_FL_KEEP_SIZE;
    if (strcmp(path, IMAGE_PATH) || (what != FALLOC_FL_PUNCH_HOLE && what != FALLOC_FL_ZERO_RANGE))
        return -EOPNOTSUPP;
    if (offset < 0 || length <= 0 || !in_image(b, (uint64_t)offset, (uint64_t)length))
        return -EINVAL;
    int rc = append(b, PC_ZERO, (uint64_t)offset, (uint64_t)length, NULL);
    if (!rc && fallocate(b->image_fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset, length)) {
        b->broken = true;
        rc = -EIO;
    }
    return rc;
}

static int bl_fsync(const char *path, int datasync, struct fuse_file_info *fi)
{
    (void)datasync, (void)fi;
    return strcmp(path, IMAGE_PATH) ? 0 : append(self(), PC_FLUSH, 0, 0, NULL);
}

static const struct fuse_operations operations = {
    .init = bl_init,
    .getattr = bl_getattr,
    .readdir = bl_readdir,
    .open = bl_open,
    .truncate = bl_truncate,
    .read = bl_read,
    .write = bl_write,
    .fallocate = bl_fallocate,
    .fsync = bl_fsync,
};

static int open_in(const char *directory, const char *name)
{
    char path[PATH_MAX];
    if (snprintf(path, sizeof path, "%s/%s", directory, name) >= (int)sizeof path)
        return -1;
    return open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
}

int main(int argc, char **argv)
{
    if (argc != 4) {
        fprintf(stderr, "usage: blocklog IMAGE-FILE LOG-DIRECTORY MOUNTPOINT\n");
        return 2;
    }
    /* Whoever started this may be killed; its mount would otherwise keep itself alive for ever. */
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    struct blocklog b = {
        .image_fd = open(argv[1], O_RDWR | O_CLOEXEC),
        .ops_fd = open_in(argv[2], "ops.bin"),
        .data_fd = open_in(argv[2], "data.bin"),
    };
    struct stat st;
    if (b.image_fd < 0 || b.ops_fd < 0 || b.data_fd < 0 || fstat(b.image_fd, &st)) {
        fprintf(stderr, "blocklog: cannot open %s or the log in %s: %s\n", argv[1], argv[2],
                strerror(errno));
        return 2;
    }
    b.image_bytes = (uint64_t)st.st_size;

    char single[] = "-s", foreground[] = "-f", option[] = "-o", name[] = "fsname=blocklog";
    char *fuse_argv[] = {argv[0], single, foreground, option, name, argv[3], NULL};
    int rc = fuse_main(6, fuse_argv, &operations, &b);
    return b.broken ? 2 : rc;
}
