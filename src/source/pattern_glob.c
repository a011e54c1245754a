/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <string.h>

#include "source/patterns_internal.h"

/* The classes of POSIX, in the C locale: what a pattern means must not depend on the user's. */
static const struct {
    const char *name;
    int (*has)(int c);
} classes[] = {
    {"alnum", isalnum}, {"alpha", isalpha}, {"blank", isblank}, {"cntrl", iscntrl},
    {"digit", isdigit}, {"graph", isgraph}, {"lower", islower}, {"print", isprint},
    {"punct", ispunct}, {"space", isspace}, {"upper", isupper}, {"xdigit", isxdigit},
};
#define CLASS_COUNT (sizeof(classes) / sizeof(*classes))

/* Reading a bracket expression, item by item. */
struct bracket {
    const char *at, *end;
    bool is_first;
};

enum bracket_kind { BRACKET_END, BRACKET_RANGE, BRACKET_CLASS, BRACKET_BAD };

/* The class named at `at` ("[:alpha:]"), and how long that is. CLASS_COUNT: none. */
static size_t class_at(const char *at, const char *end, size_t *len)
{
    for (size_t i = 0; i < CLASS_COUNT; i++) {
        size_t n = strlen(classes[i].name);
        if ((size_t)(end - at) >= n + 4 && at[0] == '[' && at[1] == ':' &&
            memcmp(at + 2, classes[i].name, n) == 0 && at[n + 2] == ':' && at[n + 3] == ']') {
            *len = n + 4;
            return i;
        }
    }
    return CLASS_COUNT;
}

/* One byte of a range, escaped or not. */
static bool bracket_byte(struct bracket *b, unsigned char *out)
{
    if (b->at < b->end && *b->at == '\\')
        b->at++;
    if (b->at == b->end)
        return false;
    *out = (unsigned char)*b->at++;
    return true;
}

/* The next item: a class (its number in *low) or a range of bytes. */
static enum bracket_kind bracket_next(struct bracket *b, unsigned char *low, unsigned char *high)
{
    size_t len;
    bool is_first = b->is_first;
    b->is_first = false;
    if (b->at == b->end)
        return BRACKET_BAD;
    if (*b->at == ']' && !is_first) {
        b->at++;
        return BRACKET_END;
    }
    if (*b->at == '[' && b->end - b->at > 1 && b->at[1] == ':') {
        size_t class = class_at(b->at, b->end, &len);
        if (class == CLASS_COUNT)
            return BRACKET_BAD;
        b->at += len;
        *low = (unsigned char)class;
        return BRACKET_CLASS;
    }
    if (!bracket_byte(b, low))
        return BRACKET_BAD;
    *high = *low;
    if (b->end - b->at < 2 || b->at[0] != '-' || b->at[1] == ']')
        return BRACKET_RANGE;
    b->at++;
    return bracket_byte(b, high) && *low <= *high ? BRACKET_RANGE : BRACKET_BAD;
}

static bool begin_bracket(struct bracket *b, const char *at, const char *end)
{
    bool is_negated = at < end && (*at == '!' || *at == '^');
    *b = (struct bracket){at + is_negated, end, true};
    return is_negated;
}

/* Whether c is among what stands behind "[". *at is moved behind "]". */
static bool bracket_has(const char **at, const char *end, unsigned char c)
{
    struct bracket b;
    bool is_negated = begin_bracket(&b, *at, end), is_in = false;
    unsigned char low, high;
    for (;;) {
        enum bracket_kind kind = bracket_next(&b, &low, &high);
        if (kind == BRACKET_RANGE)
            is_in |= low <= c && c <= high;
        else if (kind == BRACKET_CLASS)
            is_in |= c < 128 && classes[low].has(c) != 0;
        else
            break;
    }
    *at = b.at;
    return is_in != is_negated;
}

/* Whether the element of the glob at *at, which is no star, matches c; *at is moved behind it. */
static bool element_has(const char **at, const char *end, char c)
{
    char element = *(*at)++;
    if (element == '?')
        return true;
    if (element == '[')
        return bracket_has(at, end, (unsigned char)c);
    if (element == '\\' && *at < end)
        element = *(*at)++;
    return element == c;
}

bool pattern_glob(const char *glob, size_t glob_len, const char *name, size_t len)
{
    const char *at = glob, *end = glob + glob_len, *c = name, *name_end = name + len;
    /* Where to go on after the last star, which then takes one byte more. */
    const char *star = NULL, *star_c = NULL;
    while (c < name_end) {
        if (at < end && *at == '*') {
            star = ++at;
            star_c = c;
            continue;
        }
        if (at < end && element_has(&at, end, *c)) {
            c++;
            continue;
        }
        if (star == NULL)
            return false;
        at = star;
        c = ++star_c;
    }
    while (at < end && *at == '*')
        at++;
    return at == end;
}

const char *pattern_glob_check(const char *glob, size_t len)
{
    const char *end = glob + len;
    for (const char *at = glob; at < end;) {
        char c = *at++;
        if (c == '\\' && at++ == end)
            return "a backslash at the end has nothing to quote";
        if (c != '[')
            continue;
        struct bracket b;
        unsigned char low, high;
        enum bracket_kind kind;
        (void)begin_bracket(&b, at, end);
        do {
            kind = bracket_next(&b, &low, &high);
        } while (kind == BRACKET_RANGE || kind == BRACKET_CLASS);
        if (kind == BRACKET_BAD)
            return "a \"[\" has no \"]\", an unknown class or a reversed range (write \\[ for the "
                   "character itself)";
        at = b.at;
    }
    return NULL;
}

bool pattern_glob_is_special(char c)
{
    return c == '*' || c == '?' || c == '[' || c == '\\';
}
