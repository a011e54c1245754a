/* SPDX-License-Identifier: Apache-2.0 */
#include "paths.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"

#define READ_BYTES 65536u

static int add(struct cli_paths *paths, const char *path, struct cairn_error *err)
{
    if (*path == '\0')
        return CAIRN_OK;
    if (paths->count == paths->cap) {
        size_t cap = paths->cap * 2 + 16;
        const char **items = reallocarray(paths->items, cap, sizeof(*items));
        if (items == NULL)
            return cairn_error_no_memory(err, "the list of paths");
        paths->items = items;
        paths->cap = cap;
    }
    paths->items[paths->count++] = path;
    return CAIRN_OK;
}

/* Reads fd to its end; *text is allocated and has a zero byte behind it. */
static int read_text(int fd, const char *shown, char **text, size_t *len, struct cairn_error *err)
{
    size_t have = 0, cap = 0;
    char *bytes = NULL;
    int status = CAIRN_OK;
    for (;;) {
        if (cap - have < READ_BYTES + 1) {
            cap = cap * 2 + 2 * READ_BYTES;
            char *grown = realloc(bytes, cap);
            if (grown == NULL) {
                status = cairn_error_no_memory(err, "the list of paths");
                break;
            }
            bytes = grown;
        }
        ssize_t n = read(fd, bytes + have, READ_BYTES);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            status = cairn_error_set(err, CAIRN_IO, errno, "cannot read the paths in %s", shown);
        if (n <= 0)
            break;
        have += (size_t)n;
        if (have > CLI_PATHS_FILE_BYTES_MAX) {
            status =
                cairn_error_set(err, CAIRN_LIMIT, 0,
                                "the paths in %s take more than 256 MiB; name directories", shown);
            break;
        }
    }
    if (status != CAIRN_OK) {
        free(bytes);
        return status;
    }
    bytes[have] = '\0';
    *text = bytes;
    *len = have;
    return CAIRN_OK;
}

static int add_file(struct cli_paths *paths, const char *name, struct cairn_error *err)
{
    char shown[300], *text = NULL;
    size_t len = 0;
    bool is_stdin = strcmp(name, "-") == 0;
    cairn_escape(shown, sizeof(shown), is_stdin ? "standard input" : name,
                 strlen(is_stdin ? "standard input" : name));
    int fd = is_stdin ? STDIN_FILENO : open(name, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return cairn_error_set(err, CAIRN_IO, errno, "cannot open the file of paths %s", shown);
    char **texts = reallocarray(paths->texts, paths->text_count + 1, sizeof(*texts));
    if (texts)
        paths->texts = texts;
    int status = texts ? read_text(fd, shown, &text, &len, err)
                       : cairn_error_no_memory(err, "the list of paths");
    if (!is_stdin)
        (void)close(fd);
    if (status != CAIRN_OK)
        return status;
    paths->texts[paths->text_count++] = text;
    char separator = memchr(text, 0, len) ? '\0' : '\n';
    for (char *at = text, *end = text + len; at < end && status == CAIRN_OK;) {
        char *stop = memchr(at, separator, (size_t)(end - at));
        if (stop == NULL)
            stop = end;
        *stop = '\0';
        status = add(paths, at, err);
        at = stop + 1;
    }
    return status;
}

int cli_paths_gather(struct cli_paths *paths, const struct cli_args *args,
                     const struct cli_list *files, struct cairn_error *err)
{
    int status = CAIRN_OK;
    for (size_t i = 0; i < args->count && status == CAIRN_OK; i++)
        status = add(paths, args->items[i], err);
    for (size_t i = 0; i < files->count && status == CAIRN_OK; i++)
        status = add_file(paths, files->items[i], err);
    return status;
}

void cli_paths_release(struct cli_paths *paths)
{
    for (size_t i = 0; i < paths->text_count; i++)
        free(paths->texts[i]);
    free(paths->texts);
    free(paths->items);
    *paths = (struct cli_paths){0};
}
