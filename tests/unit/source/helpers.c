/* SPDX-License-Identifier: Apache-2.0 */
#include "helpers.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"

static char *make_dir(const char *otherwise)
{
    char path[512];
    const char *tmp = getenv("TMPDIR");
    (void)snprintf(path, sizeof(path), "%s/cairn-source-XXXXXX", tmp && *tmp ? tmp : otherwise);
    assert_non_null(mkdtemp(path));
    char *real = realpath(path, NULL);
    assert_non_null(real);
    return real;
}

char *helper_dir(void)
{
    return make_dir("/tmp");
}

char *helper_dir_in_memory(void)
{
    return make_dir(access("/dev/shm", W_OK | X_OK) == 0 ? "/dev/shm" : "/tmp");
}

/* Empties the directory open at fd, going down with one descriptor at a time. */
static void empty(int fd)
{
    unsigned depth = 0;
    for (;;) {
        DIR *dir = fdopendir(openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
        assert_non_null(dir);
        int down = -1;
        for (struct dirent *e; down < 0 && (e = readdir(dir)) != NULL;) {
            if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
                continue;
            if (unlinkat(fd, e->d_name, 0) == 0 || unlinkat(fd, e->d_name, AT_REMOVEDIR) == 0)
                continue;
            (void)fchmodat(fd, e->d_name, 0700, 0);
            down = openat(fd, e->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
            assert_true(down >= 0);
        }
        closedir(dir);
        if (down < 0 && depth-- == 0)
            break;
        int next = down;
        if (down >= 0)
            depth++;
        else
            next = openat(fd, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        assert_true(next >= 0);
        assert_int_equal(dup3(next, fd, O_CLOEXEC), fd);
        close(next);
    }
}

void helper_remove(char *path)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(fd >= 0);
    empty(fd);
    close(fd);
    assert_int_equal(rmdir(path), 0);
    free(path);
}

const char *helper_path(const char *dir, const char *name)
{
    static char buffers[4][1024];
    static unsigned next;
    char *out = buffers[next++ % 4];
    (void)snprintf(out, sizeof(buffers[0]), "%s/%s", dir, name);
    return out;
}

void helper_mkdir(const char *dir, const char *name)
{
    assert_int_equal(mkdir(helper_path(dir, name), 0755), 0);
}

void helper_file(const char *dir, const char *name, const char *content)
{
    int fd = open(helper_path(dir, name), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, content, strlen(content)), strlen(content));
    close(fd);
}

void helper_link(const char *dir, const char *name, const char *target)
{
    assert_int_equal(symlink(target, helper_path(dir, name)), 0);
}

size_t helper_open_files(void)
{
    size_t count = 0;
    DIR *dir = opendir("/proc/self/fd");
    assert_non_null(dir);
    while (readdir(dir))
        count++;
    closedir(dir);
    return count;
}

bool helper_unprivileged(int (*fn)(void *ctx), void *ctx)
{
    int status;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        if (geteuid() == 0 && (setgroups(0, NULL) || setgid(65534) || setuid(65534)))
            _exit(77);
        _exit(fn(ctx));
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77)
        return false;
    assert_int_equal(WEXITSTATUS(status), 0);
    return true;
}

static void put_line(struct helper_stream *stream, const char *head, const char *name,
                     const char *tail)
{
    char escaped[2048];
    cairn_escape(escaped, sizeof(escaped), name, strlen(name));
    cairn_buf_put(&stream->text, head, strlen(head));
    cairn_buf_put(&stream->text, escaped, strlen(escaped));
    cairn_buf_put(&stream->text, tail, strlen(tail));
    cairn_buf_put(&stream->text, "\n", 1);
}

static void on_problem(void *ctx, const char *path, size_t path_len, int os_errno,
                       const char *message)
{
    struct helper_stream *stream = ctx;
    char head[32];
    assert_int_equal(strlen(path), path_len);
    assert_true(strlen(message) > 0);
    assert_null(strchr(message, '\n'));
    stream->problems++;
    stream->last_errno = os_errno;
    (void)snprintf(stream->last_path, sizeof(stream->last_path), "%s", path);
    (void)snprintf(head, sizeof(head), "! %d ", os_errno);
    put_line(stream, head, strrchr(path, '/') + 1, "");
}

struct cairn_walk_options helper_options(const char *const *paths, size_t count, unsigned threads,
                                         struct helper_stream *stream)
{
    *stream = (struct helper_stream){0};
    return (struct cairn_walk_options){.paths = paths,
                                       .path_count = count,
                                       .threads = threads,
                                       .problem = on_problem,
                                       .ctx = stream};
}

void helper_walk(const struct cairn_walk_options *options, struct helper_stream *stream)
{
    struct cairn_walk *walk;
    struct cairn_walk_event event;
    struct cairn_error err;
    assert_int_equal(cairn_walk_new(options, &walk, &err), CAIRN_OK);
    static const char *const heads[] = {NULL, "> ", "- ", "< "};
    unsigned depth = 0;
    do {
        assert_int_equal(cairn_walk_next(walk, &event, &err), CAIRN_OK);
        if (event.kind == CAIRN_WALK_END)
            break;
        assert_int_equal(strlen(event.name), event.name_len);
        depth -= event.kind == CAIRN_WALK_LEAVE;
        assert_int_equal(event.depth, depth);
        depth += event.kind == CAIRN_WALK_ENTER;
        assert_int_equal(event.kind == CAIRN_WALK_ENTRY, !S_ISDIR(event.stat->mode));
        stream->entries++;
        put_line(stream, heads[event.kind], event.name,
                 event.incomplete ? " I"
                 : event.partial  ? " P"
                                  : "");
        if (stream->count_open && stream->entries % 101 == 0) {
            size_t open = helper_open_files();
            stream->most_open = open > stream->most_open ? open : stream->most_open;
        }
    } while (true);
    assert_int_equal(depth, 0);
    assert_int_equal(cairn_walk_next(walk, &event, &err), CAIRN_OK);
    assert_int_equal(event.kind, CAIRN_WALK_END);
    cairn_walk_free(walk);
    cairn_buf_put_u8(&stream->text, 0);
    assert_false(stream->text.failed);
}

void helper_stream_release(struct helper_stream *stream)
{
    cairn_buf_release(&stream->text);
}

const char *helper_inner(struct helper_stream *stream, const char *path)
{
    static char out[1 << 16];
    char line[512];
    const char *name = strrchr(path, '/') + 1;
    (void)snprintf(line, sizeof(line), "> %s", name);
    const char *begin = strstr((const char *)stream->text.data, line);
    assert_non_null(begin);
    begin = strchr(begin, '\n') + 1;
    (void)snprintf(line, sizeof(line), "< %s", name);
    const char *end = strstr(begin, line);
    assert_non_null(end);
    assert_true((size_t)(end - begin) < sizeof(out));
    memcpy(out, begin, (size_t)(end - begin));
    out[end - begin] = '\0';
    return out;
}
