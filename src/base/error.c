/* SPDX-License-Identifier: Apache-2.0 */
#include "base/error.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* The length of the UTF-8 sequence that begins at s (at most len bytes), or 0 if there is none. */
static size_t utf8_length(const unsigned char *s, size_t len)
{
    size_t want = 0;
    if (s[0] >= 0xc2 && s[0] <= 0xdf)
        want = 2;
    else if (s[0] >= 0xe0 && s[0] <= 0xef)
        want = 3;
    else if (s[0] >= 0xf0 && s[0] <= 0xf4)
        want = 4;
    if (want == 0 || want > len)
        return 0;
    for (size_t i = 1; i < want; i++) {
        if ((s[i] & 0xc0) != 0x80)
            return 0;
    }
    if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) ||
        (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))
        return 0;
    /* C1 control characters (U+0080 to U+009F) steer some terminals. */
    if (s[0] == 0xc2 && s[1] < 0xa0)
        return 0;
    return want;
}

void cairn_escape(char *out, size_t cap, const char *bytes, size_t len)
{
    static const char digits[] = "0123456789abcdef";
    size_t at = 0;
    if (cap == 0)
        return;
    for (size_t i = 0; i < len;) {
        const unsigned char *s = (const unsigned char *)bytes + i;
        size_t take = (*s >= 0x20 && *s < 0x7f && *s != '\\') ? 1 : 0;
        if (take == 0 && *s >= 0x80)
            take = utf8_length(s, len - i);
        size_t need = take ? take : 4;
        if (at + need >= cap)
            break;
        if (take) {
            memcpy(out + at, s, take);
            i += take;
        } else {
            out[at] = '\\';
            out[at + 1] = 'x';
            out[at + 2] = digits[*s >> 4];
            out[at + 3] = digits[*s & 15];
            i++;
        }
        at += need;
    }
    out[at] = '\0';
}

/* Like cairn_escape, but leaves backslashes: arguments that are names were escaped already. */
static void clean_message(char *text)
{
    for (unsigned char *s = (unsigned char *)text; *s;) {
        size_t n =
            (*s >= 0x20 && *s < 0x7f) ? 1 : (*s >= 0x80 ? utf8_length(s, strlen((char *)s)) : 0);
        if (n == 0) {
            *s = '?';
            n = 1;
        }
        s += n;
    }
}

int cairn_error_set_va(struct cairn_error *err, int status, int os_errno, const char *fmt,
                       va_list args)
{
    if (err == NULL)
        return status;
    int saved = errno;
    err->status = status;
    err->os_errno = os_errno;
    int n = vsnprintf(err->message, sizeof(err->message), fmt, args);
    if (n < 0)
        err->message[0] = '\0';
    if (os_errno != 0) {
        char text[128];
        const char *said = strerror_r(os_errno, text, sizeof(text));
        size_t at = strlen(err->message);
        (void)snprintf(err->message + at, sizeof(err->message) - at, ": %s", said);
    }
    clean_message(err->message);
    errno = saved;
    return status;
}

int cairn_error_set(struct cairn_error *err, int status, int os_errno, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    (void)cairn_error_set_va(err, status, os_errno, fmt, args);
    va_end(args);
    return status;
}

int cairn_status_from_errno(int os_errno)
{
    switch (os_errno) {
    case ENOSPC:
    case EDQUOT:
        return CAIRN_NO_SPACE;
    case ENOENT:
        return CAIRN_NOT_FOUND;
    case EEXIST:
        return CAIRN_EXISTS;
    case ENOMEM:
        return CAIRN_NO_MEMORY;
    case EAGAIN:
    case EBUSY:
        return CAIRN_BUSY;
    default:
        return CAIRN_IO;
    }
}

int cairn_error_system(struct cairn_error *err, int os_errno, const char *fmt, ...)
{
    int status = cairn_status_from_errno(os_errno);
    va_list args;
    va_start(args, fmt);
    (void)cairn_error_set_va(err, status, os_errno, fmt, args);
    va_end(args);
    return status;
}

int cairn_error_no_memory(struct cairn_error *err, const char *what)
{
    return cairn_error_set(err, CAIRN_NO_MEMORY, 0, "out of memory for %s", what);
}

void cairn_error_prefix(struct cairn_error *err, const char *fmt, ...)
{
    if (err == NULL)
        return;
    char old[sizeof(err->message)];
    memcpy(old, err->message, sizeof(old));
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(err->message, sizeof(err->message), fmt, args);
    va_end(args);
    size_t at = n < 0 ? 0 : strlen(err->message);
    size_t room = sizeof(err->message) - at - 1;
    size_t len = strnlen(old, room);
    memcpy(err->message + at, old, len);
    err->message[at + len] = '\0';
    clean_message(err->message);
}

const char *cairn_status_name(int status)
{
    switch (status) {
    case CAIRN_OK:
        return "OK";
    case CAIRN_NOT_FOUND:
        return "NOT_FOUND";
    case CAIRN_CORRUPT:
        return "CORRUPT";
    case CAIRN_AUTH:
        return "AUTH";
    case CAIRN_IO:
        return "IO";
    case CAIRN_NO_SPACE:
        return "NO_SPACE";
    case CAIRN_BUSY:
        return "BUSY";
    case CAIRN_LIMIT:
        return "LIMIT";
    case CAIRN_UNSUPPORTED:
        return "UNSUPPORTED";
    case CAIRN_NO_MEMORY:
        return "NO_MEMORY";
    case CAIRN_MISUSE:
        return "MISUSE";
    case CAIRN_CANCELLED:
        return "CANCELLED";
    case CAIRN_EXISTS:
        return "EXISTS";
    case CAIRN_UNTRUSTED:
        return "UNTRUSTED";
    case CAIRN_NO_REPOSITORY:
        return "NO_REPOSITORY";
    default:
        return "UNKNOWN";
    }
}
