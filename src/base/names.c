/* SPDX-License-Identifier: Apache-2.0 */
#include "base/names.h"

#include <ctype.h>
#include <string.h>

#include <cairn/cairn.h>

static const char *const level_names[] = {"default", "none", "metadata", "filesystem", "file"};

const char *cairn_level_name(int level)
{
    if (level < CAIRN_LEVEL_NONE || level > CAIRN_LEVEL_FILE)
        return level_names[0];
    return level_names[level];
}

bool cairn_level_parse(const char *word, int *level)
{
    for (int i = CAIRN_LEVEL_NONE; i <= CAIRN_LEVEL_FILE; i++) {
        if (strcmp(word, level_names[i]) == 0) {
            *level = i;
            return true;
        }
    }
    return false;
}

bool cairn_size_parse(const char *word, uint64_t *bytes)
{
    uint64_t value = 0;
    const char *at = word;
    if (!isdigit((unsigned char)*at))
        return false;
    for (; isdigit((unsigned char)*at); at++) {
        if (__builtin_mul_overflow(value, 10u, &value) ||
            __builtin_add_overflow(value, (uint64_t)(*at - '0'), &value))
            return false;
    }
    static const char units[] = "KMGT";
    const char *unit = *at ? strchr(units, toupper((unsigned char)*at)) : NULL;
    if (unit) {
        for (long i = 0; i <= unit - units; i++) {
            if (__builtin_mul_overflow(value, 1024u, &value))
                return false;
        }
        at++;
        if (*at == 'i')
            at++;
    }
    if (*at == 'B' || *at == 'b')
        at++;
    if (*at != '\0')
        return false;
    *bytes = value;
    return true;
}
