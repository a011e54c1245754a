/* SPDX-License-Identifier: Apache-2.0 */
#include "terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "base/error.h"
#include "cli.h"

/* Waits for input. The signals are blocked but for the wait itself, so that one that comes just
 * before it is not missed. */
static int wait_for_input(int fd, struct cairn_error *err)
{
    sigset_t stops, before;
    struct pollfd poll_fd = {.fd = fd, .events = POLLIN};
    int ready = 0;
    sigemptyset(&stops);
    sigaddset(&stops, SIGINT);
    sigaddset(&stops, SIGTERM);
    (void)pthread_sigmask(SIG_BLOCK, &stops, &before);
    while (!cli_signals_caught() && ready <= 0) {
        ready = ppoll(&poll_fd, 1, NULL, &before);
        if (ready < 0 && errno != EINTR)
            break;
    }
    int saved = errno;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (cli_signals_caught())
        return cairn_error_set(err, CAIRN_CANCELLED, 0, "interrupted while asking for a password");
    if (ready < 0)
        return cairn_error_set(err, CAIRN_IO, saved, "cannot read from the terminal");
    return CAIRN_OK;
}

static int read_line(int fd, char *out, size_t cap, size_t *len, struct cairn_error *err)
{
    size_t n = 0;
    for (;;) {
        char c;
        int status = wait_for_input(fd, err);
        if (status != CAIRN_OK)
            return status;
        ssize_t got = read(fd, &c, 1);
        if (got < 0 && (errno == EINTR || errno == EAGAIN))
            continue;
        if (got < 0)
            return cairn_error_set(err, CAIRN_IO, errno, "cannot read from the terminal");
        if (got == 0 || c == '\n')
            break;
        if (n == cap)
            return cairn_error_set(err, CAIRN_LIMIT, 0, "a password has at most %zu bytes", cap);
        out[n++] = c;
    }
    *len = n;
    return CAIRN_OK;
}

static void say(int fd, const char *text)
{
    ssize_t n = write(fd, text, strlen(text));
    (void)n;
}

int cli_terminal_ask(const char *question, char *out, size_t cap, size_t *len,
                     struct cairn_error *err)
{
    struct termios before, silent;
    int fd = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
    if (fd < 0 || tcgetattr(fd, &before) != 0) {
        if (fd >= 0)
            (void)close(fd);
        return cairn_error_set(err, CAIRN_AUTH, 0,
                               "a password is needed and there is no terminal to ask for it: set "
                               "CAIRN_PASSWORD_FILE or give --password-file");
    }
    silent = before;
    silent.c_lflag &= ~(tcflag_t)ECHO;
    int status = CAIRN_OK;
    if (tcsetattr(fd, TCSAFLUSH, &silent) != 0) {
        status = cairn_error_set(err, CAIRN_IO, errno, "cannot turn the terminal's echo off");
    } else {
        say(fd, question);
        status = read_line(fd, out, cap, len, err);
        (void)tcsetattr(fd, TCSAFLUSH, &before);
        say(fd, "\n");
    }
    (void)close(fd);
    return status;
}
