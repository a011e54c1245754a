/* SPDX-License-Identifier: Apache-2.0 */
#include "source/patterns.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "source/patterns_internal.h"

int cairn_patterns_new(struct cairn_patterns **out, struct cairn_error *err)
{
    struct cairn_patterns *p = cairn_alloc_zero(1, sizeof(*p));
    if (p == NULL)
        return cairn_error_no_memory(err, "the patterns");
    *out = p;
    return CAIRN_OK;
}

void cairn_patterns_free(struct cairn_patterns *p)
{
    if (p == NULL)
        return;
    cairn_free(p->items);
    cairn_free(p->segments);
    cairn_buf_release(&p->text);
    cairn_free(p);
}

size_t cairn_patterns_get_count(const struct cairn_patterns *p)
{
    return p->count;
}

bool cairn_patterns_has_anchored(const struct cairn_patterns *p)
{
    return p->has_anchored;
}

static int malformed(const char *pattern, size_t len, const char *where, const char *why,
                     struct cairn_error *err)
{
    char shown[200];
    cairn_escape(shown, sizeof(shown), pattern, len);
    return cairn_error_set(err, CAIRN_MISUSE, 0, "%s: the pattern \"%s\" makes no sense: %s", where,
                           shown, why);
}

static bool make_room(struct cairn_patterns *p, size_t segments)
{
    if (p->count == p->cap) {
        size_t cap = p->cap ? p->cap * 2 : 16;
        struct pattern *items = cairn_realloc(p->items, cap, sizeof(*items));
        if (items == NULL)
            return false;
        p->items = items;
        p->cap = cap;
    }
    if (p->segment_count + segments > p->segment_cap) {
        size_t cap = p->segment_cap * 2 + segments + 16;
        struct segment *grown = cairn_realloc(p->segments, cap, sizeof(*grown));
        if (grown == NULL)
            return false;
        p->segments = grown;
        p->segment_cap = cap;
    }
    return true;
}

/* How long the segment at the beginning of bytes is. A quoted slash is a slash all the same; the
 * backslash before it, *quote bytes, belongs to no segment. */
static size_t segment_len(const char *bytes, size_t len, size_t *quote)
{
    size_t i = 0;
    *quote = 0;
    while (i < len && bytes[i] != '/') {
        if (bytes[i] == '\\' && i + 1 < len) {
            *quote = bytes[i + 1] == '/';
            if (*quote)
                break;
            i++;
        }
        i++;
    }
    return i;
}

static const char *add_segment(struct cairn_patterns *p, const char *bytes, size_t len)
{
    struct segment segment = {.at = (uint32_t)p->text.len, .len = (uint32_t)len};
    if (len == 0 || (len == 1 && bytes[0] == '.'))
        return NULL;
    if (len == 2 && bytes[0] == '.' && bytes[1] == '.')
        return "\"..\" is in no path";
    const char *wrong = pattern_glob_check(bytes, len);
    if (wrong)
        return wrong;
    segment.is_any = len >= 2;
    segment.is_literal = true;
    for (size_t i = 0; i < len; i++) {
        segment.is_any &= bytes[i] == '*';
        segment.is_literal &= !pattern_glob_is_special(bytes[i]);
    }
    cairn_buf_put(&p->text, bytes, len);
    p->segments[p->segment_count++] = segment;
    return NULL;
}

/* A `**` at the end stands for at least one name, and one that is alone for a glob. */
static void end_segments(struct cairn_patterns *p, struct pattern *pattern)
{
    struct segment *last = &p->segments[p->segment_count - 1];
    if (!last->is_any)
        return;
    if (pattern->is_anchored) {
        struct segment all = {.at = last->at, .len = 1};
        p->segments[p->segment_count++] = all;
        pattern->count++;
        return;
    }
    last->is_any = false;
}

int cairn_patterns_add(struct cairn_patterns *p, const char *given, size_t given_len,
                       const char *where, struct cairn_error *err)
{
    const char *bytes = given;
    size_t len = given_len, text = p->text.len, segments = p->segment_count, slashes = 0;
    struct pattern pattern = {.first = (uint32_t)segments};
    if (len > CAIRN_PATTERN_BYTES_MAX)
        return cairn_error_set(err, CAIRN_LIMIT, 0, "%s: a pattern has more than %u bytes", where,
                               CAIRN_PATTERN_BYTES_MAX);
    if (p->count >= CAIRN_PATTERNS_MAX)
        return cairn_error_set(err, CAIRN_LIMIT, 0, "%s: more than %u patterns", where,
                               CAIRN_PATTERNS_MAX);
    if (memchr(given, 0, given_len))
        return malformed(given, given_len, where, "no name has a zero byte", err);
    if (len > 0 && *bytes == '!') {
        pattern.is_negated = true;
        bytes++;
        len--;
    }
    while (len > 0 && bytes[len - 1] == '/') {
        pattern.is_for_directories = true;
        len--;
    }
    for (size_t i = 0; i < len; i++)
        slashes += bytes[i] == '/';
    pattern.is_anchored = slashes > 0;
    if (!make_room(p, slashes + 2))
        return cairn_error_no_memory(err, "the patterns");
    const char *wrong = NULL;
    for (size_t at = 0; at < len && wrong == NULL;) {
        size_t quote, n = segment_len(bytes + at, len - at, &quote);
        wrong = add_segment(p, bytes + at, n);
        at += n + quote + 1;
    }
    pattern.count = (uint32_t)(p->segment_count - segments);
    if (wrong == NULL && pattern.count == 0)
        wrong = "it names nothing";
    if (wrong == NULL && !p->text.failed) {
        end_segments(p, &pattern);
        p->has_anchored |= pattern.is_anchored;
        p->items[p->count++] = pattern;
        return CAIRN_OK;
    }
    bool is_out = p->text.failed;
    p->text.failed = false;
    p->text.len = text;
    p->segment_count = segments;
    return is_out ? cairn_error_no_memory(err, "the patterns")
                  : malformed(given, given_len, where, wrong, err);
}
