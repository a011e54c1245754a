/* SPDX-License-Identifier: Apache-2.0
 *
 * Somebody swaps things while they are read, and things that may not be read.
 */
#include "helpers.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "source/file.h"

struct swapper {
    char a[1024], b[1024];
    atomic_bool stop;
    atomic_ulong swaps;
};

static void *swap_names(void *arg)
{
    struct swapper *s = arg;
    while (!atomic_load(&s->stop)) {
        if (renameat2(AT_FDCWD, s->a, AT_FDCWD, s->b, RENAME_EXCHANGE) == 0)
            atomic_fetch_add(&s->swaps, 1);
    }
    return NULL;
}

static void start(struct swapper *s, pthread_t *thread, const char *dir, const char *a,
                  const char *b)
{
    (void)snprintf(s->a, sizeof(s->a), "%s/%s", dir, a);
    (void)snprintf(s->b, sizeof(s->b), "%s/%s", dir, b);
    atomic_init(&s->stop, false);
    atomic_init(&s->swaps, 0);
    assert_int_equal(pthread_create(thread, NULL, swap_names, s), 0);
}

static void finish(struct swapper *s, pthread_t thread)
{
    atomic_store(&s->stop, true);
    pthread_join(thread, NULL);
    assert_true(atomic_load(&s->swaps) > 10);
}

static void test_directory_swapped_with_a_symlink(void **state)
{
    (void)state;
    char *dir = helper_dir(), *outside = helper_dir();
    helper_mkdir(dir, "parent");
    helper_mkdir(dir, "parent/sub");
    helper_mkdir(dir, "parent/sub/deep");
    helper_file(dir, "parent/sub/deep/inside", "inside");
    helper_file(dir, "parent/sub/inside", "inside");
    helper_mkdir(outside, "deep");
    helper_file(outside, "deep/SECRET", "secret");
    helper_file(outside, "deep/inside", "secret");
    helper_file(outside, "SECRET", "secret");
    helper_file(outside, "inside", "secret");
    helper_mkdir(dir, "elsewhere");
    helper_link(dir, "elsewhere/link", outside);

    struct swapper swapper;
    pthread_t thread;
    start(&swapper, &thread, dir, "parent/sub", "elsewhere/link");
    char given[1024];
    const char *path = given;
    (void)snprintf(given, sizeof(given), "%s/parent", dir);
    unsigned opened = 0, refused = 0;
    size_t before = helper_open_files();
    for (int round = 0; round < 2000; round++) {
        struct cairn_walk *walk;
        struct cairn_walk_event event;
        struct cairn_error err;
        struct cairn_walk_options options = {
            .paths = &path, .path_count = 1, .threads = (unsigned)round % 3};
        assert_int_equal(cairn_walk_new(&options, &walk, &err), CAIRN_OK);
        for (;;) {
            int at, fd;
            char text[16] = {0};
            assert_int_equal(cairn_walk_next(walk, &event, &err), CAIRN_OK);
            if (event.kind == CAIRN_WALK_END)
                break;
            assert_string_not_equal(event.name, "SECRET");
            if (event.kind != CAIRN_WALK_ENTRY || !S_ISREG(event.stat->mode))
                continue;
            if (cairn_dir_pin(event.parent, &at, &err) != CAIRN_OK) {
                refused++;
                continue;
            }
            if (cairn_file_open(at, event.name, event.stat, &fd, NULL, &err) == CAIRN_OK) {
                assert_int_equal(read(fd, text, sizeof(text)), 6);
                assert_string_equal(text, "inside");
                close(fd);
                opened++;
            }
            cairn_dir_unpin(event.parent);
        }
        cairn_walk_free(walk);
    }
    finish(&swapper, thread);
    assert_true(opened > 0);
    (void)refused;
    assert_int_equal(helper_open_files(), before);
    helper_remove(dir);
    helper_remove(outside);
}

static void test_file_swapped_with_other_things(void **state)
{
    (void)state;
    char *dir = helper_dir();
    helper_file(dir, "file", "inside");
    helper_file(dir, "secret", "secret");
    static const char *const kinds[] = {"link", "fifo", "dir", "socket", "other"};
    helper_link(dir, "link", "secret");
    assert_int_equal(mkfifo(helper_path(dir, "fifo"), 0600), 0);
    helper_mkdir(dir, "dir");
    helper_file(dir, "other", "secret");
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    assert_true(strlen(dir) + 8 < sizeof(address.sun_path));
    memcpy(address.sun_path, dir, strlen(dir));
    memcpy(address.sun_path + strlen(dir), "/socket", 8);
    int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(listener, (struct sockaddr *)&address, sizeof(address)), 0);
    close(listener);
    int at = open(dir, O_RDONLY | O_DIRECTORY);
    for (size_t kind = 0; kind < 5; kind++) {
        struct cairn_stat expected;
        assert_int_equal(cairn_stat_at(at, "file", &expected), 0);
        struct swapper swapper;
        pthread_t thread;
        start(&swapper, &thread, dir, "file", kinds[kind]);
        unsigned opened = 0, refused = 0;
        for (int i = 0; i < 200000 && (i < 5000 || !opened || !refused); i++) {
            struct cairn_error err;
            char text[16] = {0};
            int fd;
            int status = cairn_file_open(at, "file", &expected, &fd, NULL, &err);
            if (status == CAIRN_OK) {
                assert_int_equal(read(fd, text, sizeof(text)), 6);
                assert_string_equal(text, "inside");
                close(fd);
                opened++;
            } else {
                assert_int_equal(status, CAIRN_NOT_FOUND);
                assert_int_equal(err.os_errno, ESTALE);
                refused++;
            }
        }
        finish(&swapper, thread);
        assert_true(opened > 0 && refused > 0);
        if (atomic_load(&swapper.swaps) % 2)
            assert_int_equal(renameat2(at, "file", at, kinds[kind], RENAME_EXCHANGE), 0);
    }
    close(at);
    helper_remove(dir);
}

/* The parent of a directory that is being read is moved away and another put in its place. */
static void test_directory_swapped_with_another(void **state)
{
    (void)state;
    char *dir = helper_dir();
    helper_mkdir(dir, "way");
    helper_mkdir(dir, "way/x");
    helper_mkdir(dir, "other");
    for (int i = 0; i < 50; i++) {
        char name[64];
        (void)snprintf(name, sizeof(name), "way/x/d%02d", i);
        helper_mkdir(dir, name);
        (void)snprintf(name, sizeof(name), "way/x/d%02d/good", i);
        helper_file(dir, name, "");
        (void)snprintf(name, sizeof(name), "other/d%02d", i);
        helper_mkdir(dir, name);
        (void)snprintf(name, sizeof(name), "other/d%02d/bad", i);
        helper_file(dir, name, "");
    }
    struct swapper swapper;
    pthread_t thread;
    start(&swapper, &thread, dir, "way/x", "other");
    char given[1024];
    const char *path = given;
    (void)snprintf(given, sizeof(given), "%s/way", dir);
    for (int round = 0; round < 300; round++) {
        struct helper_stream stream;
        struct cairn_walk_options options = helper_options(&path, 1, (unsigned)round % 3, &stream);
        helper_walk(&options, &stream);
        const char *text = (const char *)stream.text.data;
        /* Whichever of the two it found, it stayed with it. */
        assert_false(strstr(text, "- good") && strstr(text, "- bad"));
        helper_stream_release(&stream);
    }
    finish(&swapper, thread);
    helper_remove(dir);
}

static int walk_forbidden(void *ctx)
{
    const char *path = ctx;
    struct helper_stream stream;
    struct cairn_walk_options options = helper_options(&path, 1, 1, &stream);
    helper_walk(&options, &stream);
    return strcmp(helper_inner(&stream, path), "> none\n"
                                               "! 13 none\n"
                                               "< none I\n"
                                               "> only-list\n"
                                               "! 13 f\n"
                                               "< only-list I\n"
                                               "> only-search\n"
                                               "! 13 only-search\n"
                                               "< only-search I\n"
                                               "- unreadable\n") != 0;
}

/* A parent that may be searched and not read is no obstacle. */
static int walk_through(void *ctx)
{
    const char *path = ctx;
    struct helper_stream stream;
    struct cairn_walk_options options = helper_options(&path, 1, 1, &stream);
    helper_walk(&options, &stream);
    return stream.problems != 0 || !strstr((const char *)stream.text.data, "- f\n");
}

static void test_what_may_not_be_read(void **state)
{
    (void)state;
    char *dir = helper_dir();
    helper_mkdir(dir, "none");
    helper_mkdir(dir, "only-list");
    helper_file(dir, "only-list/f", "");
    helper_mkdir(dir, "only-search");
    helper_mkdir(dir, "only-search/sub");
    helper_file(dir, "only-search/sub/f", "");
    helper_file(dir, "unreadable", "");
    assert_int_equal(chmod(dir, 0755), 0);
    assert_int_equal(chmod(helper_path(dir, "none"), 0), 0);
    assert_int_equal(chmod(helper_path(dir, "only-list"), 0444), 0);
    assert_int_equal(chmod(helper_path(dir, "only-search"), 0111), 0);
    assert_int_equal(chmod(helper_path(dir, "unreadable"), 0), 0);
    char sub[1024];
    (void)snprintf(sub, sizeof(sub), "%s/only-search/sub", dir);
    bool is_possible =
        helper_unprivileged(walk_forbidden, dir) && helper_unprivileged(walk_through, sub);
    helper_remove(dir);
    if (!is_possible)
        skip();
}

static void test_entries_vanish(void **state)
{
    (void)state;
    char *dir = helper_dir();
    helper_mkdir(dir, "d");
    for (int i = 0; i < 3000; i++) {
        char name[32];
        (void)snprintf(name, sizeof(name), "d/f%04d", i);
        helper_file(dir, name, "");
    }
    struct cairn_walk *walk;
    struct cairn_walk_event event;
    struct helper_stream stream;
    const char *path = dir;
    struct cairn_walk_options options = helper_options(&path, 1, 0, &stream);
    assert_int_equal(cairn_walk_new(&options, &walk, NULL), CAIRN_OK);
    unsigned files = 0;
    bool is_incomplete = false;
    do {
        assert_int_equal(cairn_walk_next(walk, &event, NULL), CAIRN_OK);
        if (event.kind == CAIRN_WALK_ENTRY && files++ == 0) {
            for (int i = 2000; i < 2100; i++) {
                char name[32];
                (void)snprintf(name, sizeof(name), "d/f%04d", i);
                assert_int_equal(unlink(helper_path(dir, name)), 0);
            }
        }
        if (event.kind == CAIRN_WALK_LEAVE && strcmp(event.name, "d") == 0)
            is_incomplete = event.incomplete;
    } while (event.kind != CAIRN_WALK_END);
    cairn_walk_free(walk);
    assert_int_equal(files, 2900);
    assert_int_equal(stream.problems, 100);
    assert_int_equal(stream.last_errno, ENOENT);
    assert_string_equal(stream.last_path, helper_path(dir, "d/f2099"));
    assert_true(is_incomplete);
    helper_stream_release(&stream);
    helper_remove(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_directory_swapped_with_a_symlink),
        cmocka_unit_test(test_file_swapped_with_other_things),
        cmocka_unit_test(test_directory_swapped_with_another),
        cmocka_unit_test(test_what_may_not_be_read),
        cmocka_unit_test(test_entries_vanish),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
