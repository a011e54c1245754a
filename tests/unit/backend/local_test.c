/* SPDX-License-Identifier: Apache-2.0
 *
 * local_test.c - what only a backend in a directory can do wrong.
 */
#include "helpers.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backend/local.h"
#include "base/alloc.h"
#include "base/io.h"

#define PACK_A "packs/aa/aa00000000000000000000000000000000000000000000000000000000000000"
#define PACK_B "packs/0b/0b00000000000000000000000000000000000000000000000000000000000000"
#define LEN ((size_t)3 * BLOCK)

struct fixture {
    char *dir;
    struct cairn_backend *backend;
    int open_files;
};

/* A repository with a config and nothing else, opened for writing. */
static int set_up(void **state)
{
    struct cairn_error error = {0};
    struct fixture *f = calloc(1, sizeof(*f));
    f->open_files = helper_open_files();
    f->dir = helper_dir("");
    assert_ok(cairn_local_backend_create(f->dir, &f->backend, &error));
    assert_ok(cairn_backend_put(f->backend, "config", "c", 1, CAIRN_LEVEL_NONE, &error));
    cairn_backend_close(f->backend);
    assert_ok(cairn_local_backend_open(f->dir, false, &f->backend, &error));
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    cairn_backend_close(f->backend);
    helper_remove(f->dir);
    int left = helper_open_files();
    int before = f->open_files;
    free(f);
    cairn_io_set(NULL);
    if (left != before)
        print_error("%d descriptors before, %d after\n", before, left);
    return left == before ? 0 : -1;
}

static mode_t mode_of(const char *dir, const char *name)
{
    struct stat st;
    assert_int_equal(lstat(helper_path(dir, name), &st), 0);
    return st.st_mode & 07777;
}

static void test_create(void **state)
{
    struct cairn_error error = {0};
    struct cairn_backend *b = NULL;
    char *dir = helper_dir("");
    char path[600];
    (void)state;
    (void)snprintf(path, sizeof(path), "%s/new", dir);
    assert_int_equal(cairn_local_backend_open(path, false, &b, &error), CAIRN_NO_REPOSITORY);
    assert_ok(cairn_local_backend_create(path, &b, &error));
    assert_int_equal(helper_entries(path), 5);
    assert_int_equal(helper_entries(helper_path(path, "packs")), 256);
    assert_int_equal(mode_of(path, ""), 0700);
    assert_int_equal(mode_of(path, "packs"), 0700);
    assert_int_equal(mode_of(path, "packs/7f"), 0700);
    assert_int_equal(mode_of(path, "tmp"), 0700);
    assert_ok(cairn_backend_put(b, "keys/1", "k", 1, CAIRN_LEVEL_FILE, &error));
    assert_int_equal(mode_of(path, "keys/1") & 077, 0);
    cairn_backend_close(b);
    b = NULL;
    assert_int_equal(helper_entries(helper_path(path, "tmp")), 0);
    assert_int_equal(cairn_local_backend_open(path, false, &b, &error), CAIRN_NO_REPOSITORY);
    assert_int_equal(cairn_local_backend_create(path, &b, &error), CAIRN_EXISTS);
    assert_int_equal(cairn_local_backend_create(helper_path(path, "keys/1"), &b, &error),
                     CAIRN_EXISTS);
    assert_int_equal(cairn_local_backend_create(helper_path(dir, "absent/new"), &b, &error),
                     CAIRN_IO);
    assert_int_equal(cairn_local_backend_open(helper_path(path, "keys/1"), true, &b, &error),
                     CAIRN_NO_REPOSITORY);
    assert_null(b);
    /* A file system's own directory does not make it full. */
    assert_int_equal(mkdir(helper_path(dir, "mount"), 0755), 0);
    assert_int_equal(mkdir(helper_path(dir, "mount/lost+found"), 0755), 0);
    assert_ok(cairn_local_backend_create(helper_path(dir, "mount"), &b, &error));
    assert_int_equal(helper_count(b, ""), 0);
    cairn_backend_close(b);
    helper_remove(dir);
}

static void test_read_only(void **state)
{
    struct fixture *f = *state;
    struct cairn_error error = {0};
    struct cairn_backend *b;
    struct cairn_upload *upload;
    bool found = false;
    int level = CAIRN_LEVEL_FILE;
    assert_ok(cairn_local_backend_open(f->dir, true, &b, &error));
    assert_int_equal(helper_holds(b, "log/0", 0, 0), 0);
    assert_int_equal(cairn_backend_put(b, "log/0", "x", 1, 0, NULL), CAIRN_MISUSE);
    assert_int_equal(cairn_backend_remove(b, "config", NULL), CAIRN_MISUSE);
    assert_int_equal(cairn_backend_upload_open(b, level, &upload, NULL), CAIRN_MISUSE);
    assert_int_equal(cairn_backend_publish(b, &level, NULL), CAIRN_MISUSE);
    assert_int_equal(cairn_backend_sync_object(b, "config", NULL), CAIRN_MISUSE);
    assert_int_equal(cairn_backend_adopt(b, NULL, NULL, &found, NULL), CAIRN_MISUSE);
    assert_int_equal(helper_count(b, ""), 1);
    assert_int_equal(helper_entries(helper_path(f->dir, "tmp")), 0);
    cairn_backend_close(b);
}

static void test_names_below_tmp(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(cairn_backend_put(f->backend, "tmp/x", "x", 1, 0, NULL), CAIRN_MISUSE);
    assert_int_equal(cairn_backend_put(f->backend, "tmp", "x", 1, 0, NULL), CAIRN_MISUSE);
    assert_int_equal(cairn_backend_remove(f->backend, "tmp/x", NULL), CAIRN_MISUSE);
    assert_int_equal(helper_upload(f->backend, CAIRN_LEVEL_NONE, "tmp/x", 1, LEN, BLOCK, NULL),
                     CAIRN_MISUSE);
    assert_int_equal(helper_count(f->backend, "tmp/"), 0);
}

/* Each process appends to the same log; the numbers each has won come back through a pipe. */
static void test_put_race_of_processes(void **state)
{
    enum { PROCESSES = 4, ENTRIES = 40 };
    struct fixture *f = *state;
    int fds[2], status;
    uint8_t won[ENTRIES] = {0}, got[2];
    assert_int_equal(pipe(fds), 0);
    for (uint8_t me = 0; me < PROCESSES; me++) {
        pid_t pid = fork();
        assert_true(pid >= 0);
        if (pid != 0)
            continue;
        struct cairn_backend *b;
        uint8_t content[100];
        memset(content, me + 1, sizeof(content));
        if (cairn_local_backend_open(f->dir, false, &b, NULL) != CAIRN_OK)
            _exit(1);
        for (uint8_t i = 0; i < ENTRIES; i++) {
            char name[32];
            (void)snprintf(name, sizeof(name), "log/%016x", i);
            int put = cairn_backend_put(b, name, content, sizeof(content), CAIRN_LEVEL_NONE, NULL);
            uint8_t told[2] = {i, (uint8_t)(me + 1)};
            if (put != CAIRN_OK && put != CAIRN_EXISTS)
                _exit(2);
            if (put == CAIRN_OK && write(fds[1], told, 2) != 2)
                _exit(3);
        }
        cairn_backend_close(b);
        _exit(0);
    }
    close(fds[1]);
    while (read(fds[0], got, 2) == 2) {
        assert_int_equal(won[got[0]], 0);
        won[got[0]] = got[1];
    }
    close(fds[0]);
    for (int i = 0; i < PROCESSES; i++) {
        assert_true(wait(&status) > 0);
        assert_int_equal(status, 0);
    }
    for (uint8_t i = 0; i < ENTRIES; i++) {
        char name[32];
        uint8_t content[100];
        (void)snprintf(name, sizeof(name), "log/%016x", i);
        assert_int_equal(cairn_backend_get_range(f->backend, name, 0, content, 100, NULL), 0);
        for (size_t k = 0; k < sizeof(content); k++)
            assert_int_equal(content[k], won[i]);
    }
    assert_int_equal(helper_entries(helper_path(f->dir, "tmp")), 0);
}

/* ---- what a crash leaves ---- */

struct adopter {
    struct cairn_backend *backend;
    unsigned offered, kept;
    int keep; /* how many to keep; -1: all that are known */
    int fail_with;
};

/* Knows the uploads of seeds 0 to 9, of LEN bytes, and gives each the name of its seed. */
static int known(void *ctx, const char *temp_name, uint64_t size, char *name, bool *keep,
                 struct cairn_error *err)
{
    struct adopter *adopter = ctx;
    uint8_t *bytes = cairn_alloc(size, 1);
    int status = cairn_backend_get_range(adopter->backend, temp_name, 0, bytes, size, err);
    adopter->offered++;
    for (unsigned seed = 0; status == CAIRN_OK && seed < 10; seed++) {
        uint8_t *want = helper_bytes(seed, LEN);
        if (size == LEN && memcmp(bytes, want, LEN) == 0 && adopter->keep != 0) {
            *keep = true;
            adopter->keep--;
            adopter->kept++;
            (void)snprintf(name, CAIRN_BACKEND_NAME_MAX + 1, "packs/%02x/%064x", seed, seed);
        }
        cairn_free(want);
    }
    cairn_free(bytes);
    return status != CAIRN_OK ? status : adopter->fail_with;
}

static int holds_seed(struct cairn_backend *backend, unsigned seed)
{
    char name[CAIRN_BACKEND_NAME_MAX + 1];
    (void)snprintf(name, sizeof(name), "packs/%02x/%064x", seed, seed);
    return helper_holds(backend, name, seed, LEN);
}

/* Runs fn in a process that dies without closing anything. */
static void die_after(struct fixture *f, void (*fn)(struct cairn_backend *))
{
    int status;
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        struct cairn_backend *b;
        if (cairn_local_backend_open(f->dir, false, &b, NULL) != CAIRN_OK)
            _exit(1);
        fn(b);
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

/* In the dying process: no assertion, which would go on with the other tests there. */
static void must(int status)
{
    if (status != CAIRN_OK)
        _exit(4);
}

static void leave_everything(struct cairn_backend *b)
{
    struct cairn_upload *upload;
    uint8_t *bytes = helper_bytes(3, LEN);
    cairn_local_backend_trust_syncfs(b, true);
    /* Finished, waiting for publish. */
    must(helper_upload(b, CAIRN_LEVEL_FILESYSTEM, "packs/01/1", 1, LEN, BLOCK, NULL));
    must(helper_upload(b, CAIRN_LEVEL_FILESYSTEM, "packs/02/2", 2, LEN, BLOCK, NULL));
    /* Complete but not finished. */
    must(cairn_backend_upload_open(b, CAIRN_LEVEL_FILE, &upload, NULL));
    must(cairn_backend_upload_submit(upload, bytes, LEN, bytes, NULL));
    must(cairn_backend_upload_reap(upload, (void *[]){NULL}, NULL));
    /* Cut off, at a block and inside one; empty. */
    must(cairn_backend_upload_open(b, CAIRN_LEVEL_FILE, &upload, NULL));
    must(cairn_backend_upload_submit(upload, bytes, 2 * BLOCK, bytes, NULL));
    must(cairn_backend_upload_reap(upload, (void *[]){NULL}, NULL));
    must(cairn_backend_upload_open(b, CAIRN_LEVEL_FILE, &upload, NULL));
    must(cairn_backend_upload_submit(upload, bytes, 100, bytes, NULL));
    must(cairn_backend_upload_reap(upload, (void *[]){NULL}, NULL));
    must(cairn_backend_upload_open(b, CAIRN_LEVEL_FILE, &upload, NULL));
    cairn_free(bytes);
}

/* Only a file that put has written and not renamed cannot be left by calls alone. */
static void plant(const char *dir, const char *session, const char *name, const void *data,
                  size_t len)
{
    char path[600];
    (void)snprintf(path, sizeof(path), "%s/tmp/%s", dir, session);
    (void)mkdir(path, 0700);
    if (name == NULL)
        return;
    (void)snprintf(path, sizeof(path), "%s/tmp/%s/%s", dir, session, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, data, len), len);
    close(fd);
}

static void test_adopt_what_a_crash_left(void **state)
{
    struct fixture *f = *state;
    struct cairn_error error = {0};
    struct adopter adopter = {.backend = f->backend, .keep = -1};
    bool found = false;
    uint8_t *bytes = helper_bytes(4, LEN);
    die_after(f, leave_everything);
    plant(f->dir, "00000000000000aa", NULL, "", 0);      /* died before it made its lock */
    plant(f->dir, "00000000000000bb", "lock", "", 0);    /* died after that */
    plant(f->dir, "00000000000000cc", "p1", bytes, LEN); /* died in a put */
    plant(f->dir, "00000000000000cc", "u1", bytes, LEN); /* the lock's name was never durable */
    plant(f->dir, "00000000000000cc", "odd\xff", bytes, LEN); /* nobody's */
    assert_int_equal(mkdir(helper_path(f->dir, "tmp/somebodys"), 0700), 0);
    assert_ok(cairn_backend_adopt(f->backend, known, &adopter, &found, &error));
    assert_true(found);
    assert_int_equal(adopter.offered, 5); /* seeds 1, 2, 3, two blocks of 3, 4 */
    assert_int_equal(adopter.kept, 4);
    for (unsigned seed = 1; seed <= 4; seed++)
        assert_int_equal(holds_seed(f->backend, seed), 1);
    assert_int_equal(helper_count(f->backend, "packs/"), 4);
    /* That and, until a commit, the adopter's own. */
    assert_int_equal(helper_entries(helper_path(f->dir, "tmp")), 2);
    helper_commit(f->backend);
    found = false;
    assert_ok(cairn_backend_adopt(f->backend, known, &adopter, &found, &error));
    assert_false(found);
    assert_int_equal(adopter.offered, 5);
    cairn_free(bytes);
}

static void test_adopt_nothing(void **state)
{
    struct fixture *f = *state;
    struct cairn_error error = {0};
    struct adopter adopter = {.backend = f->backend, .keep = 0};
    bool found = false;
    die_after(f, leave_everything);
    assert_ok(cairn_backend_adopt(f->backend, known, &adopter, &found, &error));
    assert_true(found);
    assert_int_equal(helper_count(f->backend, "packs/"), 0);
    assert_int_equal(helper_entries(helper_path(f->dir, "tmp")), 1); /* the adopter's own */
    helper_commit(f->backend);
    cairn_backend_close(f->backend);
    assert_int_equal(helper_entries(helper_path(f->dir, "tmp")), 0);
    assert_ok(cairn_local_backend_open(f->dir, false, &f->backend, &error));
}

static void test_adopt_that_fails_loses_nothing(void **state)
{
    struct fixture *f = *state;
    struct cairn_error error = {0};
    struct adopter adopter = {.backend = f->backend, .keep = -1, .fail_with = CAIRN_CANCELLED};
    bool found = false;
    die_after(f, leave_everything);
    assert_int_equal(cairn_backend_adopt(f->backend, known, &adopter, &found, &error),
                     CAIRN_CANCELLED);
    assert_false(found);
    assert_int_equal(adopter.offered, 1);
    assert_int_equal(helper_count(f->backend, "packs/"), 0);
    adopter.fail_with = 0;
    assert_ok(cairn_backend_adopt(f->backend, known, &adopter, &found, &error));
    for (unsigned seed = 1; seed <= 3; seed++)
        assert_int_equal(holds_seed(f->backend, seed), 1);
}

/* The name is taken already, by the same content: the leftover goes, the object stays. */
static void test_adopt_an_existing_name(void **state)
{
    struct fixture *f = *state;
    struct cairn_error error = {0};
    struct adopter adopter = {.backend = f->backend, .keep = -1};
    bool found = false;
    char name[CAIRN_BACKEND_NAME_MAX + 1];
    uint8_t *bytes = helper_bytes(5, LEN);
    (void)snprintf(name, sizeof(name), "packs/05/%064x", 5);
    assert_ok(helper_upload(f->backend, CAIRN_LEVEL_NONE, name, 5, LEN, BLOCK, &error));
    plant(f->dir, "00000000000000cc", "u1", bytes, LEN);
    assert_ok(cairn_backend_adopt(f->backend, known, &adopter, &found, &error));
    assert_int_equal(adopter.kept, 1);
    assert_int_equal(holds_seed(f->backend, 5), 1);
    assert_int_equal(access(helper_path(f->dir, "tmp/00000000000000cc"), F_OK), -1);
    cairn_free(bytes);
}

static void test_a_living_session_is_left_alone(void **state)
{
    struct fixture *f = *state;
    struct cairn_error error = {0};
    struct cairn_backend *other;
    struct adopter adopter;
    bool found = false;
    int level = CAIRN_LEVEL_FILESYSTEM;
    char name[CAIRN_BACKEND_NAME_MAX + 1];
    (void)snprintf(name, sizeof(name), "packs/06/%064x", 6);
    assert_ok(cairn_local_backend_open(f->dir, false, &other, &error));
    adopter = (struct adopter){.backend = other, .keep = -1};
    cairn_local_backend_trust_syncfs(f->backend, true);
    assert_ok(helper_upload(f->backend, level, name, 6, LEN, BLOCK, &error));
    assert_ok(cairn_backend_adopt(other, known, &adopter, &found, &error));
    assert_false(found);
    assert_int_equal(adopter.offered, 0);
    assert_ok(cairn_backend_adopt(f->backend, known, &adopter, &found, &error));
    assert_int_equal(adopter.offered, 0); /* nor its own */
    assert_ok(cairn_backend_publish(f->backend, &level, &error));
    assert_int_equal(holds_seed(other, 6), 1);
    cairn_backend_close(other);
}

/* A handle that is closed after an upload that no log entry followed leaves it to the next. */
static void test_uncommitted_uploads_stay(void **state)
{
    static const int levels[] = {CAIRN_LEVEL_NONE, CAIRN_LEVEL_FILE, CAIRN_LEVEL_FILESYSTEM};
    struct fixture *f = *state;
    struct cairn_error error = {0};
    char name[CAIRN_BACKEND_NAME_MAX + 1];
    for (unsigned i = 0; i < 3; i++) {
        struct cairn_backend *b;
        struct adopter adopter = {.backend = f->backend, .keep = -1};
        bool found = false;
        int level = levels[i];
        (void)snprintf(name, sizeof(name), "packs/%02x/%064x", i, i);
        assert_ok(cairn_local_backend_open(f->dir, false, &b, &error));
        cairn_local_backend_trust_syncfs(b, true);
        assert_ok(helper_upload(b, level, name, i, LEN, BLOCK, &error));
        cairn_backend_close(b);
        assert_ok(cairn_backend_adopt(f->backend, known, &adopter, &found, &error));
        assert_true(found);
        assert_int_equal(holds_seed(f->backend, i), 1);
        /* The adopter has not committed what it took over. */
        found = false;
        assert_ok(cairn_backend_adopt(f->backend, known, &adopter, &found, &error));
        assert_true(found);
        helper_commit(f->backend);
        /* Published, but not committed; then committed too: nothing is left to be told. */
        for (unsigned commit = 0; commit < 2; commit++) {
            assert_ok(cairn_local_backend_open(f->dir, false, &b, &error));
            assert_ok(helper_upload(b, level, "packs/99/9", 9, LEN, BLOCK, &error));
            assert_ok(cairn_backend_publish(b, &level, &error));
            if (commit)
                helper_commit(b);
            cairn_backend_close(b);
            found = false;
            assert_ok(cairn_backend_adopt(f->backend, known, &adopter, &found, &error));
            assert_int_equal(found, !commit);
            helper_commit(f->backend);
        }
    }
    assert_int_equal(helper_entries(helper_path(f->dir, "tmp")), 1); /* this handle's own */
}

struct adopting_thread {
    struct cairn_backend *backend;
    int status, offered;
};

static int keep_by_size(void *ctx, const char *temp_name, uint64_t size, char *name, bool *keep,
                        struct cairn_error *err)
{
    struct adopting_thread *thread = ctx;
    (void)temp_name;
    (void)err;
    thread->offered++;
    *keep = true;
    (void)snprintf(name, CAIRN_BACKEND_NAME_MAX + 1, "packs/00/%" PRIx64, size);
    return CAIRN_OK;
}

static void *adopt_in_thread(void *ctx)
{
    struct adopting_thread *thread = ctx;
    bool found;
    thread->status = cairn_backend_adopt(thread->backend, keep_by_size, thread, &found, NULL);
    return NULL;
}

static void test_two_adopters(void **state)
{
    enum { ROUNDS = 10, FILES = 12 };
    struct fixture *f = *state;
    struct adopting_thread threads[2];
    pthread_t ids[2];
    struct cairn_error error = {0};
    uint8_t *bytes = helper_bytes(1, FILES * BLOCK);
    for (int i = 0; i < 2; i++)
        assert_ok(cairn_local_backend_open(f->dir, false, &threads[i].backend, &error));
    for (int round = 0; round < ROUNDS; round++) {
        for (unsigned i = 1; i <= FILES; i++) {
            char session[20], name[16];
            (void)snprintf(session, sizeof(session), "%016x", i % 3);
            (void)snprintf(name, sizeof(name), "u%u", i);
            plant(f->dir, session, name, bytes, i * BLOCK);
        }
        for (int i = 0; i < 2; i++) {
            threads[i].offered = 0;
            assert_int_equal(pthread_create(&ids[i], NULL, adopt_in_thread, &threads[i]), 0);
        }
        for (int i = 0; i < 2; i++) {
            pthread_join(ids[i], NULL);
            assert_int_equal(threads[i].status, CAIRN_OK);
        }
        assert_int_equal(threads[0].offered + threads[1].offered, FILES);
        for (unsigned i = 1; i <= FILES; i++) {
            char name[40];
            (void)snprintf(name, sizeof(name), "packs/00/%x", i * BLOCK);
            assert_int_equal(helper_holds(f->backend, name, 1, (size_t)i * BLOCK), 1);
            assert_ok(cairn_backend_remove(f->backend, name, &error));
        }
        assert_true(helper_entries(helper_path(f->dir, "tmp")) <= 2); /* the adopters' own */
    }
    for (int i = 0; i < 2; i++) {
        helper_commit(threads[i].backend);
        cairn_backend_close(threads[i].backend);
    }
    assert_int_equal(helper_entries(helper_path(f->dir, "tmp")), 0);
    cairn_free(bytes);
}

/* Sessions begin while others clean up all that looks dead. */
static void *begin_sessions(void *ctx)
{
    struct adopting_thread *thread = ctx;
    const char *dir = (const char *)thread->backend;
    for (unsigned i = 0; i < 60 && thread->status == CAIRN_OK; i++) {
        struct cairn_backend *b;
        char name[32];
        (void)snprintf(name, sizeof(name), "keys/%d-%u", thread->offered, i);
        thread->status = cairn_local_backend_open(dir, false, &b, NULL);
        if (thread->status != CAIRN_OK)
            break;
        thread->status = cairn_backend_put(b, name, name, sizeof(name), CAIRN_LEVEL_NONE, NULL);
        cairn_backend_close(b);
    }
    return NULL;
}

static void test_sessions_begin_beside_adopters(void **state)
{
    struct fixture *f = *state;
    struct adopting_thread threads[2];
    struct adopter adopter = {.backend = f->backend, .keep = -1};
    struct cairn_error error = {0};
    pthread_t ids[2];
    bool found;
    for (int i = 0; i < 2; i++) {
        threads[i] =
            (struct adopting_thread){.backend = (struct cairn_backend *)f->dir, .offered = i};
        assert_int_equal(pthread_create(&ids[i], NULL, begin_sessions, &threads[i]), 0);
    }
    for (int i = 0; i < 400; i++)
        assert_ok(cairn_backend_adopt(f->backend, known, &adopter, &found, &error));
    for (int i = 0; i < 2; i++) {
        pthread_join(ids[i], NULL);
        assert_int_equal(threads[i].status, CAIRN_OK);
    }
    assert_int_equal(helper_count(f->backend, "keys/"), 120);
}

static struct cairn_io_ops vanishing;

/* Between an adopter's opening of a lock and its taking it, the owner closes for good. */
static int lock_vanishes(int dir, const char *name, int flags, mode_t mode)
{
    int fd = cairn_io_system()->openat(dir, name, flags, mode);
    if (strcmp(name, "lock") == 0)
        (void)unlinkat(dir, name, 0);
    return fd;
}

static void test_a_lock_without_name_is_no_lock(void **state)
{
    struct fixture *f = *state;
    struct cairn_error error = {0};
    struct adopter adopter = {.backend = f->backend, .keep = -1};
    uint8_t *bytes = helper_bytes(1, LEN);
    bool found = false;
    plant(f->dir, "00000000000000cc", "lock", "", 0);
    plant(f->dir, "00000000000000cc", "u1", bytes, LEN);
    vanishing = *cairn_io_system();
    vanishing.openat = lock_vanishes;
    cairn_io_set(&vanishing);
    assert_ok(cairn_backend_adopt(f->backend, known, &adopter, &found, &error));
    cairn_io_set(NULL);
    assert_false(found);
    assert_int_equal(adopter.offered, 0);
    assert_ok(cairn_backend_adopt(f->backend, known, &adopter, &found, &error));
    assert_true(found);
    assert_int_equal(holds_seed(f->backend, 1), 1);
    cairn_free(bytes);
}

/* ---- an upload that somebody else has taken ---- */

/* The path of the only file of that kind in the only session. */
static void find_temp(const char *dir, char kind, char out[600])
{
    char command[700];
    (void)snprintf(command, sizeof(command), "ls %s/tmp/*/%c*", dir, kind);
    FILE *said = popen(command, "r");
    assert_non_null(said);
    assert_non_null(fgets(out, 600, said));
    pclose(said);
    out[strcspn(out, "\n")] = '\0';
}

static void test_wrongly_adopted(void **state)
{
    struct fixture *f = *state;
    struct cairn_error error = {0};
    int level = CAIRN_LEVEL_FILESYSTEM;
    char temp[600];
    cairn_local_backend_trust_syncfs(f->backend, true);
    assert_ok(helper_upload(f->backend, level, PACK_A, 1, LEN, BLOCK, &error));
    find_temp(f->dir, 'u', temp);
    assert_int_equal(rename(temp, helper_path(f->dir, PACK_A)), 0);
    assert_ok(cairn_backend_publish(f->backend, &level, &error));
    assert_int_equal(helper_holds(f->backend, PACK_A, 1, LEN), 1);
    /* Removed: publish cannot succeed. */
    assert_ok(helper_upload(f->backend, level, PACK_B, 2, LEN, BLOCK, &error));
    find_temp(f->dir, 'u', temp);
    assert_int_equal(unlink(temp), 0);
    assert_int_equal(cairn_backend_publish(f->backend, &level, &error), CAIRN_IO);
    assert_int_equal(cairn_backend_publish(f->backend, &level, &error), CAIRN_IO);
    assert_int_equal(helper_holds(f->backend, PACK_B, 2, LEN), 0);
}

/* An object of that name, but not the same: never taken for ours. */
static void test_existing_of_another_size(void **state)
{
    static const int levels[] = {CAIRN_LEVEL_NONE, CAIRN_LEVEL_FILE, CAIRN_LEVEL_FILESYSTEM};
    struct fixture *f = *state;
    struct cairn_error error = {0};
    assert_ok(cairn_backend_put(f->backend, PACK_A, "torn", 4, CAIRN_LEVEL_NONE, &error));
    for (unsigned i = 0; i < 3; i++) {
        struct cairn_backend *b;
        int level = levels[i];
        assert_ok(cairn_local_backend_open(f->dir, false, &b, &error));
        cairn_local_backend_trust_syncfs(b, true);
        int status = helper_upload(b, level, PACK_A, 1, LEN, BLOCK, &error);
        if (status == CAIRN_OK)
            status = cairn_backend_publish(b, &level, &error);
        assert_int_equal(status, CAIRN_CORRUPT);
        cairn_backend_close(b);
    }
}

/* ---- the directory itself ---- */

static void test_no_link_is_followed(void **state)
{
    struct fixture *f = *state;
    struct cairn_error error = {0};
    struct cairn_buf buf = CAIRN_BUF_INIT;
    char *elsewhere = helper_dir("");
    uint64_t size;
    assert_int_equal(rmdir(helper_path(f->dir, "packs/aa")), 0);
    assert_int_equal(symlink(elsewhere, helper_path(f->dir, "packs/aa")), 0);
    assert_int_equal(symlink("/etc/passwd", helper_path(f->dir, "keys/link")), 0);
    assert_int_equal(mkfifo(helper_path(f->dir, "keys/pipe"), 0600), 0);
    assert_int_equal(cairn_backend_put(f->backend, PACK_A, "x", 1, CAIRN_LEVEL_NONE, &error),
                     CAIRN_IO);
    assert_int_equal(helper_upload(f->backend, CAIRN_LEVEL_NONE, PACK_A, 1, LEN, BLOCK, &error),
                     CAIRN_IO);
    assert_int_equal(cairn_backend_get(f->backend, PACK_A, 99, &buf, &error), CAIRN_IO);
    assert_int_equal(cairn_backend_remove(f->backend, PACK_A, &error), CAIRN_IO);
    assert_int_equal(cairn_backend_get(f->backend, "keys/link", 9999, &buf, &error), CAIRN_IO);
    assert_int_equal(cairn_backend_size(f->backend, "keys/pipe", &size, &error), CAIRN_IO);
    assert_int_equal(cairn_backend_put(f->backend, "keys/link", "x", 1, 0, NULL), CAIRN_EXISTS);
    assert_int_equal(helper_count(f->backend, ""), 1);
    assert_int_equal(helper_entries(elsewhere), 0);
    cairn_buf_release(&buf);
    helper_remove(elsewhere);
}

static int count_any(void *ctx, const char *name, uint64_t size)
{
    (void)name;
    (void)size;
    ++*(int *)ctx;
    return 0;
}

static void test_a_missing_directory_is_no_empty_list(void **state)
{
    struct fixture *f = *state;
    struct cairn_error error = {0};
    struct cairn_buf buf = CAIRN_BUF_INIT;
    int count = 0;
    assert_int_equal(rmdir(helper_path(f->dir, "log")), 0);
    assert_int_equal(cairn_backend_list(f->backend, "log/", count_any, &count, &error), CAIRN_IO);
    assert_int_equal(error.status, CAIRN_IO);
    assert_non_null(strstr(error.message, f->dir));
    assert_int_equal(cairn_backend_list(f->backend, "", count_any, &count, &error), CAIRN_IO);
    assert_int_equal(cairn_backend_get(f->backend, "log/0", 9, &buf, &error), CAIRN_IO);
    assert_int_equal(cairn_backend_put(f->backend, "log/0", "x", 1, 0, &error), CAIRN_IO);
    /* One of the many comes back when it is needed. */
    assert_int_equal(rmdir(helper_path(f->dir, "packs/aa")), 0);
    assert_int_equal(cairn_backend_list(f->backend, "packs/aa/", count_any, &count, &error),
                     CAIRN_IO);
    assert_int_equal(cairn_backend_get(f->backend, PACK_A, 9, &buf, &error), CAIRN_NOT_FOUND);
    assert_ok(helper_upload(f->backend, CAIRN_LEVEL_NONE, PACK_A, 1, LEN, BLOCK, &error));
    assert_int_equal(helper_holds(f->backend, PACK_A, 1, LEN), 1);
    /* So does tmp. */
    cairn_backend_close(f->backend);
    assert_ok(cairn_local_backend_open(f->dir, false, &f->backend, &error));
    char command[600];
    (void)snprintf(command, sizeof(command), "rm -r %s/tmp", f->dir);
    assert_int_equal(system(command), 0);
    bool found = true;
    assert_ok(cairn_backend_adopt(f->backend, known, NULL, &found, &error));
    assert_false(found);
    assert_ok(cairn_backend_put(f->backend, "keys/1", "x", 1, CAIRN_LEVEL_FILE, &error));
    cairn_buf_release(&buf);
}

static void test_foreign_files_are_not_listed(void **state)
{
    struct fixture *f = *state;
    struct cairn_error error = {0};
    static const char *const names[] = {"log/.hidden", "log/UPPER", "packs/aa/sub", "README",
                                        "packs/aa/a b"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        assert_int_equal(mkdir(helper_path(f->dir, names[i]), 0700), 0);
    assert_int_equal(helper_count(f->backend, ""), 1);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        assert_int_equal(rmdir(helper_path(f->dir, names[i])), 0);
        int fd = open(helper_path(f->dir, names[i]), O_WRONLY | O_CREAT, 0600);
        assert_true(fd >= 0);
        close(fd);
    }
    assert_int_equal(helper_count(f->backend, ""), 2); /* packs/aa/sub could be an object's */
    assert_ok(cairn_backend_put(f->backend, "log/0", "x", 1, CAIRN_LEVEL_NONE, &error));
    assert_int_equal(helper_count(f->backend, "log/"), 1);
}

/* More objects than descriptors are kept, read in turns by several threads. */
static void *read_ranges(void *ctx)
{
    struct adopting_thread *thread = ctx;
    for (unsigned i = 0; i < 400; i++) {
        unsigned seed = (i * 7 + (unsigned)thread->offered * 5) % 40;
        char name[CAIRN_BACKEND_NAME_MAX + 1];
        uint32_t got = 0;
        (void)snprintf(name, sizeof(name), "packs/00/%u", seed);
        thread->status |=
            cairn_backend_get_range(thread->backend, name, 4 * (i % 16), &got, 4, NULL);
        thread->status |= got != seed;
    }
    return NULL;
}

static void test_many_ranges(void **state)
{
    struct fixture *f = *state;
    struct cairn_error error = {0};
    struct adopting_thread threads[4];
    pthread_t ids[4];
    char name[CAIRN_BACKEND_NAME_MAX + 1];
    uint32_t content[16];
    for (unsigned i = 0; i < 40; i++) {
        for (unsigned k = 0; k < 16; k++)
            content[k] = i;
        (void)snprintf(name, sizeof(name), "packs/00/%u", i);
        assert_ok(cairn_backend_put(f->backend, name, content, sizeof(content), CAIRN_LEVEL_NONE,
                                    &error));
    }
    int before = helper_open_files();
    for (int i = 0; i < 4; i++) {
        threads[i] = (struct adopting_thread){.backend = f->backend, .offered = i};
        assert_int_equal(pthread_create(&ids[i], NULL, read_ranges, &threads[i]), 0);
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(ids[i], NULL);
        assert_int_equal(threads[i].status, 0);
    }
    int kept = helper_open_files() - before;
    assert_in_range(kept, 1, 16);
    for (unsigned i = 0; i < 40; i++) {
        (void)snprintf(name, sizeof(name), "packs/00/%u", i);
        assert_ok(cairn_backend_remove(f->backend, name, &error));
        assert_int_equal(cairn_backend_get_range(f->backend, name, 0, content, 4, &error),
                         CAIRN_NOT_FOUND);
    }
    assert_int_equal(helper_open_files(), before);
}

/* ---- a file system that refuses ---- */

static struct cairn_io_ops refusing;

static int refuse_direct(int dir, const char *name, int flags, mode_t mode)
{
    if (flags & O_DIRECT) {
        /* As some kernels do: the file is there, the descriptor is not. */
        int fd = cairn_io_system()->openat(dir, name, flags & ~O_DIRECT, mode);
        if (fd >= 0)
            close(fd);
        errno = EINVAL;
        return -1;
    }
    return cairn_io_system()->openat(dir, name, flags, mode);
}

static void test_direct_refused(void **state)
{
    struct fixture *f = *state;
    struct cairn_error error = {0};
    refusing = *cairn_io_system();
    refusing.openat = refuse_direct;
    cairn_io_set(&refusing);
    assert_ok(helper_upload(f->backend, CAIRN_LEVEL_NONE, PACK_A, 1, LEN + 77, BLOCK, &error));
    assert_int_equal(helper_holds(f->backend, PACK_A, 1, LEN + 77), 1);
}

/* A device that wants more than 4096. */
static ssize_t refuse_small_direct(int fd, const void *buf, size_t len, off_t at)
{
    if ((fcntl(fd, F_GETFL) & O_DIRECT) && (len % 65536 != 0 || at % 65536 != 0)) {
        errno = EINVAL;
        return -1;
    }
    return cairn_io_system()->pwrite(fd, buf, len, at);
}

static void test_direct_write_refused(void **state)
{
    struct fixture *f = *state;
    struct cairn_error error = {0};
    refusing = *cairn_io_system();
    refusing.pwrite = refuse_small_direct;
    cairn_io_set(&refusing);
    assert_ok(helper_upload(f->backend, CAIRN_LEVEL_NONE, PACK_A, 1, LEN, BLOCK, &error));
    assert_int_equal(helper_holds(f->backend, PACK_A, 1, LEN), 1);
}

static int refuse_rename(int from_dir, const char *from, int to_dir, const char *to, unsigned flags)
{
    (void)from_dir;
    (void)from;
    (void)to_dir;
    (void)to;
    assert_true(flags != 0);
    errno = EINVAL;
    return -1;
}

static void test_rename_without_replacing_refused(void **state)
{
    struct fixture *f = *state;
    struct cairn_error error = {0};
    int level = CAIRN_LEVEL_FILESYSTEM;
    refusing = *cairn_io_system();
    refusing.renameat2 = refuse_rename;
    cairn_io_set(&refusing);
    assert_ok(cairn_backend_put(f->backend, "log/0", "first", 5, CAIRN_LEVEL_FILE, &error));
    assert_int_equal(cairn_backend_put(f->backend, "log/0", "second", 6, CAIRN_LEVEL_FILE, &error),
                     CAIRN_EXISTS);
    assert_ok(helper_upload(f->backend, level, PACK_A, 1, LEN, BLOCK, &error));
    assert_ok(helper_upload(f->backend, CAIRN_LEVEL_NONE, PACK_B, 1, LEN, BLOCK, &error));
    assert_ok(helper_upload(f->backend, CAIRN_LEVEL_NONE, PACK_B, 1, LEN, BLOCK, &error));
    assert_ok(cairn_backend_publish(f->backend, &level, &error));
    assert_int_equal(helper_holds(f->backend, PACK_A, 1, LEN), 1);
    assert_int_equal(helper_holds(f->backend, PACK_B, 1, LEN), 1);
    struct stat st;
    assert_int_equal(stat(helper_path(f->dir, PACK_A), &st), 0);
    assert_int_equal(st.st_nlink, 1);
    helper_commit(f->backend);
    cairn_backend_close(f->backend);
    assert_int_equal(helper_entries(helper_path(f->dir, "tmp")), 0);
    assert_ok(cairn_local_backend_open(f->dir, false, &f->backend, &error));
}

/* The rename happens, but the answer is lost and asked for again (FUSE, NFS). */
static int rename_then_interrupt(int from_dir, const char *from, int to_dir, const char *to,
                                 unsigned flags)
{
    static bool done;
    int status = cairn_io_system()->renameat2(from_dir, from, to_dir, to, flags);
    if (status == 0 && !done) {
        done = true;
        errno = EINTR;
        return -1;
    }
    done = false;
    return status;
}

static void test_rename_with_a_lost_answer(void **state)
{
    struct fixture *f = *state;
    struct cairn_error error = {0};
    refusing = *cairn_io_system();
    refusing.renameat2 = rename_then_interrupt;
    cairn_io_set(&refusing);
    assert_ok(cairn_backend_put(f->backend, "log/0", "first", 5, CAIRN_LEVEL_FILE, &error));
    assert_ok(helper_upload(f->backend, CAIRN_LEVEL_NONE, PACK_A, 1, LEN, BLOCK, &error));
    assert_int_equal(helper_holds(f->backend, PACK_A, 1, LEN), 1);
}

static int full(int dir, const char *name, int flags, mode_t mode)
{
    if (flags & O_CREAT) {
        errno = ENOSPC;
        return -1;
    }
    return cairn_io_system()->openat(dir, name, flags, mode);
}

/* On a full disk things can be removed, and the message says what helps. */
static void test_full_disk(void **state)
{
    struct fixture *f = *state;
    struct cairn_error error = {0};
    assert_ok(helper_upload(f->backend, CAIRN_LEVEL_NONE, PACK_A, 1, LEN, BLOCK, &error));
    refusing = *cairn_io_system();
    refusing.openat = full;
    cairn_io_set(&refusing);
    assert_int_equal(cairn_backend_put(f->backend, "log/0", "x", 1, CAIRN_LEVEL_FILE, &error),
                     CAIRN_NO_SPACE);
    assert_int_equal(error.os_errno, ENOSPC);
    assert_non_null(strstr(error.message, f->dir));
    assert_non_null(strstr(error.message, "No space left on device; free some space"));
    assert_ok(cairn_backend_remove(f->backend, PACK_A, &error));
}

/* Writes that fail or end early beneath io_uring: the limit of a file's size does both. */
static void test_write_that_fails_under_way(void **state)
{
    struct fixture *f = *state;
    struct cairn_error error = {0};
    struct rlimit old, tight = {.rlim_cur = 6 * BLOCK};
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    tight.rlim_max = old.rlim_max;
    (void)signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &tight), 0);
    int status = helper_upload(f->backend, CAIRN_LEVEL_NONE, PACK_A, 1, (size_t)8 * BLOCK,
                               (size_t)4 * BLOCK, &error);
    int small = helper_upload(f->backend, CAIRN_LEVEL_NONE, PACK_B, 1, LEN, BLOCK, &error);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    assert_int_equal(status, CAIRN_IO);
    assert_int_equal(error.os_errno, EFBIG);
    assert_int_equal(small, CAIRN_OK);
    assert_int_equal(helper_holds(f->backend, PACK_A, 1, LEN), 0);
    assert_int_equal(helper_holds(f->backend, PACK_B, 1, LEN), 1);
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_create),
        TEST(test_read_only),
        TEST(test_names_below_tmp),
        TEST(test_put_race_of_processes),
        TEST(test_adopt_what_a_crash_left),
        TEST(test_adopt_nothing),
        TEST(test_adopt_that_fails_loses_nothing),
        TEST(test_adopt_an_existing_name),
        TEST(test_a_living_session_is_left_alone),
        TEST(test_uncommitted_uploads_stay),
        TEST(test_two_adopters),
        TEST(test_sessions_begin_beside_adopters),
        TEST(test_a_lock_without_name_is_no_lock),
        TEST(test_wrongly_adopted),
        TEST(test_existing_of_another_size),
        TEST(test_no_link_is_followed),
        TEST(test_a_missing_directory_is_no_empty_list),
        TEST(test_foreign_files_are_not_listed),
        TEST(test_many_ranges),
        TEST(test_direct_refused),
        TEST(test_direct_write_refused),
        TEST(test_rename_without_replacing_refused),
        TEST(test_rename_with_a_lost_answer),
        TEST(test_full_disk),
        TEST(test_write_that_fails_under_way),
    };
    return cmocka_run_group_tests_name("local", tests, NULL, NULL);
}
