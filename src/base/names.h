/* SPDX-License-Identifier: Apache-2.0
 *
 * names.h - levels, ciphers and sizes as words.
 */
#ifndef CAIRN_BASE_NAMES_H
#define CAIRN_BASE_NAMES_H

#include <stdbool.h>
#include <stdint.h>

/* "none", "metadata", "filesystem", "file" ("default" for anything else); never NULL. */
const char *cairn_level_name(int level);

/* The enum cairn_level of a word. false: no such word. */
bool cairn_level_parse(const char *word, int *level);

/* Reads "123", "64K", "3M", "2G", "1T" (1024 each, either case, an optional "iB" or "B" behind).
 * false: not a number, or it overflows. */
bool cairn_size_parse(const char *word, uint64_t *bytes);

#endif
