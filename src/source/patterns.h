/* SPDX-License-Identifier: Apache-2.0
 *
 * patterns.h - which paths a list of patterns excludes, with the rules of .gitignore.
 *
 * A pattern is a glob: `*` and `?` match within a name, `[a-z]`, `[!a-z]` and `[[:digit:]]` one
 * byte, `**` between slashes any number of directories; a backslash takes a special meaning away.
 * Without a slash (one at its end does not count) it is compared with the last name of a path,
 * wherever that is; with a slash at its beginning or in its middle it is anchored: compared with
 * the whole path. A slash at its end: directories only. `!` in front takes back what earlier
 * patterns excluded. The last pattern that matches decides. Whoever walks does not look into an
 * excluded directory, so nothing below one can be taken back.
 *
 * Names are bytes; a wildcard matches one byte, not one character.
 */
#ifndef CAIRN_SOURCE_PATTERNS_H
#define CAIRN_SOURCE_PATTERNS_H

#include <stdbool.h>
#include <stddef.h>

#include <cairn/cairn.h>

/* Bytes of one pattern, patterns of one list, and bytes of one file of patterns, at most. */
#define CAIRN_PATTERN_BYTES_MAX 16384u
#define CAIRN_PATTERNS_MAX 100000u
#define CAIRN_PATTERN_FILE_BYTES_MAX ((size_t)16 << 20)

/* Built by one thread, then read by any number. */
struct cairn_patterns;

enum cairn_pattern_verdict {
    CAIRN_PATTERN_NONE = 0,   /* no pattern matches */
    CAIRN_PATTERN_MATCH = 1,  /* the last that matches is a plain one */
    CAIRN_PATTERN_NEGATED = 2 /* the last that matches begins with `!` */
};

/* An empty list. NO_MEMORY. The caller frees it. */
int cairn_patterns_new(struct cairn_patterns **out, struct cairn_error *err);

/* NULL is allowed. */
void cairn_patterns_free(struct cairn_patterns *patterns);

/* Adds one pattern of len bytes, taken as it is (no comments, no trimming). where: what an error
 * names as its place ("--exclude", "FILE, line 3"). MISUSE: malformed, or it could never match;
 * LIMIT; NO_MEMORY. The list is unchanged on failure. */
int cairn_patterns_add(struct cairn_patterns *patterns, const char *pattern, size_t len,
                       const char *where, struct cairn_error *err);

/* Adds the lines of a file's content: empty ones and those that begin with `#` are passed over,
 * blanks at the end are dropped unless a backslash stands before them, as is a carriage return, and
 * a byte order mark at the beginning. source: the file's name, for errors. As cairn_patterns_add;
 * lines before a malformed one stay. */
int cairn_patterns_add_lines(struct cairn_patterns *patterns, const char *bytes, size_t len,
                             const char *source, struct cairn_error *err);

/* Adds the lines of a file. IO: it cannot be read, or is a directory; LIMIT: it is too large; as
 * cairn_patterns_add_lines. */
int cairn_patterns_add_file(struct cairn_patterns *patterns, const char *path,
                            struct cairn_error *err);

size_t cairn_patterns_get_count(const struct cairn_patterns *patterns);

/* Whether any pattern is anchored. If none is, cairn_patterns_match needs the last name only. */
bool cairn_patterns_has_anchored(const struct cairn_patterns *patterns);

/* What the list says of one path (not of the directories above it). path: len bytes without a slash
 * at either end, without "." and "..", "//"; not empty. An anchored pattern matches from the
 * beginning of the path or from `base`: an offset in path at which a name begins, or 0. Any thread;
 * cost: for each pattern at most the product of its length and the path's. */
enum cairn_pattern_verdict cairn_patterns_match(const struct cairn_patterns *patterns,
                                                const char *path, size_t len, size_t base,
                                                bool is_directory);

#endif
