/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/name.h"

#include <string.h>

#include "backend/backend.h"

static bool is_name_byte(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
}

static bool is_name(const char *name, size_t len)
{
    size_t parts = 1;
    char before = '/';
    if (len == 0 || len > CAIRN_BACKEND_NAME_MAX)
        return false;
    for (size_t i = 0; i < len; i++) {
        char c = name[i];
        if (c == '/')
            parts++;
        else if (!is_name_byte(c))
            return false;
        if (before == '/' && (c == '/' || c == '.'))
            return false;
        before = c;
    }
    return before != '/' && parts <= 3;
}

bool cairn_backend_name_is_valid(const char *name)
{
    return name != NULL && is_name(name, strnlen(name, CAIRN_BACKEND_NAME_MAX + 1));
}

bool cairn_backend_prefix_is_valid(const char *prefix)
{
    if (prefix == NULL)
        return false;
    size_t len = strnlen(prefix, CAIRN_BACKEND_NAME_MAX + 1);
    return len == 0 || (prefix[len - 1] == '/' && is_name(prefix, len - 1));
}
