/* SPDX-License-Identifier: Apache-2.0 */
#include "format.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/hex.h"

void cli_format_size(char out[CLI_SIZE_TEXT], uint64_t bytes)
{
    static const char *const units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    if (bytes < 1024) {
        (void)snprintf(out, CLI_SIZE_TEXT, "%u B", (unsigned)bytes);
        return;
    }
    double value = (double)bytes / 1024;
    size_t unit = 0;
    for (; value >= 1024 && unit < 5; unit++)
        value /= 1024;
    (void)snprintf(out, CLI_SIZE_TEXT, "%.3f %s", value, units[unit]);
}

void cli_format_duration(char out[CLI_TIME_TEXT], double seconds)
{
    uint64_t s = seconds > 0 && seconds < 1e15 ? (uint64_t)seconds : 0;
    if (s >= 3600)
        (void)snprintf(out, CLI_TIME_TEXT, "%llu:%02u:%02u", (unsigned long long)(s / 3600),
                       (unsigned)(s / 60 % 60), (unsigned)(s % 60));
    else
        (void)snprintf(out, CLI_TIME_TEXT, "%u:%02u", (unsigned)(s / 60), (unsigned)(s % 60));
}

void cli_format_local_time(char out[CLI_TIME_TEXT], int64_t seconds)
{
    struct tm tm;
    time_t t = (time_t)seconds;
    if (localtime_r(&t, &tm) == NULL || strftime(out, CLI_TIME_TEXT, "%Y-%m-%d %H:%M:%S", &tm) == 0)
        (void)snprintf(out, CLI_TIME_TEXT, "@%lld", (long long)seconds);
}

void cli_format_rfc3339(char out[CLI_TIME_TEXT], int64_t seconds, uint32_t nanoseconds)
{
    struct tm tm;
    time_t t = (time_t)seconds;
    char text[CLI_TIME_TEXT];
    if (gmtime_r(&t, &tm) && strftime(text, 36, "%Y-%m-%dT%H:%M:%S", &tm) > 0)
        (void)snprintf(out, CLI_TIME_TEXT, "%.35s.%09uZ", text, nanoseconds % 1000000000u);
    else
        (void)snprintf(out, CLI_TIME_TEXT, "@%lld.%09u", (long long)seconds,
                       nanoseconds % 1000000000u);
}

void cli_format_mode(char out[CLI_MODE_TEXT], uint32_t mode)
{
    static const char letters[] = "rwxrwxrwx";
    out[0] = S_ISDIR(mode)    ? 'd'
             : S_ISLNK(mode)  ? 'l'
             : S_ISBLK(mode)  ? 'b'
             : S_ISCHR(mode)  ? 'c'
             : S_ISFIFO(mode) ? 'p'
             : S_ISSOCK(mode) ? 's'
                              : '-';
    for (unsigned i = 0; i < 9; i++)
        out[1 + i] = mode & (0400u >> i) ? letters[i] : '-';
    if (mode & S_ISUID)
        out[3] = mode & 0100 ? 's' : 'S';
    if (mode & S_ISGID)
        out[6] = mode & 0010 ? 's' : 'S';
    if (mode & S_ISVTX)
        out[9] = mode & 0001 ? 't' : 'T';
    out[10] = '\0';
}

void cli_format_id(char out[CLI_SHORT_ID + 1], const struct cairn_id *id)
{
    cairn_hex_encode(out, id->bytes, CLI_SHORT_ID / 2);
}

void cli_split_ns(int64_t ns, int64_t *seconds, uint32_t *nanoseconds)
{
    int64_t rest = ns % 1000000000;
    *seconds = ns / 1000000000 - (rest < 0);
    *nanoseconds = (uint32_t)(rest < 0 ? rest + 1000000000 : rest);
}

size_t cli_utf8_length(const char *text, size_t len)
{
    const unsigned char *s = (const unsigned char *)text;
    size_t want = s[0] < 0x80                    ? 1
                  : s[0] >= 0xc2 && s[0] <= 0xdf ? 2
                  : s[0] >= 0xe0 && s[0] <= 0xef ? 3
                  : s[0] >= 0xf0 && s[0] <= 0xf4 ? 4
                                                 : 0;
    if (want == 0 || want > len)
        return 0;
    for (size_t i = 1; i < want; i++) {
        if ((s[i] & 0xc0) != 0x80)
            return 0;
    }
    if (want > 2 && ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) ||
                     (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f)))
        return 0;
    return want;
}
