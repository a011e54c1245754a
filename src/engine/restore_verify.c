/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/io.h"
#include "engine/restore_internal.h"

#define ZEROS_AT_ONCE ((uint64_t)1 << 20)

/* Reads exactly len bytes into the buffer. 0, or -1 and errno (0: the file ends before). */
static int read_back(struct cairn_restore *r, int fd, uint64_t at, size_t len)
{
    cairn_buf_clear(&r->verify_buf);
    if (!cairn_buf_reserve(&r->verify_buf, len)) {
        errno = ENOMEM;
        return -1;
    }
    ssize_t got = cairn_io_pread_full(fd, r->verify_buf.data, len, (off_t)at);
    if (got >= 0 && (size_t)got != len)
        errno = 0;
    return got >= 0 && (size_t)got == len ? 0 : -1;
}

/* *same: the range is zeros. What the file system calls a hole is not read. */
static int compare_hole(struct cairn_restore *r, int fd, uint64_t at, uint64_t len, bool *same)
{
    *same = true;
    for (uint64_t end = at + len; at < end && *same;) {
        off_t data = lseek(fd, (off_t)at, SEEK_DATA);
        if ((data < 0 && errno == ENXIO) || data >= (off_t)end)
            return 0;
        if (data > (off_t)at)
            at = (uint64_t)data;
        size_t part = (size_t)(end - at < ZEROS_AT_ONCE ? end - at : ZEROS_AT_ONCE);
        if (read_back(r, fd, at, part) != 0)
            return -1;
        const uint8_t *bytes = r->verify_buf.data;
        *same = bytes[0] == 0 && memcmp(bytes, bytes + 1, part - 1) == 0;
        at += part;
    }
    return 0;
}

static int compare_extent(struct cairn_restore *r, int fd,
                          const struct cairn_content_extent *extent, bool *same)
{
    struct cairn_id id;
    if (extent->is_hole)
        return compare_hole(r, fd, extent->at, extent->len, same);
    if (read_back(r, fd, extent->at, (size_t)extent->len) != 0)
        return -1;
    cairn_store_chunk_id(r->store, CAIRN_KIND_DATA, r->verify_buf.data, (size_t)extent->len, &id);
    *same = cairn_id_is_equal(&id, &extent->id);
    return 0;
}

/* Compares the content of an open file of the right size. -1 and errno: it cannot be read. */
static int compare(struct cairn_restore *r, int fd, const struct cairn_entry *entry, bool *same)
{
    struct cairn_content_extent extent;
    bool done = false;
    *same = true;
    if (entry->has_inline) {
        if (entry->inline_data.len == 0)
            return 0;
        if (read_back(r, fd, 0, entry->inline_data.len) != 0)
            return -1;
        *same = memcmp(r->verify_buf.data, entry->inline_data.data, entry->inline_data.len) == 0;
        return 0;
    }
    if (!entry->has_content)
        return 0;
    *same = cairn_content_reader_init(&r->content, r->fetcher, entry, NULL) == CAIRN_OK;
    while (*same && !atomic_load(&r->stop)) {
        *same = cairn_content_next(&r->content, &extent, &done, NULL) == CAIRN_OK;
        if (!*same || done)
            break;
        if (compare_extent(r, fd, &extent, same) != 0)
            return -1;
        (void)cairn_restore_tick(r, NULL);
    }
    return 0;
}

int cairn_restore_verify_entry(struct cairn_restore *r, struct cairn_restore_dir *dir,
                               const struct cairn_entry *entry, uint64_t number,
                               struct cairn_error *err)
{
    struct stat st;
    if (entry->type != CAIRN_ENTRY_FILE || cairn_restore_set_has(&r->lost, number))
        return CAIRN_OK;
    char *name = cairn_strndup((const char *)entry->name.data, entry->name.len);
    if (name == NULL)
        return cairn_error_no_memory(err, "a name");
    bool same = false;
    const int flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK;
    int fd = cairn_io_open(dir->fd, name, flags | O_NOATIME, 0);
    if (fd < 0 && errno == EPERM)
        fd = cairn_io_open(dir->fd, name, flags, 0);
    int rc = fd < 0 ? -1 : cairn_io()->fstat(fd, &st);
    if (rc == 0 && S_ISREG(st.st_mode) && (uint64_t)st.st_size == entry->size) {
        /* What was synced is read from the disk again, not from memory. */
        if (r->options->level != CAIRN_LEVEL_NONE)
            (void)posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
        rc = compare(r, fd, entry, &same);
    }
    if (rc != 0)
        cairn_restore_problem(r, dir, name, number, false, errno, "cannot be read back");
    else if (!same && !atomic_load(&r->stop))
        cairn_restore_problem(r, dir, name, number, false, 0,
                              "read back, it differs from the snapshot");
    if (fd >= 0)
        (void)cairn_io_close(fd);
    cairn_free(name);
    return CAIRN_OK;
}

int cairn_restore_verify(struct cairn_restore *r, const struct cairn_entry *top,
                         struct cairn_error *err)
{
    struct cairn_restore_dir *target;
    r->is_verifying = true;
    r->number = 0;
    int status = cairn_restore_dir_target(r, NULL, &target, err);
    if (status != CAIRN_OK)
        return status;
    if (top->type == CAIRN_ENTRY_DIRECTORY) {
        status = cairn_restore_walk(r, &top->directory, target, err);
    } else {
        status = cairn_restore_entry(r, target, top, err);
        cairn_restore_dir_end(r, target);
    }
    cairn_restore_drain(r);
    return status == CAIRN_OK ? cairn_restore_tick(r, err) : status;
}
