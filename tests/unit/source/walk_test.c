/* SPDX-License-Identifier: Apache-2.0 */
#include "helpers.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/io.h"

static void walk_one(const char *path, unsigned threads, struct helper_stream *stream)
{
    struct cairn_walk_options options = helper_options(&path, 1, threads, stream);
    helper_walk(&options, stream);
}

static void test_order_is_by_byte_value(void **state)
{
    (void)state;
    char *dir = helper_dir();
    static const char *const files[] = {"b",    "a.txt", "a-",         "\xff\xfe", "\x01", " ",
                                        "\x80", "Z",     "line\nfeed", "\x1b[31m", "aa"};
    for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++)
        helper_file(dir, files[i], "");
    helper_mkdir(dir, "a");
    helper_file(dir, "a/inner", "x");
    helper_mkdir(dir, "a/\xc3\xa9");
    helper_link(dir, "l", "/");
    struct helper_stream stream;
    walk_one(dir, 0, &stream);
    assert_string_equal(helper_inner(&stream, dir), "- \\x01\n"
                                                    "- \\x1b[31m\n"
                                                    "-  \n"
                                                    "- Z\n"
                                                    "> a\n"
                                                    "- inner\n"
                                                    "> \xc3\xa9\n"
                                                    "< \xc3\xa9\n"
                                                    "< a\n"
                                                    "- a-\n"
                                                    "- a.txt\n"
                                                    "- aa\n"
                                                    "- b\n"
                                                    "- l\n"
                                                    "- line\\x0afeed\n"
                                                    "- \\x80\n"
                                                    "- \\xff\\xfe\n");
    assert_int_equal(stream.problems, 0);
    helper_stream_release(&stream);
    helper_remove(dir);
}

static void test_given_paths_become_one_tree(void **state)
{
    (void)state;
    char *dir = helper_dir();
    helper_mkdir(dir, "home");
    helper_mkdir(dir, "home/a");
    helper_file(dir, "home/a/f", "");
    helper_mkdir(dir, "home/b");
    helper_mkdir(dir, "etc");
    helper_file(dir, "etc/x", "");
    helper_file(dir, "etc/y", "");
    helper_link(dir, "link", "home/a");
    helper_mkdir(dir, "home-2");
    char paths[9][600];
    static const char *const given[] = {"home/a/f",      "etc/y",     "home/a/",
                                        "home/./b/../a", "home-2",    "home/a//f/",
                                        "link",          "home/none", "none/a/b"};
    const char *list[9];
    for (size_t i = 0; i < 9; i++) {
        (void)snprintf(paths[i], sizeof(paths[i]), "%s/%s", dir, given[i]);
        list[i] = paths[i];
    }
    struct helper_stream stream;
    struct cairn_walk_options options = helper_options(list, 9, 1, &stream);
    helper_walk(&options, &stream);
    assert_string_equal(helper_inner(&stream, dir), "> etc P\n"
                                                    "- y\n"
                                                    "< etc P\n"
                                                    "> home P\n"
                                                    "> a\n"
                                                    "- f\n"
                                                    "< a\n"
                                                    "! 2 none\n"
                                                    "< home I\n"
                                                    "> home-2\n"
                                                    "< home-2\n"
                                                    "- link\n"
                                                    "! 2 b\n");
    helper_stream_release(&stream);

    struct cairn_walk *walk;
    struct cairn_walk_event event;
    assert_int_equal(cairn_walk_new(&options, &walk, NULL), CAIRN_OK);
    do
        assert_int_equal(cairn_walk_next(walk, &event, NULL), CAIRN_OK);
    while (event.kind != CAIRN_WALK_END);
    struct cairn_walk_counts counts;
    cairn_walk_get_counts(walk, &counts);
    assert_int_equal(counts.given, 4);
    assert_int_equal(counts.missing, 2);
    assert_int_equal(cairn_walk_get_path_count(walk), 6);
    assert_string_equal(cairn_walk_get_path(walk, 0), helper_path(dir, "etc/y"));
    cairn_walk_free(walk);
    helper_stream_release(&stream);
    helper_remove(dir);
}

static void test_relative_paths_and_linked_parents(void **state)
{
    (void)state;
    char *dir = helper_dir();
    helper_mkdir(dir, "real");
    helper_mkdir(dir, "real/sub");
    helper_file(dir, "real/sub/f", "");
    helper_link(dir, "way", "real");
    helper_file(dir, "file", "");
    int old = open(".", O_RDONLY | O_DIRECTORY);
    assert_int_equal(chdir(helper_path(dir, "real")), 0);
    static const char *const paths[] = {"../way/sub", "./../file", "../file/x"};
    struct helper_stream stream;
    struct cairn_walk_options options = helper_options(paths, 2, 2, &stream);
    helper_walk(&options, &stream);
    assert_string_equal(helper_inner(&stream, dir), "- file\n"
                                                    "> way P\n"
                                                    "> sub\n"
                                                    "- f\n"
                                                    "< sub\n"
                                                    "< way P\n");
    helper_stream_release(&stream);
    options = helper_options(paths + 2, 1, 2, &stream);
    helper_walk(&options, &stream);
    assert_int_equal(stream.problems, 1);
    assert_int_equal(stream.last_errno, ENOTDIR);
    assert_string_equal(stream.last_path, helper_path(dir, "file/x"));
    helper_stream_release(&stream);
    assert_int_equal(fchdir(old), 0);
    close(old);
    helper_remove(dir);
}

static void test_misuse(void **state)
{
    (void)state;
    struct cairn_walk *walk = NULL;
    struct cairn_error err;
    static const char *const empty[] = {"/etc", ""};
    struct cairn_walk_options options = {.paths = empty, .path_count = 2};
    assert_int_equal(cairn_walk_new(&options, &walk, &err), CAIRN_MISUSE);
    options.path_count = 0;
    assert_int_equal(cairn_walk_new(&options, &walk, &err), CAIRN_MISUSE);
    options.path_count = 1;
    options.threads = 65;
    assert_int_equal(cairn_walk_new(&options, &walk, &err), CAIRN_MISUSE);
    assert_null(walk);
    cairn_walk_free(NULL);
}

/* A tree with directories of many sizes, some empty, some large. */
static void make_tree(const char *dir, unsigned *seed, int depth)
{
    unsigned files = (unsigned)rand_r(seed) % (depth == 1 ? 1500 : 40);
    for (unsigned i = 0; i < files; i++) {
        char name[32];
        (void)snprintf(name, sizeof(name), "%x-%u", (unsigned)rand_r(seed) % 0xfffff, i);
        helper_file(dir, name, "");
    }
    for (unsigned i = 0; depth < 4 && i < 7; i++) {
        char name[32], path[1024];
        (void)snprintf(name, sizeof(name), "%x.d%u", (unsigned)rand_r(seed) % 0xfffff, i);
        helper_mkdir(dir, name);
        (void)snprintf(path, sizeof(path), "%s/%s", dir, name);
        make_tree(path, seed, depth + 1);
    }
}

static void test_threads_do_not_change_the_stream(void **state)
{
    (void)state;
    char *dir = helper_dir_in_memory();
    unsigned seed = 7;
    make_tree(dir, &seed, 0);
    struct helper_stream one, other;
    walk_one(dir, 0, &one);
    assert_true(one.entries > 20000);
    size_t open = helper_open_files();
    static const unsigned threads[] = {1, 2, 3, 8, 16, 2, 2, 2};
    for (size_t i = 0; i < sizeof(threads) / sizeof(*threads); i++) {
        walk_one(dir, threads[i], &other);
        assert_int_equal(one.text.len, other.text.len);
        assert_memory_equal(one.text.data, other.text.data, one.text.len);
        helper_stream_release(&other);
    }
    assert_int_equal(helper_open_files(), open);
    helper_stream_release(&one);
    helper_remove(dir);
}

static void test_large_directory(void **state)
{
    (void)state;
    char *dir = helper_dir_in_memory();
    const unsigned count = 100000;
    int fd = open(dir, O_RDONLY | O_DIRECTORY);
    for (unsigned i = 0; i < count; i++) {
        char name[32];
        (void)snprintf(name, sizeof(name), "file-%07u", i * 7919 % count);
        int file = openat(fd, name, O_WRONLY | O_CREAT | O_EXCL, 0600);
        assert_true(file >= 0);
        close(file);
    }
    for (unsigned i = 0; i < count; i += 1000) {
        char name[32];
        (void)snprintf(name, sizeof(name), "file-%07u.d", i);
        assert_int_equal(mkdirat(fd, name, 0700), 0);
    }
    close(fd);
    for (unsigned threads = 0; threads < 4; threads++) {
        struct cairn_walk *walk;
        struct cairn_walk_event event;
        struct cairn_walk_options options = {
            .paths = (const char *const *)&dir, .path_count = 1, .threads = threads};
        assert_int_equal(cairn_walk_new(&options, &walk, NULL), CAIRN_OK);
        char last[64] = "";
        unsigned files = 0, dirs = 0;
        for (;;) {
            assert_int_equal(cairn_walk_next(walk, &event, NULL), CAIRN_OK);
            if (event.kind == CAIRN_WALK_END)
                break;
            if (strncmp(event.name, "file-", 5) != 0 || event.kind == CAIRN_WALK_LEAVE)
                continue;
            assert_true(strcmp(last, event.name) < 0);
            (void)snprintf(last, sizeof(last), "%s", event.name);
            files += event.kind == CAIRN_WALK_ENTRY;
            dirs += event.kind == CAIRN_WALK_ENTER;
        }
        assert_int_equal(files, count);
        assert_int_equal(dirs, count / 1000);
        cairn_walk_free(walk);
    }
    helper_remove(dir);
}

static void test_skip(void **state)
{
    (void)state;
    char *dir = helper_dir_in_memory();
    unsigned seed = 3;
    make_tree(dir, &seed, 1);
    for (unsigned threads = 0; threads < 3; threads++) {
        for (unsigned every = 1; every < 6; every++) {
            struct cairn_walk *walk;
            struct cairn_walk_event event;
            struct cairn_walk_options options = {
                .paths = (const char *const *)&dir, .path_count = 1, .threads = threads};
            assert_int_equal(cairn_walk_new(&options, &walk, NULL), CAIRN_OK);
            size_t entered = 0;
            do {
                assert_int_equal(cairn_walk_next(walk, &event, NULL), CAIRN_OK);
                if (event.kind != CAIRN_WALK_ENTER || event.partial || entered++ % every != 0) {
                    cairn_walk_skip(walk); /* does nothing unless after ENTER */
                    if (event.kind != CAIRN_WALK_ENTER)
                        continue;
                } else {
                    continue;
                }
                struct cairn_walk_event next;
                struct cairn_dir *dir_handle = cairn_dir_ref(event.dir);
                assert_int_equal(cairn_walk_next(walk, &next, NULL), CAIRN_OK);
                assert_int_equal(next.kind, CAIRN_WALK_LEAVE);
                assert_ptr_equal(next.dir, dir_handle);
                cairn_dir_unref(dir_handle);
            } while (event.kind != CAIRN_WALK_END);
            cairn_walk_free(walk);
        }
    }
    helper_remove(dir);
}

static enum cairn_walk_verdict by_name(void *ctx, struct cairn_dir *dir, const char *name,
                                       size_t name_len, const struct cairn_stat *stat)
{
    (void)ctx;
    assert_true(cairn_dir_get_depth(dir) > 0);
    assert_int_equal(strlen(name), name_len);
    assert_true(stat->mode != 0);
    if (strcmp(name, "drop") == 0)
        return CAIRN_WALK_DROP;
    return strcmp(name, "shut") == 0 ? CAIRN_WALK_SHUT : CAIRN_WALK_TAKE;
}

static void test_filter(void **state)
{
    (void)state;
    char *dir = helper_dir();
    helper_mkdir(dir, "a");
    helper_file(dir, "a/drop", "");
    helper_file(dir, "a/shut", "");
    helper_mkdir(dir, "drop");
    helper_file(dir, "drop/f", "");
    helper_mkdir(dir, "shut");
    helper_file(dir, "shut/f", "");
    helper_file(dir, "z", "");
    struct helper_stream stream;
    const char *path = dir;
    struct cairn_walk_options options = helper_options(&path, 1, 2, &stream);
    options.filter = by_name;
    helper_walk(&options, &stream);
    assert_string_equal(helper_inner(&stream, dir), "> a\n- shut\n< a\n> shut\n< shut\n- z\n");
    helper_stream_release(&stream);
    helper_remove(dir);
}

static void test_one_file_system(void **state)
{
    (void)state;
    struct cairn_stat dev, shm;
    if (cairn_stat_at(AT_FDCWD, "/dev", &dev) || cairn_stat_at(AT_FDCWD, "/dev/shm", &shm) ||
        cairn_stat_device(&dev) == cairn_stat_device(&shm))
        skip();
    char path[64];
    (void)snprintf(path, sizeof(path), "/dev/shm/cairn-source-%d", (int)getpid());
    if (mkdir(path, 0700) < 0)
        skip();
    static const char *const given[] = {"/dev"};
    struct helper_stream stream;
    struct cairn_walk_options options = helper_options(given, 1, 0, &stream);
    helper_walk(&options, &stream);
    assert_non_null(strstr((const char *)stream.text.data, "> cairn-source-"));
    helper_stream_release(&stream);
    options = helper_options(given, 1, 0, &stream);
    options.one_file_system = true;
    helper_walk(&options, &stream);
    assert_non_null(strstr((const char *)stream.text.data, "> shm\n< shm\n"));
    helper_stream_release(&stream);
    assert_int_equal(rmdir(path), 0);
}

static atomic_uint asked;

static bool is_cancelled_late(void *ctx)
{
    return atomic_fetch_add(&asked, 1) > *(const unsigned *)ctx;
}

static void test_cancel_and_free_at_any_point(void **state)
{
    (void)state;
    char *dir = helper_dir_in_memory();
    unsigned seed = 11;
    make_tree(dir, &seed, 2);
    size_t open = helper_open_files();
    for (unsigned limit = 0; limit < 120; limit++) {
        struct cairn_walk *walk;
        struct cairn_walk_event event = {0};
        struct cairn_error err;
        atomic_store(&asked, 0);
        struct cairn_walk_options options = {.paths = (const char *const *)&dir,
                                             .path_count = 1,
                                             .threads = limit % 4,
                                             .is_cancelled = limit % 2 ? is_cancelled_late : NULL,
                                             .cancel_ctx = &limit};
        assert_int_equal(cairn_walk_new(&options, &walk, NULL), CAIRN_OK);
        int status = CAIRN_OK;
        for (unsigned i = 0; status == CAIRN_OK && i < limit * 20; i++) {
            status = cairn_walk_next(walk, &event, &err);
            if (status == CAIRN_OK && event.kind == CAIRN_WALK_END)
                break;
        }
        if (status != CAIRN_OK) {
            assert_int_equal(status, CAIRN_CANCELLED);
            assert_int_equal(cairn_walk_next(walk, &event, &err), CAIRN_CANCELLED);
        }
        cairn_walk_free(walk);
    }
    assert_int_equal(helper_open_files(), open);
    helper_remove(dir);
}

static void test_memory_runs_out(void **state)
{
    (void)state;
    char *dir = helper_dir_in_memory();
    unsigned seed = 5;
    make_tree(dir, &seed, 3);
    size_t open = helper_open_files();
    bool is_done = false;
    for (long n = 0; !is_done && n < 100000; n++) {
        struct cairn_walk *walk;
        struct cairn_walk_event event = {.kind = CAIRN_WALK_ENTER};
        struct cairn_walk_options options = {.paths = (const char *const *)&dir, .path_count = 1};
        cairn_alloc_fail_after(n, (int)(n % 2));
        int status = cairn_walk_new(&options, &walk, NULL);
        if (status == CAIRN_OK) {
            while (status == CAIRN_OK && event.kind != CAIRN_WALK_END)
                status = cairn_walk_next(walk, &event, NULL);
            cairn_walk_free(walk);
        }
        cairn_alloc_fail_after(-1, 0);
        if (status == CAIRN_OK)
            is_done = event.kind == CAIRN_WALK_END && n > 1000;
        else
            assert_int_equal(status, CAIRN_NO_MEMORY);
    }
    assert_int_equal(helper_open_files(), open);
    helper_remove(dir);
}

/* A directory whose answers are not what a sane file system gives. */
static int fake_round;
static int fake_kind;
static struct stat fake_dir;

static void put_dirent(uint8_t **at, const char *name, unsigned short reclen)
{
    memset(*at, 0, reclen);
    memcpy(*at + 16, &reclen, 2);
    (*at)[18] = 8;
    memcpy(*at + 19, name, strlen(name));
    *at += reclen;
}

static ssize_t fake_getdents(int fd, void *buf, size_t len)
{
    struct stat st;
    uint8_t *at = buf;
    if (fstat(fd, &st) < 0 || st.st_ino != fake_dir.st_ino || st.st_dev != fake_dir.st_dev)
        return cairn_io_system()->getdents64(fd, buf, len);
    if (fake_round++ > 0) {
        if (fake_kind != 1)
            return 0;
        errno = EIO;
        return -1;
    }
    put_dirent(&at, "real", 24);
    put_dirent(&at, "..", 24);
    put_dirent(&at, "real", 24);
    if (fake_kind == 0) {
        put_dirent(&at, "a/b", 24);
        put_dirent(&at, "", 24);
        put_dirent(&at, "gone", 24);
    }
    if (fake_kind == 2) {
        put_dirent(&at, "x", 24); /* reaches beyond the answer */
        uint16_t huge = 4000;
        memcpy(at - 24 + 16, &huge, 2);
    }
    if (fake_kind == 3) {
        put_dirent(&at, "x", 24);
        memset(at - 5, 'y', 5); /* no end of the name within the record */
    }
    return at - (uint8_t *)buf;
}

static void test_impossible_answers(void **state)
{
    (void)state;
    char *dir = helper_dir();
    helper_file(dir, "real", "");
    assert_int_equal(stat(dir, &fake_dir), 0);
    struct cairn_io_ops ops = *cairn_io_system();
    ops.getdents64 = fake_getdents;
    for (fake_kind = 0; fake_kind < 4; fake_kind++) {
        struct helper_stream stream;
        char want[512];
        fake_round = 0;
        cairn_io_set(&ops);
        walk_one(dir, 0, &stream);
        cairn_io_set(NULL);
        const char *name = strrchr(dir, '/') + 1;
        (void)snprintf(want, sizeof(want), "! %d %s\n%s- real\n", fake_kind ? EIO : 0, name,
                       fake_kind ? "" : "! 2 gone\n");
        assert_string_equal(helper_inner(&stream, dir), want);
        char tail[300];
        (void)snprintf(tail, sizeof(tail), "< %s I\n", name);
        assert_non_null(strstr((const char *)stream.text.data, tail));
        helper_stream_release(&stream);
    }
    helper_remove(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order_is_by_byte_value),
        cmocka_unit_test(test_given_paths_become_one_tree),
        cmocka_unit_test(test_relative_paths_and_linked_parents),
        cmocka_unit_test(test_misuse),
        cmocka_unit_test(test_threads_do_not_change_the_stream),
        cmocka_unit_test(test_large_directory),
        cmocka_unit_test(test_skip),
        cmocka_unit_test(test_filter),
        cmocka_unit_test(test_one_file_system),
        cmocka_unit_test(test_cancel_and_free_at_any_point),
        cmocka_unit_test(test_memory_runs_out),
        cmocka_unit_test(test_impossible_answers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
