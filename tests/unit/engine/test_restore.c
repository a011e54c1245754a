/* SPDX-License-Identifier: Apache-2.0
 *
 * Restoring hand-made snapshots: every kind of entry, many files, files over several batches, deep
 * paths, damage, failing system calls, cancelling, and a target that is changed by somebody else
 * while it is filled.
 */
#include "restore_tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "backend/memory.h"
#include "base/io.h"
#include "engine/restore.h"

#define PROBLEMS_MAX 32

/* What a restore told. */
struct heard {
    struct cairn_store *cancel_at_progress;
    size_t problems, items, progress;
    char paths[PROBLEMS_MAX][256];
    char messages[PROBLEMS_MAX][512];
};

static char base[64]; /* a fresh directory of each test */

static int setup(void **state)
{
    (void)state;
    (void)snprintf(base, sizeof(base), "cairn-restore-XXXXXX");
    return mkdtemp(base) ? 0 : -1;
}

static int teardown(void **state)
{
    char command[128];
    (void)state;
    cairn_io_set(NULL);
    (void)snprintf(command, sizeof(command), "rm -rf %s", base);
    return system(command);
}

static const char *in(const char *path)
{
    static char out[4][512];
    static int next;
    char *at = out[next++ & 3];
    (void)snprintf(at, 512, "%s/%s", base, path);
    return at;
}

static void hear(void *ctx, const struct cairn_event *event)
{
    struct heard *heard = ctx;
    if (event->type == CAIRN_EVENT_PROBLEM) {
        if (heard->problems < PROBLEMS_MAX) {
            (void)snprintf(heard->paths[heard->problems], 256, "%s", event->path);
            (void)snprintf(heard->messages[heard->problems], 512, "%s", event->message);
        }
        heard->problems++;
    }
    heard->items += event->type == CAIRN_EVENT_ITEM;
    heard->progress += event->type == CAIRN_EVENT_PROGRESS;
    if (heard->cancel_at_progress && event->type == CAIRN_EVENT_ITEM && heard->items == 50)
        cairn_store_cancel(heard->cancel_at_progress);
}

/* Restores to base/out with verification. */
static int restore_path(struct tree *tree, const char *path, unsigned threads, struct heard *heard,
                        struct cairn_restore_result *result, struct cairn_error *err)
{
    const struct cairn_restore_options options = {
        .size = sizeof(options),
        .path = path,
        .target = in("out"),
        .level = CAIRN_LEVEL_NONE,
        .verify = true,
        .items = true,
        .event = hear,
        .event_ctx = heard,
    };
    return cairn_restore_run(tree->store, &tree->manifest, &options, threads, result, err);
}

static void restore_well(struct tree *tree, const char *path, unsigned threads,
                         struct cairn_restore_result *result)
{
    struct heard heard = {0};
    struct cairn_error err = {0};
    int status = restore_path(tree, path, threads, &heard, result, &err);
    if (status != CAIRN_OK)
        fail_msg("%s", err.message);
    if (heard.problems > 0)
        fail_msg("%s: %s", heard.paths[0], heard.messages[0]);
    assert_int_equal(result->problems, 0);
}

static struct stat stat_of(const char *path)
{
    struct stat st;
    if (lstat(in(path), &st) != 0)
        fail_msg("%s: %s", path, strerror(errno));
    return st;
}

static bool exists(const char *path)
{
    struct stat st;
    return lstat(in(path), &st) == 0;
}

/* Compares a restored file with its extents. */
static void expect_content(const char *path, const struct tree_extent *extents, size_t count)
{
    static uint8_t want[1 << 20], have[1 << 20];
    uint64_t at = 0;
    int fd = open(in(path), O_RDONLY);
    assert_true(fd >= 0);
    for (size_t i = 0; i < count; i++) {
        if (extents[i].seed == 0) {
            assert_true(pread(fd, have, 1, (off_t)at) == 1 && have[0] == 0);
        } else {
            tree_fill(want, extents[i].len, extents[i].seed);
            assert_int_equal(pread(fd, have, extents[i].len, (off_t)at), extents[i].len);
            assert_memory_equal(have, want, extents[i].len);
        }
        at += extents[i].len;
    }
    assert_int_equal(lseek(fd, 0, SEEK_END), at);
    close(fd);
}

static void expect_text(const char *path, const char *text)
{
    char have[256] = {0};
    int fd = open(in(path), O_RDONLY);
    assert_true(fd >= 0);
    assert_int_equal(read(fd, have, sizeof(have) - 1), strlen(text));
    assert_string_equal(have, text);
    close(fd);
}

static const struct tree_extent small[] = {{3000, 1}};
static const struct tree_extent pieces[] = {{100000, 2}, {200000, 3}, {100000, 2}};
static const struct tree_extent holes[] = {
    {1 << 20, 0}, {5000, 4}, {1 << 20, 0}, {70000, 5}, {1 << 21, 0}};
static const struct tree_extent only_hole[] = {{1 << 22, 0}};

static void every_kind_of_entry_comes_back(void **state)
{
    struct tree t;
    struct cairn_restore_result result;
    (void)state;
    tree_open(&t);
    struct tree_node *a = tree_dir(t.root, "a"), *b = tree_dir(a, "b");
    tree_dir(a, "empty")->entry.mode = 01750;
    a->entry.mode = 0555;
    a->entry.mtime = (struct cairn_time){-5, 7};
    tree_inline(a, "nothing", "");
    tree_inline(a, "inline", "a few bytes")->entry.mode = 0;
    tree_file(a, "small", small, 1)->entry.mode = 04755;
    tree_file(b, "pieces", pieces, 3)->entry.mode = 0400;
    tree_file(b, "holes", holes, 5);
    tree_file(b, "only hole", only_hole, 1);
    tree_symlink(b, "link", "../../outside\nof it");
    tree_add(b, CAIRN_ENTRY_FIFO, "fifo")->entry.mode = 0622;
    tree_add(b, CAIRN_ENTRY_SOCKET, "socket");
    struct tree_node *x = tree_file(b, "\xff\x1b[2J name", small, 1);
    tree_xattr(x, "user.one", "1");
    tree_xattr(x, "user.two", "second");
    x->entry.mode = 0444;
    tree_xattr(b, "user.dir", "d");
    tree_commit(&t);
    restore_well(&t, NULL, 2, &result);
    assert_int_equal(result.files, 7);
    assert_int_equal(result.dirs, 3);
    assert_int_equal(result.others, 3);
    expect_text("out/a/nothing", "");
    if (geteuid() == 0)
        expect_text("out/a/inline", "a few bytes");
    expect_content("out/a/small", small, 1);
    expect_content("out/a/b/pieces", pieces, 3);
    expect_content("out/a/b/holes", holes, 5);
    expect_content("out/a/b/only hole", only_hole, 1);
    assert_true(stat_of("out/a/b/only hole").st_blocks <= 8);
    assert_true(stat_of("out/a/b/holes").st_blocks * 512 < 300000);
    assert_int_equal(stat_of("out/a").st_mode, S_IFDIR | 0555);
    assert_int_equal(stat_of("out/a").st_mtim.tv_sec, -5);
    assert_int_equal(stat_of("out/a").st_mtim.tv_nsec, 7);
    assert_int_equal(stat_of("out/a/empty").st_mode, S_IFDIR | 01750);
    assert_int_equal(stat_of("out/a/inline").st_mode, S_IFREG);
    assert_int_equal(stat_of("out/a/small").st_mode, S_IFREG | 04755);
    assert_int_equal(stat_of("out/a/b/pieces").st_mode, S_IFREG | 0400);
    assert_int_equal(stat_of("out/a/b/fifo").st_mode, S_IFIFO | 0622);
    assert_int_equal(stat_of("out/a/b/socket").st_mode, S_IFSOCK | 0644);
    const char *with_mtime[] = {"out/a/nothing", "out/a/b/pieces", "out/a/b/link", "out/a/b/fifo",
                                "out/a/b"};
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(stat_of(with_mtime[i]).st_mtim.tv_sec, 1234567890);
        assert_int_equal(stat_of(with_mtime[i]).st_mtim.tv_nsec, 123456789);
    }
    char link[64] = {0}, value[16] = {0};
    assert_int_equal(readlink(in("out/a/b/link"), link, sizeof(link) - 1), 19);
    assert_string_equal(link, "../../outside\nof it");
    assert_int_equal(getxattr(in("out/a/b/\xff\x1b[2J name"), "user.two", value, 16), 6);
    assert_memory_equal(value, "second", 6);
    assert_int_equal(getxattr(in("out/a/b"), "user.dir", value, 16), 1);
    tree_close(&t);
}

static void devices_and_owners_come_back(void **state)
{
    struct tree t;
    struct cairn_restore_result result;
    (void)state;
    if (geteuid() != 0)
        skip();
    tree_open(&t);
    struct tree_node *n = tree_add(t.root, CAIRN_ENTRY_CHARACTER, "null");
    n->entry.rdev_major = 1;
    n->entry.rdev_minor = 3;
    n->entry.uid = 12345;
    n->entry.gid = 4294967294u;
    n = tree_file(t.root, "setuid", small, 1);
    n->entry.uid = 12345;
    n->entry.mode = 06755;
    n = tree_symlink(t.root, "link", "null");
    n->entry.uid = 12345;
    n = tree_dir(t.root, "dir");
    n->entry.gid = 54321;
    n->entry.mode = 02770;
    tree_inline(n, "inside", "x");
    tree_commit(&t);
    restore_well(&t, NULL, 2, &result);
    assert_int_equal(stat_of("out/null").st_rdev, makedev(1, 3));
    assert_int_equal(stat_of("out/null").st_uid, 12345);
    assert_int_equal(stat_of("out/null").st_gid, 4294967294u);
    assert_int_equal(stat_of("out/setuid").st_mode, S_IFREG | 06755);
    assert_int_equal(stat_of("out/setuid").st_uid, 12345);
    assert_int_equal(stat_of("out/link").st_uid, 12345);
    assert_int_equal(stat_of("out/dir").st_mode, S_IFDIR | 02770);
    assert_int_equal(stat_of("out/dir").st_gid, 54321);
    assert_int_equal(stat_of("out/dir/inside").st_gid, getegid());
    tree_close(&t);
}

/* A default ACL of the target is not passed on to what is restored. */
static void what_the_target_passes_on_is_dropped(void **state)
{
    static const uint8_t acl[] = {2, 0,  0,   0,   1,   0,   7,  0, 255, 255, 255, 255, 2,   0,  7,
                                  0, 99, 0,   0,   0,   4,   0,  5, 0,   255, 255, 255, 255, 16, 0,
                                  7, 0,  255, 255, 255, 255, 32, 0, 5,   0,   255, 255, 255, 255};
    struct tree t;
    struct cairn_restore_result result;
    (void)state;
    assert_int_equal(mkdir(in("out"), 0755), 0);
    if (setxattr(in("out"), "system.posix_acl_default", acl, sizeof(acl), 0) != 0)
        skip();
    tree_open(&t);
    tree_file(t.root, "file", small, 1);
    tree_add(t.root, CAIRN_ENTRY_FIFO, "fifo");
    tree_file(tree_dir(t.root, "dir"), "file", small, 1);
    tree_commit(&t);
    restore_well(&t, NULL, 2, &result);
    const char *names[] = {"out/file", "out/fifo", "out/dir", "out/dir/file"};
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(getxattr(in(names[i]), "system.posix_acl_access", NULL, 0), -1);
        assert_int_equal(stat_of(names[i]).st_mode & 07777, i == 2 ? 0755 : 0644);
    }
    assert_int_equal(getxattr(in("out/dir"), "system.posix_acl_default", NULL, 0), -1);
    tree_close(&t);
}

/* A time that the file system cannot hold is either kept or reported. */
static void times_that_are_clamped_are_named(void **state)
{
    struct tree t;
    struct cairn_restore_result result;
    struct heard heard = {0};
    struct cairn_error err = {0};
    const int64_t far = (int64_t)1 << 40;
    (void)state;
    tree_open(&t);
    tree_inline(t.root, "file", "x")->entry.mtime.sec = far;
    tree_commit(&t);
    assert_int_equal(restore_path(&t, NULL, 1, &heard, &result, &err), CAIRN_OK);
    assert_int_equal(result.problems, stat_of("out/file").st_mtim.tv_sec != far);
    tree_close(&t);
}

/* Without privileges other owners are lost, and with them what their set-id bits allow. */
static void a_user_without_privileges_restores_the_rest(void **state)
{
    struct tree t;
    struct cairn_restore_result result;
    struct heard heard = {0};
    struct cairn_error err = {0};
    (void)state;
    if (geteuid() != 0)
        skip();
    assert_int_equal(chown(base, 65534, 65534), 0);
    assert_int_equal(setegid(65534), 0);
    assert_int_equal(seteuid(65534), 0);
    tree_open(&t);
    struct tree_node *n = tree_file(t.root, "setuid", small, 1);
    n->entry.uid = 0;
    n->entry.mode = 06755;
    struct tree_node *dir = tree_dir(t.root, "closed");
    dir->entry.mode = 0;
    tree_file(dir, "link 1", pieces, 3)->entry.hardlink_group = 1;
    tree_file(dir, "link 2", pieces, 3)->entry.hardlink_group = 1;
    n = tree_inline(dir, "read-only", "x");
    n->entry.mode = 0400;
    n = tree_file(t.root, "attribute", small, 1);
    tree_xattr(n, "user.one", "1");
    n->entry.mode = 0444;
    tree_commit(&t);
    const struct cairn_restore_options options = {.size = sizeof(options),
                                                  .target = in("out"),
                                                  .level = CAIRN_LEVEL_NONE,
                                                  .event = hear,
                                                  .event_ctx = &heard};
    int status = cairn_restore_run(t.store, &t.manifest, &options, 2, &result, &err);
    tree_close(&t);
    assert_int_equal(seteuid(0), 0);
    assert_int_equal(setegid(0), 0);
    assert_int_equal(status, CAIRN_OK);
    assert_int_equal(result.problems, 1);
    assert_string_equal(heard.paths[0], "/setuid");
    assert_non_null(strstr(heard.messages[0], "owner"));
    assert_int_equal(stat_of("out/setuid").st_mode, S_IFREG | 0755);
    assert_int_equal(stat_of("out/closed").st_mode, S_IFDIR);
    assert_int_equal(stat_of("out/closed/link 2").st_nlink, 2);
    assert_int_equal(stat_of("out/closed/read-only").st_mode, S_IFREG | 0400);
    assert_int_equal(stat_of("out/attribute").st_mode, S_IFREG | 0444);
}

static void hard_links_are_one_file(void **state)
{
    struct tree t;
    struct cairn_restore_result result;
    (void)state;
    tree_open(&t);
    const char *places[] = {"a", "b", "c"};
    for (size_t i = 0; i < 3; i++) {
        struct tree_node *dir = tree_dir(t.root, places[i]);
        tree_file(dir, "file", pieces, 3)->entry.hardlink_group = 9;
        tree_file(dir, "other", small, 1)->entry.hardlink_group = 4;
        tree_symlink(dir, "symlink", "x")->entry.hardlink_group = 1000000;
    }
    tree_commit(&t);
    restore_well(&t, NULL, 2, &result);
    assert_int_equal(result.files, 6);
    assert_int_equal(result.others, 3);
    for (size_t i = 0; i < 3; i++) {
        char name[32];
        (void)snprintf(name, sizeof(name), "out/%s/file", places[i]);
        assert_int_equal(stat_of(name).st_nlink, 3);
        assert_int_equal(stat_of(name).st_ino, stat_of("out/a/file").st_ino);
        expect_content(name, pieces, 3);
        (void)snprintf(name, sizeof(name), "out/%s/other", places[i]);
        assert_int_equal(stat_of(name).st_ino, stat_of("out/a/other").st_ino);
        (void)snprintf(name, sizeof(name), "out/%s/symlink", places[i]);
        assert_int_equal(stat_of(name).st_nlink, 3);
        (void)snprintf(name, sizeof(name), "out/%s", places[i]);
        assert_int_equal(stat_of(name).st_mtim.tv_sec, 1234567890);
    }
    DIR *dir = opendir(in("out"));
    size_t entries = 0;
    while (readdir(dir))
        entries++;
    closedir(dir);
    assert_int_equal(entries, 5); /* nothing is left of what links were made from */
    tree_close(&t);
}

/* Only a part is restored, and what was the first name is not in it. */
static void a_path_of_a_snapshot_is_restored_alone(void **state)
{
    struct tree t;
    struct cairn_restore_result result;
    struct heard heard = {0};
    struct cairn_error err;
    (void)state;
    tree_open(&t);
    struct tree_node *a = tree_dir(t.root, "a"), *b = tree_dir(t.root, "b"), *c = tree_dir(b, "c");
    tree_file(a, "file", small, 1)->entry.hardlink_group = 1;
    tree_file(c, "file", small, 1)->entry.hardlink_group = 1;
    tree_file(c, "again", small, 1)->entry.hardlink_group = 1;
    c->entry.mode = 0710;
    c->entry.mtime.sec = 77;
    tree_commit(&t);
    restore_well(&t, "/b//c/", 1, &result);
    assert_int_equal(result.files, 2);
    expect_content("out/file", small, 1);
    assert_int_equal(stat_of("out/again").st_nlink, 2);
    assert_int_equal(stat_of("out").st_mode, S_IFDIR | 0710);
    assert_int_equal(stat_of("out").st_mtim.tv_sec, 77);
    assert_int_equal(rename(in("out"), in("out1")), 0);
    restore_well(&t, "/a/file", 1, &result);
    expect_content("out/file", small, 1);
    assert_int_equal(restore_path(&t, NULL, 1, &heard, &result, &err), CAIRN_EXISTS);
    assert_non_null(strstr(err.message, "not empty"));
    assert_int_equal(rename(in("out"), in("out2")), 0);
    assert_int_equal(restore_path(&t, "/a/none", 1, &heard, &result, &err), CAIRN_NOT_FOUND);
    assert_false(exists("out"));
    close(open(in("out"), O_CREAT | O_WRONLY, 0600));
    assert_int_equal(restore_path(&t, NULL, 1, &heard, &result, &err), CAIRN_MISUSE);
    tree_close(&t);
}

/* Allows so many descriptors; 0: as many as at first. */
static void limit_descriptors(rlim_t count)
{
    static struct rlimit before;
    struct rlimit limit;
    if (before.rlim_max == 0)
        assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    limit = before;
    if (count > 0)
        limit.rlim_cur = count;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

static void many_small_files_come_back_with_few_descriptors(void **state)
{
    struct tree t;
    struct cairn_restore_result result;
    (void)state;
    tree_open(&t);
    for (uint64_t d = 0; d < 500; d++) {
        char name[32];
        (void)snprintf(name, sizeof(name), "dir%03u", (unsigned)d);
        struct tree_node *dir = tree_dir(t.root, name);
        for (uint64_t f = 0; f < 20; f++) {
            /* Every tenth has the content of another one. */
            const struct tree_extent e = {130 + (d * 20 + f) % 7000, f == 0 ? 7 : d * 20 + f + 1};
            (void)snprintf(name, sizeof(name), "file%02u", (unsigned)f);
            tree_file(dir, name, &e, 1);
        }
    }
    tree_commit(&t);
    limit_descriptors(256);
    restore_well(&t, NULL, 2, &result);
    limit_descriptors(0);
    assert_int_equal(result.files, 10000);
    assert_int_equal(result.dirs, 500);
    for (uint64_t d = 0; d < 500; d += 7) {
        const struct tree_extent e = {130 + (d * 20 + 3) % 7000, d * 20 + 4};
        char name[64];
        (void)snprintf(name, sizeof(name), "out/dir%03u/file03", (unsigned)d);
        expect_content(name, &e, 1);
        (void)snprintf(name, sizeof(name), "out/dir%03u", (unsigned)d);
        assert_int_equal(stat_of(name).st_mtim.tv_sec, 1234567890);
        assert_int_equal(stat_of(name).st_mode, S_IFDIR | 0755);
    }
    tree_close(&t);
}

/* More pieces than a batch takes, and more bytes. */
static void a_large_file_is_restored_over_several_batches(void **state)
{
    struct tree t;
    struct cairn_restore_result result;
    const size_t many = 45000, big = 360;
    struct tree_extent *e = calloc(many, sizeof(*e)), *m = calloc(big, sizeof(*m));
    (void)state;
    for (size_t i = 0; i < many; i++)
        e[i] = (struct tree_extent){1000 + i % 5, i % 100 == 99 ? 0 : i % 3000 + 1};
    for (size_t i = 0; i < big; i++)
        m[i] = (struct tree_extent){1 << 20, i % 4 == 3 ? i / 4 % 2 : i % 40 + 1};
    tree_open(&t);
    tree_file(t.root, "before", small, 1);
    tree_file(t.root, "large", e, many);
    tree_file(t.root, "larger", m, big)->entry.hardlink_group = 1;
    tree_file(t.root, "larger link", m, big)->entry.hardlink_group = 1;
    tree_file(t.root, "zlast", small, 1);
    tree_commit(&t);
    restore_well(&t, NULL, 2, &result);
    expect_content("out/large", e, many);
    expect_content("out/larger", m, big);
    expect_content("out/zlast", small, 1);
    assert_int_equal(stat_of("out/larger link").st_nlink, 2);
    free(e);
    free(m);
    tree_close(&t);
}

static void deep_paths_come_back(void **state)
{
    struct tree t;
    struct cairn_restore_result result;
    const int levels = 400;
    char name[101];
    (void)state;
    memset(name, 'd', 100);
    name[100] = 0;
    tree_open(&t);
    struct tree_node *leaf = tree_dir(NULL, "leaf");
    tree_file(leaf, "bottom", small, 1);
    struct cairn_id id;
    tree_store(&t, leaf, &id);
    for (int i = 1; i < levels; i++) {
        struct tree_node *above = tree_dir(NULL, "level");
        struct tree_node *below = tree_dir(above, name);
        if (i % 20 == 0)
            tree_inline(above, "beside", "x");
        below->entry.directory = id;
        below->entry.has_directory = true;
        below->is_stored = true;
        tree_store(&t, above, &id);
        tree_free(above);
    }
    tree_free(leaf);
    struct tree_node *top = tree_dir(t.root, name);
    top->entry.directory = id;
    top->entry.has_directory = true;
    top->is_stored = true;
    tree_commit(&t);
    limit_descriptors(128);
    restore_well(&t, NULL, 2, &result);
    limit_descriptors(0);
    assert_int_equal(result.dirs, levels);
    assert_int_equal(result.files, 20);
    int fd = open(in("out"), O_RDONLY | O_DIRECTORY);
    for (int i = 0; i < levels; i++) {
        struct stat st;
        int below = openat(fd, name, O_RDONLY | O_DIRECTORY);
        assert_true(below >= 0);
        assert_int_equal(fstat(below, &st), 0);
        assert_int_equal(st.st_mtim.tv_sec, 1234567890);
        assert_int_equal(st.st_mode, S_IFDIR | 0755);
        close(fd);
        fd = below;
    }
    assert_int_equal(faccessat(fd, "bottom", R_OK, 0), 0);
    close(fd);
    tree_close(&t);
}

/* Flips a byte in the middle of every data pack, and returns how many there were. */
static size_t damage(struct cairn_backend *backend, const char *prefix, size_t at)
{
    size_t hit = 0;
    for (size_t i = 0; i < cairn_memory_backend_count(backend); i++) {
        const char *name = cairn_memory_backend_name(backend, i);
        size_t len;
        uint8_t *bytes = cairn_memory_backend_data(backend, name, &len);
        if (strncmp(name, prefix, strlen(prefix)) == 0 && bytes[8] == CAIRN_OBJECT_DATA_PACK) {
            bytes[at] ^= 1;
            hit++;
        }
    }
    return hit;
}

static void damaged_content_is_named_and_left_out(void **state)
{
    struct tree t;
    struct cairn_restore_result result;
    struct heard heard = {0};
    struct cairn_error err = {0};
    const struct tree_extent first[] = {{1 << 20, 50}}, second[] = {{1 << 20, 51}, {1 << 20, 50}};
    (void)state;
    tree_open(&t);
    struct tree_node *dir = tree_dir(t.root, "dir");
    tree_file(dir, "first", first, 1);
    tree_file(dir, "link 1", second, 2)->entry.hardlink_group = 1;
    tree_file(dir, "link 2", second, 2)->entry.hardlink_group = 1;
    tree_file(dir, "unharmed", second, 1);
    tree_inline(dir, "inline", "x");
    tree_commit(&t);
    /* The first frame, which holds the chunk of seed 50. */
    assert_int_equal(damage(t.backend, "packs/", 5000), 1);
    int status = restore_path(&t, NULL, 2, &heard, &result, &err);
    if (status != CAIRN_OK)
        fail_msg("%s", err.message);
    assert_int_equal(result.problems, 3);
    assert_int_equal(heard.problems, 3);
    assert_int_equal(result.files, 2);
    assert_string_equal(heard.paths[2], "/dir/link 2");
    assert_false(exists("out/dir/first"));
    assert_false(exists("out/dir/link 1"));
    assert_false(exists("out/dir/link 2"));
    expect_content("out/dir/unharmed", second, 1);
    expect_text("out/dir/inline", "x");
    assert_int_equal(stat_of("out/dir").st_mtim.tv_sec, 1234567890);
    tree_close(&t);
}

static void chunks_and_directories_that_are_missing_are_named(void **state)
{
    struct tree t;
    struct cairn_restore_result result;
    struct heard heard = {0};
    struct cairn_error err = {0};
    (void)state;
    tree_open(&t);
    struct cairn_buf list = CAIRN_BUF_INIT;
    struct tree_node *bad = tree_add(t.root, CAIRN_ENTRY_FILE, "bad");
    cairn_buf_put_varint(&list, 500 << 1);
    cairn_buf_put_zero(&list, 32);
    bad->entry.has_content = true;
    bad->entry.content = (struct cairn_slice){list.data, list.len};
    bad->entry.size = 500;
    struct tree_node *wrong = tree_add(t.root, CAIRN_ENTRY_FILE, "wrong");
    wrong->entry = bad->entry;
    wrong->entry.name = (struct cairn_slice){(const uint8_t *)wrong->name, strlen(wrong->name)};
    wrong->entry.size = 501;
    struct tree_node *dir = tree_dir(t.root, "dir");
    memset(&dir->entry.directory, 9, 32);
    dir->entry.has_directory = true;
    dir->is_stored = true;
    char long_name[300];
    memset(long_name, 'n', sizeof(long_name) - 1);
    long_name[299] = 0;
    tree_inline(t.root, long_name, "x");
    tree_inline(tree_dir(t.root, strcpy(long_name, "zlast")), "file", "y");
    tree_commit(&t);
    int status = restore_path(&t, NULL, 2, &heard, &result, &err);
    if (status != CAIRN_OK)
        fail_msg("%s", err.message);
    assert_int_equal(result.problems, 4);
    assert_false(exists("out/bad"));
    assert_false(exists("out/wrong"));
    expect_text("out/zlast/file", "y");
    cairn_buf_release(&list);
    tree_close(&t);
}

/* ---- failing system calls ----------------------------------------------------------------- */

static atomic_int writes_left;
static int write_errno;

static ssize_t failing_pwrite(int fd, const void *buf, size_t len, off_t at)
{
    if (atomic_fetch_sub(&writes_left, 1) == 0) {
        errno = write_errno;
        return -1;
    }
    return cairn_io_system()->pwrite(fd, buf, len, at);
}

/* Restores 100 files while write number n fails. */
static int restore_failing(int n, int why, struct heard *heard, struct cairn_restore_result *result)
{
    struct tree t;
    struct cairn_error err = {0};
    struct cairn_io_ops ops = *cairn_io_system();
    tree_open(&t);
    for (uint64_t i = 0; i < 100; i++) {
        const struct tree_extent e[] = {{2000, i + 1}, {300, i + 200}};
        char name[16];
        (void)snprintf(name, sizeof(name), "f%02u", (unsigned)i);
        tree_file(t.root, name, e, i % 2 + 1);
    }
    tree_commit(&t);
    atomic_store(&writes_left, n);
    write_errno = why;
    ops.pwrite = failing_pwrite;
    cairn_io_set(&ops);
    int status = restore_path(&t, NULL, 2, heard, result, &err);
    cairn_io_set(NULL);
    if (status != CAIRN_OK)
        assert_int_equal(err.status, status);
    tree_close(&t);
    return status;
}

static void a_file_that_cannot_be_written_is_named(void **state)
{
    struct heard heard = {0};
    struct cairn_restore_result result;
    (void)state;
    assert_int_equal(restore_failing(30, EIO, &heard, &result), CAIRN_OK);
    assert_int_equal(result.problems, 1);
    assert_int_equal(result.files, 99);
    char name[300];
    (void)snprintf(name, sizeof(name), "out%s", heard.paths[0]);
    assert_false(exists(name));
}

static void a_full_target_ends_the_restore(void **state)
{
    struct heard heard = {0};
    struct cairn_restore_result result;
    (void)state;
    assert_int_equal(restore_failing(30, ENOSPC, &heard, &result), CAIRN_NO_SPACE);
    for (uint64_t i = 0; i < 100; i++) {
        const struct tree_extent e[] = {{2000, i + 1}, {300, i + 200}};
        char name[16];
        (void)snprintf(name, sizeof(name), "out/f%02u", (unsigned)i);
        if (exists(name))
            expect_content(name, e, i % 2 + 1);
    }
}

/* ---- direct writes ------------------------------------------------------------------------ */

static atomic_int direct_writes;
static int direct_errno;      /* direct writes fail with it */
static size_t direct_at_most; /* bytes of one direct write, unless 0 */

static ssize_t watched_pwrite(int fd, const void *buf, size_t len, off_t at)
{
    if ((fcntl(fd, F_GETFL) & O_DIRECT) == 0)
        return cairn_io_system()->pwrite(fd, buf, len, at);
    atomic_fetch_add(&direct_writes, 1);
    if (direct_errno != 0) {
        errno = direct_errno;
        return -1;
    }
    if (direct_at_most != 0 && len > direct_at_most) {
        /* What the kernel does when it stops in the middle of a block. */
        (void)cairn_io_system()->pwrite(fd, buf, len, at);
        len = direct_at_most;
    }
    return cairn_io_system()->pwrite(fd, buf, len & ~(size_t)4095, at) < 0 ? -1 : (ssize_t)len;
}

/* Restores a file whose pieces begin and end anywhere, some of them twice. */
static void restore_direct(int why, size_t at_most, uint64_t problems)
{
    static const struct tree_extent e[] = {
        {1000001, 1}, {1 << 20, 2}, {70000, 3},   {65535, 4},  {5 << 20, 0}, {1000003, 5},
        {1000001, 1}, {1, 6},       {300000, 7},  {4096, 8},   {1 << 20, 9}, {999, 0},
        {1 << 20, 2}, {400001, 10}, {131072, 11}, {77777, 12}, {999999, 13},
    };
    struct tree t;
    struct heard heard = {0};
    struct cairn_error err;
    struct cairn_restore_result result;
    struct cairn_io_ops ops = *cairn_io_system();
    atomic_store(&direct_writes, 0);
    direct_errno = why;
    direct_at_most = at_most;
    ops.pwrite = watched_pwrite;
    tree_open(&t);
    tree_file(t.root, "large", e, sizeof(e) / sizeof(e[0]));
    tree_file(t.root, "small", small, 1);
    tree_commit(&t);
    cairn_io_set(&ops);
    assert_int_equal(restore_path(&t, NULL, 2, &heard, &result, &err), CAIRN_OK);
    cairn_io_set(NULL);
    if (atomic_load(&direct_writes) == 0)
        skip(); /* a file system that is not written directly */
    assert_int_equal(result.problems, problems);
    expect_content("out/small", small, 1);
    if (problems == 0)
        expect_content("out/large", e, sizeof(e) / sizeof(e[0]));
    else
        assert_false(exists("out/large"));
    tree_close(&t);
}

static void a_large_file_is_written_directly(void **state)
{
    (void)state;
    restore_direct(0, 0, 0);
}

static void direct_writes_that_are_refused_are_made_up_for(void **state)
{
    (void)state;
    restore_direct(EINVAL, 0, 0);
}

static void direct_writes_that_are_short_are_gone_on_with(void **state)
{
    (void)state;
    restore_direct(0, 8192, 0);
}

static void direct_writes_that_end_within_a_block_are_made_up_for(void **state)
{
    (void)state;
    restore_direct(0, 100000, 0);
}

static void a_direct_write_that_fails_is_named(void **state)
{
    (void)state;
    restore_direct(EIO, 0, 1);
}

static void a_cancelled_restore_leaves_whole_files(void **state)
{
    struct tree t;
    struct cairn_restore_result result;
    struct heard heard = {0};
    struct cairn_error err = {0};
    const struct tree_extent e[] = {{20000, 1}, {30000, 2}, {20000, 3}};
    (void)state;
    tree_open(&t);
    for (unsigned i = 0; i < 100; i++) {
        char name[32];
        (void)snprintf(name, sizeof(name), "d%02u", i);
        struct tree_node *dir = tree_dir(t.root, name);
        for (unsigned j = 0; j < 20; j++) {
            (void)snprintf(name, sizeof(name), "f%02u", j);
            tree_file(dir, name, e, 3)->entry.hardlink_group = j == 0 ? 1 : 0;
        }
    }
    tree_commit(&t);
    heard.cancel_at_progress = t.store;
    assert_int_equal(restore_path(&t, NULL, 2, &heard, &result, &err), CAIRN_CANCELLED);
    for (unsigned i = 0; i < 2000; i++) {
        char name[64];
        (void)snprintf(name, sizeof(name), "out/d%02u/f%02u", i / 20, i % 20);
        if (exists(name))
            expect_content(name, e, 3);
    }
    assert_false(exists("out/d99/f19"));
    tree_close(&t);
}

/* ---- somebody else in the target ------------------------------------------------------------ */

static atomic_bool thrash_ends;

/* Moves directories of the target away and puts links that lead out of it in their places. */
static void *thrash(void *ctx)
{
    char outside[512], from[512], to[512], relative[512];
    (void)snprintf(relative, sizeof(relative), "%s/outside", (const char *)ctx);
    if (realpath(relative, outside) == NULL)
        return NULL;
    for (unsigned i = 0; !atomic_load(&thrash_ends); i++) {
        (void)snprintf(from, sizeof(from), "%s/out/dir%03u", (const char *)ctx, i % 100);
        (void)snprintf(to, sizeof(to), "%s/out/moved%u", (const char *)ctx, i);
        if (rename(from, to) == 0)
            (void)symlink(outside, from);
        (void)snprintf(from, sizeof(from), "%s/out/dir%03u/sub", (const char *)ctx, i % 100);
        if (unlink(from) == 0 || rename(from, to) == 0)
            (void)symlink(outside, from);
    }
    return NULL;
}

static void nothing_outside_the_target_is_touched(void **state)
{
    struct tree t;
    struct cairn_restore_result result;
    struct cairn_error err = {0};
    pthread_t thread;
    (void)state;
    tree_open(&t);
    for (unsigned i = 0; i < 100; i++) {
        char name[32];
        (void)snprintf(name, sizeof(name), "dir%03u", i);
        struct tree_node *sub = tree_dir(tree_dir(t.root, name), "sub");
        sub->entry.mode = 0700;
        for (unsigned j = 0; j < 10; j++) {
            (void)snprintf(name, sizeof(name), "file%u", j);
            tree_file(sub, name, pieces, j % 3 + 1);
            (void)snprintf(name, sizeof(name), "link%u", j);
            tree_symlink(sub, name, "x");
        }
        tree_file(sub, "sentinel", small, 1);
    }
    tree_commit(&t);
    assert_int_equal(mkdir(in("outside"), 0755), 0);
    assert_int_equal(chmod(in("outside"), 0755), 0);
    close(open(in("outside/sentinel"), O_CREAT | O_WRONLY, 0644));
    const struct timespec times[2] = {{55, 0}, {55, 0}};
    assert_int_equal(utimensat(AT_FDCWD, in("outside"), times, 0), 0);
    for (int round = 0; round < 6; round++) {
        struct heard heard = {0};
        char moved[32];
        atomic_store(&thrash_ends, false);
        assert_int_equal(pthread_create(&thread, NULL, thrash, base), 0);
        (void)restore_path(&t, NULL, 2, &heard, &result, &err);
        atomic_store(&thrash_ends, true);
        (void)pthread_join(thread, NULL);
        assert_int_equal(stat_of("outside").st_mtim.tv_sec, 55);
        assert_int_equal(stat_of("outside").st_mode, S_IFDIR | 0755);
        assert_int_equal(stat_of("outside/sentinel").st_size, 0);
        (void)snprintf(moved, sizeof(moved), "done%d", round);
        assert_int_equal(rename(in("out"), in(moved)), 0);
    }
    tree_close(&t);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(every_kind_of_entry_comes_back),
        TEST(devices_and_owners_come_back),
        TEST(what_the_target_passes_on_is_dropped),
        TEST(times_that_are_clamped_are_named),
        TEST(a_user_without_privileges_restores_the_rest),
        TEST(hard_links_are_one_file),
        TEST(a_path_of_a_snapshot_is_restored_alone),
        TEST(many_small_files_come_back_with_few_descriptors),
        TEST(a_large_file_is_restored_over_several_batches),
        TEST(deep_paths_come_back),
        TEST(damaged_content_is_named_and_left_out),
        TEST(chunks_and_directories_that_are_missing_are_named),
        TEST(a_file_that_cannot_be_written_is_named),
        TEST(a_full_target_ends_the_restore),
        TEST(a_large_file_is_written_directly),
        TEST(direct_writes_that_are_refused_are_made_up_for),
        TEST(direct_writes_that_are_short_are_gone_on_with),
        TEST(direct_writes_that_end_within_a_block_are_made_up_for),
        TEST(a_direct_write_that_fails_is_named),
        TEST(a_cancelled_restore_leaves_whole_files),
        TEST(nothing_outside_the_target_is_touched),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
