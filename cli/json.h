/* SPDX-License-Identifier: Apache-2.0
 *
 * json.h - the objects that --json prints; docs/man/cairn-json.5.scd describes them.
 *
 * A name that is UTF-8 is given as it is. In one that is not, each byte that does not belong to
 * UTF-8 is replaced by U+FFFD, and the exact bytes stand beside it in a field NAME_hex.
 */
#ifndef CAIRN_CLI_JSON_H
#define CAIRN_CLI_JSON_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <jansson.h>

#include <cairn/cairn.h>

/* A new object with its message_type; NULL when memory runs out, which all of these accept. */
json_t *cli_json_object(const char *message_type);

/* Sets a field to value, whose reference is taken. */
void cli_json_set(json_t *object, const char *field, json_t *value);

/* Sets a field to a number; those above INT64_MAX do not occur. */
void cli_json_number(json_t *object, const char *field, uint64_t value);

/* Sets a field to a name (and NAME_hex where it is not UTF-8). NULL: an empty one. */
void cli_json_text(json_t *object, const char *field, const char *bytes);

/* Sets a field to a list of names; NAME_hex then lists all of them. */
void cli_json_list(json_t *object, const char *field, const char *const *items, size_t count);

/* Sets a field to 64 digits, and short_FIELD to the first 8 of them if is_short is set. */
void cli_json_id(json_t *object, const char *field, const struct cairn_id *id, int is_short);

/* Sets a field to a time, as cli_format_rfc3339 writes it. */
void cli_json_time(json_t *object, const char *field, int64_t seconds, uint32_t nanoseconds);

/* Prints the object as one line, hands it to the system and releases it. Standard output goes
 * through output.c. */
void cli_json_print(FILE *to, json_t *object);

/* The same on standard output without flushing: for long lists. */
void cli_json_print_row(json_t *object);

#endif
