/* SPDX-License-Identifier: Apache-2.0
 *
 * hex.h - bytes as hexadecimal digits.
 */
#ifndef CAIRN_BASE_HEX_H
#define CAIRN_BASE_HEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Writes 2 * len lower-case digits and a NUL to out (2 * len + 1 bytes). */
void cairn_hex_encode(char *out, const uint8_t *bytes, size_t len);

/* Reads exactly 2 * len digits (either case) from text to out. false: another character; out is
 * then unspecified. */
bool cairn_hex_decode(uint8_t *out, const char *text, size_t len);

#endif
