/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/io.h"
#include "source/patterns_internal.h"

/* A line without what does not belong to its pattern. */
static size_t trimmed(const char *line, size_t len)
{
    if (len > 0 && line[len - 1] == '\r')
        len--;
    size_t keep = 0;
    for (size_t i = 0; i < len; i++) {
        if (line[i] == '\\' && i + 1 < len)
            i++;
        else if (line[i] == ' ' || line[i] == '\t')
            continue;
        keep = i + 1;
    }
    return keep;
}

int cairn_patterns_add_lines(struct cairn_patterns *p, const char *bytes, size_t len,
                             const char *source, struct cairn_error *err)
{
    char shown[300], where[340];
    const char *at = bytes, *end = bytes + len;
    int status = CAIRN_OK;
    cairn_escape(shown, sizeof(shown), source, strlen(source));
    if (len >= 3 && memcmp(at, "\xef\xbb\xbf", 3) == 0)
        at += 3;
    for (size_t number = 1; at < end && status == CAIRN_OK; number++) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        size_t line = (size_t)((newline ? newline : end) - at);
        size_t n = trimmed(at, line);
        (void)snprintf(where, sizeof(where), "%s, line %zu", shown, number);
        if (n > 0 && *at != '#')
            status = cairn_patterns_add(p, at, n, where, err);
        at += line + (newline != NULL);
    }
    return status;
}

int cairn_patterns_add_file(struct cairn_patterns *p, const char *path, struct cairn_error *err)
{
    struct cairn_buf bytes = CAIRN_BUF_INIT;
    char shown[300];
    int status = CAIRN_OK;
    cairn_escape(shown, sizeof(shown), path, strlen(path));
    int fd = cairn_io_open(AT_FDCWD, path, O_RDONLY, 0);
    if (fd < 0)
        return cairn_error_set(err, CAIRN_IO, errno, "cannot open the file of patterns %s", shown);
    for (;;) {
        if (!cairn_buf_reserve(&bytes, 65536)) {
            status = cairn_error_no_memory(err, "the patterns");
            break;
        }
        ssize_t n = cairn_io()->read(fd, bytes.data + bytes.len, 65536);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            status =
                cairn_error_set(err, CAIRN_IO, errno, "cannot read the file of patterns %s", shown);
        if (n <= 0)
            break;
        bytes.len += (size_t)n;
        if (bytes.len > CAIRN_PATTERN_FILE_BYTES_MAX) {
            status = cairn_error_set(err, CAIRN_LIMIT, 0,
                                     "the file of patterns %s is larger than 16 MiB", shown);
            break;
        }
    }
    (void)cairn_io_close(fd);
    if (status == CAIRN_OK)
        status = cairn_patterns_add_lines(p, (const char *)bytes.data, bytes.len, path, err);
    cairn_buf_release(&bytes);
    return status;
}
