/* SPDX-License-Identifier: Apache-2.0
 *
 * format.h - sizes, times and modes as people read them.
 */
#ifndef CAIRN_CLI_FORMAT_H
#define CAIRN_CLI_FORMAT_H

#include <stddef.h>
#include <stdint.h>

#include <cairn/cairn.h>

#define CLI_SIZE_TEXT 24
#define CLI_TIME_TEXT 48
#define CLI_MODE_TEXT 11
#define CLI_SHORT_ID 8 /* digits of an id in tables and messages */

/* "12 B", "3.456 MiB". */
void cli_format_size(char out[CLI_SIZE_TEXT], uint64_t bytes);

/* "0:07", "1:02:03". */
void cli_format_duration(char out[CLI_TIME_TEXT], double seconds);

/* "2026-01-31 12:34:56" in the local time zone; "@SECONDS" where no calendar reaches. */
void cli_format_local_time(char out[CLI_TIME_TEXT], int64_t seconds);

/* "2026-01-31T12:34:56.123456789Z"; years have as many digits as they need. */
void cli_format_rfc3339(char out[CLI_TIME_TEXT], int64_t seconds, uint32_t nanoseconds);

/* "drwxr-xr-x", as ls prints it. */
void cli_format_mode(char out[CLI_MODE_TEXT], uint32_t mode);

/* The first digits of an id. */
void cli_format_id(char out[CLI_SHORT_ID + 1], const struct cairn_id *id);

/* Splits nanoseconds since 1970 so that the remainder is not negative. */
void cli_split_ns(int64_t ns, int64_t *seconds, uint32_t *nanoseconds);

/* The length of the UTF-8 sequence at s (at most len bytes), or 0 if none begins there. */
size_t cli_utf8_length(const char *s, size_t len);

#endif
