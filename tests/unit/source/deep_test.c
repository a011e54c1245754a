/* SPDX-License-Identifier: Apache-2.0
 *
 * Trees deeper than any path the kernel takes, and few descriptors.
 */
#include "helpers.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "source/file.h"

#define DEPTH 20000

/* Below dir: DEPTH directories "d", each with a file "f" behind it in order. */
static void make_deep(const char *dir, unsigned depth)
{
    int fd = open(dir, O_RDONLY | O_DIRECTORY);
    for (unsigned i = 0; i < depth; i++) {
        assert_int_equal(mkdirat(fd, "d", 0700), 0);
        int file = openat(fd, "f", O_WRONLY | O_CREAT | O_EXCL, 0600);
        assert_true(file >= 0);
        close(file);
        int down = openat(fd, "d", O_RDONLY | O_DIRECTORY);
        assert_true(down >= 0);
        close(fd);
        fd = down;
    }
    close(fd);
}

/* Walks and opens every file by its directory's handle, as it comes. Returns how many. */
static unsigned walk_and_open(const char *dir, unsigned threads, size_t *most_open,
                              size_t *path_len)
{
    struct cairn_walk *walk;
    struct cairn_walk_event event;
    struct cairn_error err;
    struct cairn_walk_options options = {.paths = &dir, .path_count = 1, .threads = threads};
    struct cairn_buf path = CAIRN_BUF_INIT;
    unsigned files = 0;
    assert_int_equal(cairn_walk_new(&options, &walk, &err), CAIRN_OK);
    for (;;) {
        assert_int_equal(cairn_walk_next(walk, &event, &err), CAIRN_OK);
        if (event.kind == CAIRN_WALK_END)
            break;
        if (event.kind != CAIRN_WALK_ENTRY)
            continue;
        int at, fd;
        assert_int_equal(cairn_dir_pin(event.parent, &at, &err), CAIRN_OK);
        assert_int_equal(cairn_file_open(at, event.name, event.stat, &fd, NULL, &err), CAIRN_OK);
        close(fd);
        cairn_dir_unpin(event.parent);
        if (files++ == 0) {
            cairn_dir_append_path(event.parent, event.name, &path);
            *path_len = path.len;
        }
        if (files % 499 == 0) {
            size_t open = helper_open_files();
            *most_open = open > *most_open ? open : *most_open;
        }
    }
    cairn_walk_free(walk);
    cairn_buf_release(&path);
    return files;
}

static void test_paths_of_40000_bytes(void **state)
{
    (void)state;
    char *dir = helper_dir_in_memory();
    make_deep(dir, DEPTH);
    for (unsigned threads = 0; threads < 3; threads += 2) {
        size_t before = helper_open_files(), most = 0, path_len = 0;
        assert_int_equal(walk_and_open(dir, threads, &most, &path_len), DEPTH);
        assert_int_equal(path_len, strlen(dir) + 2 * DEPTH);
        assert_true(most <= before + 256 + 4);
        assert_int_equal(helper_open_files(), before);
    }
    helper_remove(dir);
}

static void test_few_descriptors(void **state)
{
    (void)state;
    char *dir = helper_dir_in_memory();
    make_deep(dir, 1500);
    size_t before = helper_open_files(), most = 0, path_len = 0;
    struct rlimit old, low;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
    low = old;
    low.rlim_cur = 24;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
    assert_int_equal(walk_and_open(dir, 2, &most, &path_len), 1500);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
    assert_int_equal(helper_open_files(), before);
    helper_remove(dir);
}

/* The process loses its descriptors in mid-walk: those held in reserve are given up. */
static void test_descriptors_run_out(void **state)
{
    (void)state;
    char *dir = helper_dir_in_memory();
    make_deep(dir, 300);
    struct cairn_walk *walk;
    struct cairn_walk_event event;
    struct cairn_error err;
    struct cairn_walk_options options = {.paths = (const char *const *)&dir, .path_count = 1};
    struct rlimit old, low;
    assert_int_equal(cairn_walk_new(&options, &walk, &err), CAIRN_OK);
    for (unsigned i = 0; i < 100; i++)
        assert_int_equal(cairn_walk_next(walk, &event, &err), CAIRN_OK);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
    low = old;
    low.rlim_cur = helper_open_files() - 2; /* itself, "." and ".." are counted too */
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
    unsigned files = 0;
    do {
        assert_int_equal(cairn_walk_next(walk, &event, &err), CAIRN_OK);
        files += event.kind == CAIRN_WALK_ENTRY;
        assert_false(event.incomplete && !event.partial);
    } while (event.kind != CAIRN_WALK_END);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
    assert_int_equal(files, 300);
    cairn_walk_free(walk);
    helper_remove(dir);
}

/* A handle outlives the walk, and finds out that its directory is another one now. */
static void test_handles_after_the_walk(void **state)
{
    (void)state;
    char *dir = helper_dir_in_memory();
    helper_mkdir(dir, "a");
    helper_mkdir(dir, "a/b");
    helper_mkdir(dir, "a/b/c");
    helper_file(dir, "a/b/c/f", "hello");
    struct cairn_walk *walk;
    struct cairn_walk_event event;
    struct cairn_error err;
    struct cairn_walk_options options = {
        .paths = (const char *const *)&dir, .path_count = 1, .threads = 1};
    size_t before = helper_open_files();
    struct cairn_dir *kept = NULL;
    for (int round = 0; round < 4; round++) {
        assert_int_equal(cairn_walk_new(&options, &walk, &err), CAIRN_OK);
        do {
            assert_int_equal(cairn_walk_next(walk, &event, &err), CAIRN_OK);
            /* Shut, so that nothing below has a descriptor yet when the names change. */
            if (event.kind == CAIRN_WALK_ENTER && strcmp(event.name, "c") == 0) {
                kept = cairn_dir_ref(event.dir);
                cairn_walk_skip(walk);
            }
        } while (event.kind != CAIRN_WALK_END);
        cairn_walk_free(walk);
        /* Closes every descriptor that is not needed. */
        struct cairn_dir *up = cairn_dir_get_parent(kept);
        assert_ptr_not_equal(up, NULL);
        int fd, status;
        if (round == 1)
            assert_int_equal(rename(helper_path(dir, "a/b/c"), helper_path(dir, "a/b/gone")), 0);
        if (round == 2) {
            assert_int_equal(rename(helper_path(dir, "a/b/c"), helper_path(dir, "a/b/gone")), 0);
            helper_mkdir(dir, "a/b/c");
        }
        if (round == 3) {
            assert_int_equal(rename(helper_path(dir, "a/b/c"), helper_path(dir, "a/b/gone")), 0);
            helper_link(dir, "a/b/c", "gone");
        }
        status = cairn_dir_pin(kept, &fd, &err);
        if (round == 0) {
            char text[8] = {0};
            int file;
            assert_int_equal(status, CAIRN_OK);
            assert_int_equal(cairn_file_open(fd, "f", NULL, &file, NULL, &err), CAIRN_OK);
            assert_int_equal(read(file, text, sizeof(text)), 5);
            assert_string_equal(text, "hello");
            close(file);
            cairn_dir_unpin(kept);
        } else if (status == CAIRN_OK) {
            /* It was open already: then it still is the same directory. */
            struct stat st;
            assert_int_equal(fstatat(fd, "f", &st, 0), 0);
            cairn_dir_unpin(kept);
        } else {
            assert_int_equal(status, CAIRN_NOT_FOUND);
            assert_int_equal(err.os_errno, round == 1 ? ENOENT : ESTALE);
            assert_non_null(strstr(err.message, "/a/b/c"));
        }
        cairn_dir_unref(kept);
        assert_int_equal(helper_open_files(), before);
        if (round == 2)
            assert_int_equal(rmdir(helper_path(dir, "a/b/c")), 0);
        if (round >= 1 && round < 3)
            assert_int_equal(rename(helper_path(dir, "a/b/gone"), helper_path(dir, "a/b/c")), 0);
    }
    helper_remove(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_paths_of_40000_bytes),
        cmocka_unit_test(test_few_descriptors),
        cmocka_unit_test(test_descriptors_run_out),
        cmocka_unit_test(test_handles_after_the_walk),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
