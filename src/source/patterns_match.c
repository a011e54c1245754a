/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "source/patterns_internal.h"

static bool segment_has(const struct cairn_patterns *p, const struct segment *segment,
                        const char *name, size_t len)
{
    const char *text = (const char *)p->text.data + segment->at;
    if (segment->is_literal)
        return len == segment->len && memcmp(name, text, len) == 0;
    return pattern_glob(text, segment->len, name, len);
}

/* How long the name at `at` is. */
static size_t name_len(const char *path, size_t at, size_t len)
{
    const char *slash = memchr(path + at, '/', len - at);
    return slash ? (size_t)(slash - path) - at : len - at;
}

/* Whether the names of a path match the segments, one for one but for `**`. As with the stars of a
 * glob it is enough to go back to the last `**`. */
static bool segments_have(const struct cairn_patterns *p, const struct pattern *pattern,
                          const char *path, size_t len)
{
    const struct segment *at = p->segments + pattern->first, *end = at + pattern->count;
    const struct segment *any = NULL;
    size_t name = 0, any_name = 0; /* len + 1: behind the last */
    while (name < len) {
        size_t n = name_len(path, name, len);
        if (at < end && at->is_any) {
            any = ++at;
            any_name = name;
            continue;
        }
        if (at < end && segment_has(p, at, path + name, n)) {
            at++;
            name += n + 1;
            continue;
        }
        if (any == NULL)
            return false;
        at = any;
        any_name += name_len(path, any_name, len) + 1;
        name = any_name;
    }
    while (at < end && at->is_any)
        at++;
    return at == end;
}

enum cairn_pattern_verdict cairn_patterns_match(const struct cairn_patterns *p, const char *path,
                                                size_t len, size_t base, bool is_directory)
{
    const char *slash = memrchr(path, '/', len);
    const char *last = slash ? slash + 1 : path;
    size_t last_len = len - (size_t)(last - path);
    for (size_t i = p->count; i > 0; i--) {
        const struct pattern *pattern = &p->items[i - 1];
        if (pattern->is_for_directories && !is_directory)
            continue;
        bool is_match = pattern->is_anchored
                            ? segments_have(p, pattern, path, len) ||
                                  (base > 0 && segments_have(p, pattern, path + base, len - base))
                            : segment_has(p, p->segments + pattern->first, last, last_len);
        if (is_match)
            return pattern->is_negated ? CAIRN_PATTERN_NEGATED : CAIRN_PATTERN_MATCH;
    }
    return CAIRN_PATTERN_NONE;
}
