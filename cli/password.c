/* SPDX-License-Identifier: Apache-2.0 */
#include "password.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "terminal.h"

extern char **environ;

const char *cli_environment(const char *name)
{
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

bool cli_password_is_named(const struct cli *cli)
{
    return cli->password_file || cli->password_command || cli_environment("CAIRN_PASSWORD") ||
           cli_environment("CAIRN_PASSWORD_FILE") || cli_environment("CAIRN_PASSWORD_COMMAND");
}

/* Takes the line end away and refuses what cannot be a password; from is escaped. */
static int accept(char *text, size_t n, size_t *len, const char *from, struct cairn_error *err)
{
    if (n > 0 && text[n - 1] == '\n')
        n--;
    if (n > 0 && text[n - 1] == '\r')
        n--;
    if (memchr(text, '\n', n))
        return cairn_error_set(err, CAIRN_MISUSE, 0,
                               "%s gives more than one line; a password is one line", from);
    if (n == 0)
        return cairn_error_set(err, CAIRN_MISUSE, 0,
                               "%s gives an empty password, which cairn does not take", from);
    *len = n;
    return CAIRN_OK;
}

/* Reads to the end. More than cap bytes are refused. */
static int read_all(int fd, char *out, size_t cap, size_t *n, const char *from,
                    struct cairn_error *err)
{
    size_t at = 0;
    for (;;) {
        char more;
        ssize_t got = at < cap ? read(fd, out + at, cap - at) : read(fd, &more, 1);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return cairn_error_set(err, CAIRN_IO, errno, "cannot read the password from %s", from);
        if (got == 0)
            break;
        if (at == cap)
            return cairn_error_set(err, CAIRN_LIMIT, 0,
                                   "%s gives more than the %zu bytes that a "
                                   "password may have",
                                   from, cap);
        at += (size_t)got;
    }
    *n = at;
    return CAIRN_OK;
}

static int from_file(const char *path, char *out, size_t cap, size_t *len, struct cairn_error *err)
{
    char shown[600];
    struct stat st;
    size_t n = 0;
    cairn_escape(shown, sizeof(shown), path, strlen(path));
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0)
        return cairn_error_set(err, CAIRN_MISUSE, errno, "cannot read the password file %s", shown);
    int status = CAIRN_OK;
    if (fstat(fd, &st) != 0)
        status = cairn_error_set(err, CAIRN_IO, errno, "cannot read the password file %s", shown);
    else if (st.st_mode & 077 && S_ISREG(st.st_mode))
        status =
            cairn_error_set(err, CAIRN_MISUSE, 0,
                            "others may read the password file %s: run chmod 600 on it", shown);
    if (status == CAIRN_OK)
        status = read_all(fd, out, cap, &n, shown, err);
    if (status == CAIRN_OK)
        status = accept(out, n, len, shown, err);
    (void)close(fd);
    return status;
}

/* Starts sh -c command with its output in a pipe; signals are what they were for us at first. */
static int start(const char *command, int *output, pid_t *pid)
{
    int ends[2], failed;
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t defaults;
    char shell[] = "sh", option[] = "-c";
    char *copy = strdup(command);
    if (copy == NULL)
        return ENOMEM;
    char *const argv[] = {shell, option, copy, NULL};
    if (pipe2(ends, O_CLOEXEC) != 0) {
        failed = errno;
        goto free_copy;
    }
    if ((failed = posix_spawn_file_actions_init(&actions)) != 0)
        goto close_ends;
    if ((failed = posix_spawnattr_init(&attributes)) != 0)
        goto destroy_actions;
    sigemptyset(&defaults);
    sigaddset(&defaults, SIGPIPE);
    failed = posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    if (failed == 0)
        failed = posix_spawnattr_setsigdefault(&attributes, &defaults);
    if (failed == 0)
        failed = posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
    if (failed == 0)
        failed = posix_spawn(pid, "/bin/sh", &actions, &attributes, argv, environ);
    (void)posix_spawnattr_destroy(&attributes);
destroy_actions:
    (void)posix_spawn_file_actions_destroy(&actions);
close_ends:
    (void)close(ends[1]);
    if (failed)
        (void)close(ends[0]);
    else
        *output = ends[0];
free_copy:
    free(copy);
    return failed;
}

static int from_command(const char *command, char *out, size_t cap, size_t *len,
                        struct cairn_error *err)
{
    int output = -1, ended = 0;
    pid_t pid = 0;
    size_t n = 0;
    int failed = start(command, &output, &pid);
    if (failed)
        return cairn_error_set(err, CAIRN_IO, failed, "cannot start the password command");
    int status = read_all(output, out, cap, &n, "the password command", err);
    (void)close(output);
    while (waitpid(pid, &ended, 0) < 0 && errno == EINTR)
        ;
    if (status != CAIRN_OK)
        return status;
    if (!WIFEXITED(ended) || WEXITSTATUS(ended) != 0)
        return cairn_error_set(err, CAIRN_MISUSE, 0,
                               "the password command failed (exit status %d); what it said stands "
                               "above",
                               WIFEXITED(ended) ? WEXITSTATUS(ended)
                                                : CLI_EXIT_SIGNAL + WTERMSIG(ended));
    return accept(out, n, len, "the password command", err);
}

static int from_environment(const char *value, char *out, size_t cap, size_t *len,
                            struct cairn_error *err)
{
    size_t n = strlen(value);
    if (n > cap)
        return cairn_error_set(err, CAIRN_LIMIT, 0, "CAIRN_PASSWORD has more than %zu bytes", cap);
    memcpy(out, value, n);
    *len = n;
    return CAIRN_OK;
}

static int from_terminal(struct cli_password *p, char *out, size_t cap, size_t *len)
{
    struct cairn_error *err = &p->error;
    char again[1024];
    size_t n = 0;
    p->from_terminal = true;
    int status = cli_terminal_ask(p->is_new ? "new password: " : "password: ", out, cap, len, err);
    if (status != CAIRN_OK)
        return status;
    if (*len == 0)
        return cairn_error_set(err, p->is_new ? CAIRN_MISUSE : CAIRN_AUTH, 0,
                               "no password was typed");
    if (!p->is_new)
        return CAIRN_OK;
    status = cli_terminal_ask("the same again: ", again, sizeof(again), &n, err);
    if (status == CAIRN_OK && (n != *len || memcmp(again, out, n) != 0))
        status =
            cairn_error_set(err, CAIRN_MISUSE, 0, "the two passwords differ; nothing was made");
    explicit_bzero(again, sizeof(again));
    return status;
}

int cli_password_get(void *ctx, char *out, size_t cap, size_t *len)
{
    struct cli_password *p = ctx;
    const char *value = NULL;
    struct cairn_error *err = &p->error;
    if (p->cli->password_file)
        return from_file(p->cli->password_file, out, cap, len, err);
    if (p->cli->password_command)
        return from_command(p->cli->password_command, out, cap, len, err);
    if ((value = cli_environment("CAIRN_PASSWORD")))
        return from_environment(value, out, cap, len, err);
    if ((value = cli_environment("CAIRN_PASSWORD_FILE")))
        return from_file(value, out, cap, len, err);
    if ((value = cli_environment("CAIRN_PASSWORD_COMMAND")))
        return from_command(value, out, cap, len, err);
    return from_terminal(p, out, cap, len);
}
