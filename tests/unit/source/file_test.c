/* SPDX-License-Identifier: Apache-2.0 */
#include "helpers.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#include "source/file.h"
#include "source/holes.h"
#include "source/inode_flags.h"
#include "source/xattrs.h"

#define MIB (1u << 20)

static int open_dir(const char *dir)
{
    int at = open(dir, O_RDONLY | O_DIRECTORY);
    assert_true(at >= 0);
    return at;
}

static void test_stat(void **state)
{
    (void)state;
    char *dir = helper_dir();
    helper_file(dir, "f", "12345");
    helper_link(dir, "l", "f");
    int at = open_dir(dir);
    struct timespec times[2] = {{1, 2}, {-5, 999999999}};
    assert_int_equal(utimensat(at, "f", times, 0), 0);
    struct cairn_stat st, other;
    assert_int_equal(cairn_stat_at(at, "f", &st), 0);
    struct stat plain;
    assert_int_equal(fstatat(at, "f", &plain, 0), 0);
    assert_int_equal(st.size, 5);
    assert_int_equal(st.mtime.sec, -5);
    assert_int_equal(st.mtime.nsec, 999999999);
    assert_int_equal(st.atime.sec, 1);
    assert_int_equal(st.ino, plain.st_ino);
    assert_int_equal(st.nlink, 1);
    assert_int_equal(st.mode, plain.st_mode);
    assert_int_equal(st.uid, geteuid());
    assert_int_equal(cairn_stat_at(at, "l", &other), 0);
    assert_true(S_ISLNK(other.mode));
    assert_false(cairn_stat_is_same_inode(&st, &other));
    assert_int_equal(cairn_stat_at_following(at, "l", &other), 0);
    assert_true(cairn_stat_is_same_inode(&st, &other));
    int fd = openat(at, "f", O_PATH);
    assert_int_equal(cairn_stat_fd(fd, &other), 0);
    assert_memory_equal(&st.mtime, &other.mtime, 12);
    close(fd);
    errno = 0;
    assert_int_equal(cairn_stat_at(at, "none", &other), -1);
    assert_int_equal(errno, ENOENT);
    assert_int_equal(cairn_stat_at(AT_FDCWD, "/dev/null", &other), 0);
    assert_int_equal(other.rdev_major, 1);
    assert_int_equal(other.rdev_minor, 3);
    close(at);
    helper_remove(dir);
}

static void expect_refused(int at, const char *name, const struct cairn_stat *expected,
                           int os_errno)
{
    struct cairn_error err;
    int fd = -7;
    assert_int_equal(cairn_file_open(at, name, expected, &fd, NULL, &err), CAIRN_NOT_FOUND);
    assert_int_equal(err.os_errno, os_errno);
    assert_int_equal(fd, -7);
}

static void test_open(void **state)
{
    (void)state;
    char *dir = helper_dir();
    helper_file(dir, "f", "x");
    helper_file(dir, "g", "x");
    helper_mkdir(dir, "d");
    helper_link(dir, "l", "f");
    assert_int_equal(mkfifo(helper_path(dir, "fifo"), 0600), 0);
    int at = open_dir(dir), fd;
    struct cairn_stat f, g, now;
    assert_int_equal(cairn_stat_at(at, "f", &f), 0);
    assert_int_equal(cairn_stat_at(at, "g", &g), 0);
    struct timespec old[2] = {{1, 0}, {1, 0}};
    assert_int_equal(utimensat(at, "f", old, 0), 0);
    assert_int_equal(cairn_file_open(at, "f", &f, &fd, &now, NULL), CAIRN_OK);
    char byte;
    assert_int_equal(read(fd, &byte, 1), 1);
    close(fd);
    assert_int_equal(cairn_stat_at(at, "f", &now), 0);
    assert_int_equal(now.atime.sec, 1);
    size_t before = helper_open_files();
    expect_refused(at, "f", &g, ESTALE);
    expect_refused(at, "none", &f, ENOENT);
    expect_refused(at, "none", NULL, ENOENT);
    static const char *const others[] = {"d", "l", "fifo"};
    for (size_t i = 0; i < 3; i++) {
        expect_refused(at, others[i], &f, ESTALE);
        expect_refused(at, others[i], NULL, ESTALE);
    }
    struct cairn_error err;
    assert_int_equal(cairn_file_open_path(at, "fifo", NULL, &fd, &err), CAIRN_OK);
    close(fd);
    assert_int_equal(cairn_file_open_path(at, "l", &f, &fd, &err), CAIRN_NOT_FOUND);
    assert_int_equal(err.os_errno, ESTALE);
    assert_int_equal(helper_open_files(), before);
    close(at);
    helper_remove(dir);
}

static void test_links(void **state)
{
    (void)state;
    char *dir = helper_dir(), target[4096];
    int at = open_dir(dir);
    struct cairn_buf out = CAIRN_BUF_INIT;
    struct cairn_error err;
    static const size_t lengths[] = {1, 255, 256, 257, 1024, 4095};
    for (size_t i = 0; i < 6; i++) {
        memset(target, 'a', lengths[i]);
        target[lengths[i]] = '\0';
        if (symlinkat(target, at, "l") < 0)
            continue; /* this file system takes no such long ones */
        assert_int_equal(cairn_link_read(at, "l", &out, &err), CAIRN_OK);
        assert_int_equal(out.len, lengths[i]);
        assert_memory_equal(out.data, target, out.len);
        assert_int_equal(unlinkat(at, "l", 0), 0);
    }
    helper_file(dir, "f", "");
    assert_int_equal(cairn_link_read(at, "f", &out, &err), CAIRN_NOT_FOUND);
    assert_int_equal(err.os_errno, ESTALE);
    assert_int_equal(cairn_link_read(at, "none", &out, &err), CAIRN_NOT_FOUND);
    assert_int_equal(err.os_errno, ENOENT);
    cairn_buf_release(&out);
    close(at);
    helper_remove(dir);
}

/* Extents cover the file without gaps; what is data lies in none of the holes. */
static void check_extents(int fd, uint64_t size, size_t *holes_found, uint64_t *data_bytes)
{
    struct cairn_holes holes;
    struct cairn_extent extent;
    uint64_t at = 0;
    *holes_found = 0;
    *data_bytes = 0;
    cairn_holes_begin(&holes, fd, size);
    while (cairn_holes_next(&holes, &extent)) {
        assert_int_equal(extent.offset, at);
        assert_true(extent.length > 0);
        at += extent.length;
        *holes_found += extent.is_hole;
        *data_bytes += extent.is_hole ? 0 : extent.length;
    }
    assert_int_equal(at, size);
}

static void test_holes(void **state)
{
    (void)state;
    char *dir = helper_dir();
    int fd = open(helper_path(dir, "f"), O_RDWR | O_CREAT | O_EXCL, 0600);
    size_t found;
    uint64_t data;
    check_extents(fd, 0, &found, &data);
    assert_int_equal(ftruncate(fd, 16 * MIB), 0);
    assert_int_equal(pwrite(fd, "x", 1, 4 * MIB), 1);
    assert_int_equal(pwrite(fd, "x", 1, 12 * MIB), 1);
    struct cairn_stat st;
    assert_int_equal(cairn_stat_fd(fd, &st), 0);
    check_extents(fd, st.size, &found, &data);
    if (cairn_holes_are_likely(&st)) {
        assert_int_equal(found, 3);
        assert_true(data >= 2 && data < MIB);
    }
    /* The file is longer, or shorter, than it was thought to be. */
    check_extents(fd, 5 * MIB, &found, &data);
    check_extents(fd, 12 * MIB + 1, &found, &data);
    check_extents(fd, 20 * MIB, &found, &data);
    check_extents(fd, UINT64_MAX, &found, &data);
    assert_int_equal(ftruncate(fd, MIB), 0);
    check_extents(fd, 16 * MIB, &found, &data);
    close(fd);
    int pipes[2];
    assert_int_equal(pipe(pipes), 0);
    check_extents(pipes[0], 100, &found, &data); /* cannot be asked: all data */
    assert_int_equal(found, 0);
    close(pipes[0]);
    close(pipes[1]);
    helper_file(dir, "full", "some text");
    fd = open(helper_path(dir, "full"), O_RDONLY);
    check_extents(fd, 9, &found, &data);
    assert_int_equal(data, 9);
    close(fd);
    helper_remove(dir);
}

/* Stands in front of the C library's for the code under test, to give answers no sane file system
 * gives: those of the script, then -1. */
static const off_t *script;

off_t lseek(int fd, off_t offset, int whence)
{
    if (!script)
        return (off_t)syscall(SYS_lseek, fd, offset, whence);
    errno = EIO;
    return *script < 0 ? -1 : *script++;
}

static void test_holes_that_make_no_sense(void **state)
{
    (void)state;
    static const off_t scripts[][6] = {
        {50, 40, -1},         /* data before the place asked for */
        {0, 0, -1},           /* data of no length */
        {0, 10, 5, -1},       /* going back */
        {1000, -1},           /* data beyond the end */
        {0, 1000, -1},        /* a hole beyond the end */
        {20, 20, 10, 30, -1}, /* data, and a hole before it */
        {0, 10, 10, 20, 20, -1},
        {-1},
    };
    for (size_t i = 0; i < sizeof(scripts) / sizeof(*scripts); i++) {
        size_t found;
        uint64_t data;
        script = scripts[i];
        check_extents(0, 100, &found, &data);
        script = NULL;
        if (i == 1 || i >= 6)
            assert_int_equal(data, 100);
        if (i == 2)
            assert_int_equal(data, 100);
        if (i == 3)
            assert_int_equal(data, 0);
    }
}

static void test_reader(void **state)
{
    (void)state;
    char *dir = helper_dir();
    const size_t size = 20 * MIB + 123;
    uint8_t *bytes = malloc(size), *back = malloc(size);
    assert_true(bytes && back);
    for (size_t i = 0; i < size; i++)
        bytes[i] = (uint8_t)(i * 31 >> 3);
    int fd = open(helper_path(dir, "f"), O_RDWR | O_CREAT | O_EXCL, 0600);
    assert_int_equal(write(fd, bytes, size), size);
    assert_int_equal(fdatasync(fd), 0);
    for (int mode = 0; mode < 4; mode++) {
        for (int cold = 0; cold < 2; cold++) {
            struct cairn_file_reader reader;
            if (cold)
                (void)posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
            memset(back, 0, size);
            cairn_file_reader_begin(&reader, fd, size);
            reader.mode = mode; /* as on kernels that lack what this one may have */
            for (size_t at = 0; at < size;) {
                ssize_t n = cairn_file_reader_pread(&reader, back + at, 3 * MIB + 7, at);
                assert_true(n > 0);
                at += (size_t)n;
            }
            assert_int_equal(cairn_file_reader_pread(&reader, back, 100, size), 0);
            cairn_file_reader_end(&reader);
            assert_memory_equal(bytes, back, size);
        }
    }
    close(fd);
    free(bytes);
    free(back);
    helper_remove(dir);
}

static void test_xattrs(void **state)
{
    (void)state;
    char *dir = helper_dir(), big[2000];
    helper_file(dir, "f", "");
    helper_file(dir, "none", "");
    helper_mkdir(dir, "d");
    helper_link(dir, "l", "f");
    assert_int_equal(mkfifo(helper_path(dir, "fifo"), 0600), 0);
    int at = open_dir(dir), fd;
    struct cairn_xattrs xattrs = CAIRN_XATTRS_INIT;
    memset(big, 'v', sizeof(big));
    if (setxattr(helper_path(dir, "f"), "user.b", "2", 1, 0) < 0) {
        close(at);
        helper_remove(dir);
        skip();
    }
    assert_int_equal(setxattr(helper_path(dir, "f"), "user.c", big, sizeof(big), 0), 0);
    assert_int_equal(setxattr(helper_path(dir, "f"), "user.a\xff", "", 0, 0), 0);
    assert_int_equal(setxattr(helper_path(dir, "f"), "user.a", "1", 1, 0), 0);
    assert_int_equal(setxattr(helper_path(dir, "d"), "user.d", "dir", 3, 0), 0);
    for (int way = 0; way < 3; way++) {
        fd = openat(at, "f", way == 0 ? O_RDONLY : O_PATH);
        if (way < 2)
            assert_int_equal(cairn_xattrs_read(fd, &xattrs, NULL), CAIRN_OK);
        else
            assert_int_equal(cairn_xattrs_read_at(at, "f", &xattrs, NULL), CAIRN_OK);
        close(fd);
        assert_false(xattrs.is_lossy);
        assert_int_equal(xattrs.count, 4);
        static const char *const names[] = {"user.a", "user.a\xff", "user.b", "user.c"};
        for (size_t i = 0; i < 4; i++) {
            assert_int_equal(xattrs.items[i].name_len, strlen(names[i]));
            assert_memory_equal(xattrs.items[i].name, names[i], xattrs.items[i].name_len);
        }
        assert_int_equal(xattrs.items[1].value_len, 0);
        assert_memory_equal(xattrs.items[2].value, "2", 1);
        assert_int_equal(xattrs.items[3].value_len, sizeof(big));
        assert_memory_equal(xattrs.items[3].value, big, sizeof(big));
    }
    static const char *const empty[] = {"none", "l", "fifo"};
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(cairn_xattrs_read_at(at, empty[i], &xattrs, NULL), CAIRN_OK);
        assert_int_equal(xattrs.count, 0);
        assert_false(xattrs.is_lossy);
        fd = openat(at, empty[i], O_PATH | O_NOFOLLOW);
        assert_int_equal(cairn_xattrs_read(fd, &xattrs, NULL), CAIRN_OK);
        assert_int_equal(xattrs.count, 0);
        assert_false(xattrs.is_lossy);
        close(fd);
    }
    fd = openat(at, "d", O_RDONLY | O_DIRECTORY);
    assert_int_equal(cairn_xattrs_read(fd, &xattrs, NULL), CAIRN_OK);
    assert_int_equal(xattrs.count, 1);
    close(fd);
    /* A symlink's own attribute, by both ways; only root may set one. */
    if (lsetxattr(helper_path(dir, "l"), "trusted.own", "link", 4, 0) == 0) {
        fd = openat(at, "l", O_PATH | O_NOFOLLOW);
        assert_int_equal(cairn_xattrs_read(fd, &xattrs, NULL), CAIRN_OK);
        assert_int_equal(xattrs.count, 1);
        assert_memory_equal(xattrs.items[0].value, "link", 4);
        close(fd);
        assert_int_equal(cairn_xattrs_read_at(at, "l", &xattrs, NULL), CAIRN_OK);
        assert_int_equal(xattrs.count, 1);
    }
    assert_int_equal(cairn_xattrs_read_at(at, "gone", &xattrs, NULL), CAIRN_OK);
    assert_true(xattrs.is_lossy);
    assert_int_equal(xattrs.lost_errno, ENOENT);
    cairn_xattrs_release(&xattrs);
    close(at);
    helper_remove(dir);
}

static void test_more_xattrs_than_can_be_listed(void **state)
{
    (void)state;
    char path[] = "/dev/shm/cairn-source-XXXXXX", name[260];
    int fd = mkstemp(path);
    if (fd < 0)
        skip();
    size_t listed = 0;
    for (unsigned i = 0; listed < 60000 && i < 1000; i++) {
        int len = snprintf(name, sizeof(name), "user.%0240u", i);
        if (fsetxattr(fd, name, "v", 1, 0) < 0)
            break;
        listed += (size_t)len + 1;
    }
    struct cairn_xattrs xattrs = CAIRN_XATTRS_INIT;
    assert_int_equal(cairn_xattrs_read(fd, &xattrs, NULL), CAIRN_OK);
    bool is_possible = listed >= 60000;
    if (is_possible) {
        assert_false(xattrs.is_lossy);
        assert_int_equal(xattrs.count, listed / 246);
    }
    for (unsigned i = 1000; is_possible && listed <= 70000; i++) {
        int len = snprintf(name, sizeof(name), "user.%0240u", i);
        is_possible = fsetxattr(fd, name, "v", 1, 0) == 0;
        listed += (size_t)len + 1;
    }
    if (is_possible) {
        /* CAP_NET_RAW, as setcap writes it; only root may. It is found although nothing is listed.
         */
        static const uint8_t capability[20] = {1, 0, 0, 2, 0, 0x20};
        size_t known = fsetxattr(fd, "security.capability", capability, 20, 0) == 0;
        assert_int_equal(cairn_xattrs_read(fd, &xattrs, NULL), CAIRN_OK);
        assert_true(xattrs.is_lossy);
        assert_int_equal(xattrs.lost_errno, E2BIG);
        assert_int_equal(xattrs.count, known);
    }
    cairn_xattrs_release(&xattrs);
    close(fd);
    (void)unlink(path);
    if (!is_possible)
        skip();
}

static void test_inode_flags(void **state)
{
    (void)state;
    char *dir = helper_dir();
    int fd = open(helper_path(dir, "f"), O_RDWR | O_CREAT | O_EXCL, 0600);
    struct cairn_inode_flags flags = {1, 1};
    assert_int_equal(cairn_inode_flags_read(fd, &flags, NULL), CAIRN_OK);
    assert_int_equal(flags.flags, 0);
    int set = FS_NODUMP_FL | FS_NOATIME_FL;
    if (ioctl(fd, FS_IOC_SETFLAGS, &set) == 0) {
        assert_int_equal(cairn_inode_flags_read(fd, &flags, NULL), CAIRN_OK);
        assert_int_equal(flags.flags, FS_NODUMP_FL | FS_NOATIME_FL);
    }
    close(fd);
    int proc = open("/proc/self/status", O_RDONLY);
    if (proc >= 0) {
        flags = (struct cairn_inode_flags){1, 1};
        assert_int_equal(cairn_inode_flags_read(proc, &flags, NULL), CAIRN_OK);
        assert_int_equal(flags.flags, 0);
        assert_int_equal(flags.project, 0);
        close(proc);
    }
    helper_remove(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stat),
        cmocka_unit_test(test_open),
        cmocka_unit_test(test_links),
        cmocka_unit_test(test_holes),
        cmocka_unit_test(test_holes_that_make_no_sense),
        cmocka_unit_test(test_reader),
        cmocka_unit_test(test_xattrs),
        cmocka_unit_test(test_more_xattrs_than_can_be_listed),
        cmocka_unit_test(test_inode_flags),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
