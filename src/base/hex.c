/* SPDX-License-Identifier: Apache-2.0 */
#include "base/hex.h"

void cairn_hex_encode(char *out, const uint8_t *bytes, size_t len)
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < len; i++) {
        out[2 * i] = digits[bytes[i] >> 4];
        out[2 * i + 1] = digits[bytes[i] & 15];
    }
    out[2 * len] = '\0';
}

static int digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

bool cairn_hex_decode(uint8_t *out, const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        int high = digit(text[2 * i]);
        int low = high < 0 ? -1 : digit(text[2 * i + 1]);
        if (low < 0)
            return false;
        out[i] = (uint8_t)(high << 4 | low);
    }
    return true;
}
