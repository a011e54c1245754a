/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "cli.h"

/* The errno of the first failed write to standard output, of which a process has one. */
static int failed_errno;

static void note_failure(void)
{
    if (failed_errno == 0)
        failed_errno = errno ? errno : EIO;
}

void cli_out(const char *fmt, ...)
{
    va_list args;
    if (failed_errno)
        return;
    va_start(args, fmt);
    if (vprintf(fmt, args) < 0)
        note_failure();
    va_end(args);
}

void cli_out_bytes(const void *data, size_t len)
{
    if (failed_errno == 0 && len > 0 && fwrite(data, 1, len, stdout) != len)
        note_failure();
}

void cli_out_name(const char *name, bool escape)
{
    size_t len = strlen(name);
    if (!escape) {
        cli_out_bytes(name, len);
        return;
    }
    for (size_t at = 0; at < len;) {
        /* In pieces that end before a UTF-8 sequence begins; a name may have any length. */
        char text[1024];
        size_t take = len - at < 240 ? len - at : 240;
        while (take > 200 && at + take < len && ((unsigned char)name[at + take] & 0xc0) == 0x80)
            take--;
        cairn_escape(text, sizeof(text), name + at, take);
        cli_out_bytes(text, strlen(text));
        at += take;
    }
}

void cli_out_flush(void)
{
    if (failed_errno == 0 && fflush(stdout) != 0)
        note_failure();
}

bool cli_out_failed(void)
{
    return failed_errno != 0;
}

int cli_out_finish(const struct cli *cli, int code)
{
    cli_out_flush();
    if (failed_errno == 0)
        return code;
    if (failed_errno == EPIPE)
        return code ? code : CLI_EXIT_SIGNAL + SIGPIPE;
    (void)cli_report_exit(cli, CLI_EXIT_FAILED, "cannot write to standard output: %s",
                          strerror(failed_errno));
    return code ? code : CLI_EXIT_FAILED;
}

bool cli_out_is_terminal(void)
{
    return isatty(STDOUT_FILENO) == 1;
}
