/* SPDX-License-Identifier: Apache-2.0
 *
 * patterns_internal.h - how patterns are kept: each is a sequence of segments, the globs between
 * its slashes; all text stands in one buffer.
 */
#ifndef CAIRN_SOURCE_PATTERNS_INTERNAL_H
#define CAIRN_SOURCE_PATTERNS_INTERNAL_H

#include <stdint.h>

#include "base/buffer.h"
#include "source/patterns.h"

struct segment {
    uint32_t at, len; /* in the text */
    bool is_any;      /* `**`: any number of names, also none */
    bool is_literal;  /* no byte of it is special */
};

struct pattern {
    uint32_t first, count; /* segments */
    bool is_anchored, is_negated, is_for_directories;
};

struct cairn_patterns {
    struct pattern *items;
    size_t count, cap;
    struct segment *segments;
    size_t segment_count, segment_cap;
    struct cairn_buf text;
    bool has_anchored;
};

/* pattern_glob.c: whether a name matches a glob without slashes, which pattern_glob_check accepted.
 * At most glob_len * len steps. */
bool pattern_glob(const char *glob, size_t glob_len, const char *name, size_t len);

/* What is wrong with a glob, or NULL. */
const char *pattern_glob_check(const char *glob, size_t len);

/* Whether a byte is special in a glob. */
bool pattern_glob_is_special(char c);

#endif
