/* SPDX-License-Identifier: Apache-2.0
 *
 * The helpers above the I/O seam, over a file in memory that is short and interrupted.
 */
#include "../store/test.h"

#include <errno.h>
#include <fcntl.h>

#include "base/io.h"

#define FILE_BYTES 1000

static uint8_t file[FILE_BYTES];
static struct {
    unsigned calls, interrupts, closes;
    ssize_t most; /* bytes that a call transfers at most */
    int fail_at;  /* the call with this number (from 1) fails; 0: none */
    int with;     /* its errno; 0: it transfers nothing */
    int last_flags;
} now;

/* Every other call is interrupted. 0: go on. */
static int disturb(ssize_t *result)
{
    now.calls++;
    if (now.fail_at != 0 && now.calls == (unsigned)now.fail_at) {
        errno = now.with;
        *result = now.with ? -1 : 0;
        return 1;
    }
    if (now.calls % 2 == 1) {
        now.interrupts++;
        errno = EINTR;
        *result = -1;
        return 1;
    }
    return 0;
}

static size_t transfer(size_t len, off_t at)
{
    const size_t left = at < FILE_BYTES ? (size_t)(FILE_BYTES - at) : 0;
    len = len < left ? len : left;
    return len < (size_t)now.most ? len : (size_t)now.most;
}

static ssize_t short_pread(int fd, void *buf, size_t len, off_t at)
{
    ssize_t result;
    (void)fd;
    if (disturb(&result))
        return result;
    len = transfer(len, at);
    memcpy(buf, file + at, len);
    return (ssize_t)len;
}

static ssize_t short_pwrite(int fd, const void *buf, size_t len, off_t at)
{
    ssize_t result;
    (void)fd;
    if (disturb(&result))
        return result;
    len = transfer(len, at);
    memcpy(file + at, buf, len);
    return (ssize_t)len;
}

static int interrupted_sync(int fd)
{
    ssize_t result;
    (void)fd;
    return disturb(&result) ? (int)result : 0;
}

static int interrupted_open(int dir, const char *name, int flags, mode_t mode)
{
    ssize_t result;
    (void)dir;
    (void)name;
    (void)mode;
    now.last_flags = flags;
    return disturb(&result) ? (int)result : 42;
}

static int interrupted_close(int fd)
{
    (void)fd;
    now.closes++;
    errno = now.with;
    return -1;
}

static const struct cairn_io_ops seam = {
    .openat = interrupted_open,
    .close = interrupted_close,
    .pread = short_pread,
    .pwrite = short_pwrite,
    .fsync = interrupted_sync,
    .fdatasync = interrupted_sync,
    .syncfs = interrupted_sync,
};

static int setup(void **state)
{
    (void)state;
    memset(&now, 0, sizeof(now));
    now.most = 7;
    test_fill(file, sizeof(file), 1);
    cairn_io_set(&seam);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    cairn_io_set(NULL);
    return 0;
}

static void reads_are_whole(void **state)
{
    uint8_t got[FILE_BYTES + 100];
    (void)state;
    assert_false(cairn_io_is_system());
    assert_int_equal(cairn_io_pread_full(3, got, 900, 50), 900);
    assert_memory_equal(got, file + 50, 900);
    assert_true(now.interrupts > 100);
    assert_int_equal(cairn_io_pread_full(3, got, sizeof(got), 10), FILE_BYTES - 10); /* the end */
    assert_memory_equal(got, file + 10, FILE_BYTES - 10);
    assert_int_equal(cairn_io_pread_full(3, got, 0, 0), 0);
}

static void failed_reads_say_so(void **state)
{
    uint8_t got[100];
    (void)state;
    now.fail_at = 6;
    now.with = EIO;
    errno = 0;
    assert_int_equal(cairn_io_pread_full(3, got, sizeof(got), 0), -1);
    assert_int_equal(errno, EIO);
}

static void writes_are_whole(void **state)
{
    uint8_t data[FILE_BYTES];
    (void)state;
    test_fill(data, sizeof(data), 2);
    assert_int_equal(cairn_io_pwrite_full(3, data, 900, 50), 0);
    assert_memory_equal(file + 50, data, 900);
    assert_int_equal(cairn_io_pwrite_full(3, data, 0, 0), 0);
}

static void failed_writes_say_so(void **state)
{
    uint8_t data[100] = {0};
    (void)state;
    now.fail_at = 6;
    now.with = EDQUOT;
    errno = 0;
    assert_int_equal(cairn_io_pwrite_full(3, data, sizeof(data), 0), -1);
    assert_int_equal(errno, EDQUOT);
    /* A write that takes nothing does not go on for ever. */
    now.calls = 0;
    now.with = 0;
    assert_int_equal(cairn_io_pwrite_full(3, data, sizeof(data), 0), -1);
    assert_int_equal(errno, ENOSPC);
}

static void syncs_are_repeated_after_interrupts_only(void **state)
{
    int (*const syncs[])(int) = {cairn_io_fsync, cairn_io_fdatasync, cairn_io_syncfs};
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        now.calls = 0;
        now.fail_at = 0;
        assert_int_equal(syncs[i](3), 0);
        assert_int_equal(now.calls, 2);
        /* A failed sync must not be tried again: the kernel forgets the pages. */
        now.calls = 0;
        now.fail_at = 1;
        now.with = EIO;
        assert_int_equal(syncs[i](3), -1);
        assert_int_equal(errno, EIO);
        assert_int_equal(now.calls, 1);
    }
}

static void open_and_close_mind_interrupts(void **state)
{
    (void)state;
    assert_int_equal(cairn_io_open(AT_FDCWD, "x", O_RDONLY, 0), 42);
    assert_int_equal(now.calls, 2);
    assert_true(now.last_flags & O_CLOEXEC);
    now.calls = 0;
    now.fail_at = 1;
    now.with = ENOENT;
    assert_int_equal(cairn_io_open(AT_FDCWD, "x", O_RDONLY, 0), -1);
    assert_int_equal(errno, ENOENT);
    /* After EINTR the descriptor is gone: closing twice would hit another thread's. */
    now.with = EINTR;
    assert_int_equal(cairn_io_close(42), 0);
    assert_int_equal(now.closes, 1);
    now.with = EIO;
    assert_int_equal(cairn_io_close(42), -1);
    assert_int_equal(now.closes, 2);
}

static void the_system_is_the_default(void **state)
{
    struct stat st;
    (void)state;
    cairn_io_set(NULL);
    assert_true(cairn_io_is_system());
    assert_ptr_equal(cairn_io(), cairn_io_system());
    int fd = cairn_io_open(AT_FDCWD, "/", O_RDONLY | O_DIRECTORY, 0);
    assert_true(fd >= 0);
    assert_int_equal(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
    assert_int_equal(cairn_io()->fstat(fd, &st), 0);
    assert_int_equal(cairn_io_close(fd), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(reads_are_whole, setup, teardown),
        cmocka_unit_test_setup_teardown(failed_reads_say_so, setup, teardown),
        cmocka_unit_test_setup_teardown(writes_are_whole, setup, teardown),
        cmocka_unit_test_setup_teardown(failed_writes_say_so, setup, teardown),
        cmocka_unit_test_setup_teardown(syncs_are_repeated_after_interrupts_only, setup, teardown),
        cmocka_unit_test_setup_teardown(open_and_close_mind_interrupts, setup, teardown),
        cmocka_unit_test_setup_teardown(the_system_is_the_default, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
