/* SPDX-License-Identifier: Apache-2.0
 *
 * helpers.h - private trees for the tests of the source layer, and the walk as text.
 */
#ifndef CAIRN_TESTS_SOURCE_HELPERS_H
#define CAIRN_TESTS_SOURCE_HELPERS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/buffer.h"
#include "source/walk.h"

/* A fresh directory below $TMPDIR or /tmp; free with helper_remove. */
char *helper_dir(void);

/* As helper_dir, in memory where /dev/shm is writable and TMPDIR not set: for trees of many files.
 */
char *helper_dir_in_memory(void);

/* Removes a tree of any depth. */
void helper_remove(char *path);

/* dir + "/" + name in one of a few static buffers. */
const char *helper_path(const char *dir, const char *name);

void helper_mkdir(const char *dir, const char *name);
void helper_file(const char *dir, const char *name, const char *content);
void helper_link(const char *dir, const char *name, const char *target);

/* How many descriptors the process has open. */
size_t helper_open_files(void);

/* Runs fn(ctx) in a child process without privileges and fails the test if it does not return 0.
 * false: not possible here. */
bool helper_unprivileged(int (*fn)(void *ctx), void *ctx);

/* One line for each event: "> name" for ENTER, "- name", "< name", with " P" for partial, " I" for
 * incomplete ones; and "! errno path" for each problem, where it comes. Names escaped. The
 * components of `below` are left out at the beginning of names of problems. */
struct helper_stream {
    struct cairn_buf text;
    size_t entries, problems;
    int last_errno;
    char last_path[512];
    size_t most_open; /* descriptors open at a time */
    bool count_open;
};

/* Options for a walk of one path with problems going to the stream. */
struct cairn_walk_options helper_options(const char *const *paths, size_t count, unsigned threads,
                                         struct helper_stream *stream);

/* Walks to the end. */
void helper_walk(const struct cairn_walk_options *options, struct helper_stream *stream);
void helper_stream_release(struct helper_stream *stream);

/* The stream's text behind the "> name" line of the last component of path, up to its "<" line, so
 * that tests need not care where their private directory lies. Static buffer. */
const char *helper_inner(struct helper_stream *stream, const char *path);

#endif
