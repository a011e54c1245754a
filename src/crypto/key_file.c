/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/error.h"
#include "base/hex.h"
#include "crypto/slot.h"

static const char first_line[] = "cairn key file 1\n";

_Static_assert(sizeof(first_line) - 1 + 65 == CAIRN_KEY_FILE_BYTES, "length of a key file");

int cairn_key_file_parse(const char *text, size_t len, uint8_t key[CAIRN_KEY_BYTES],
                         struct cairn_error *err)
{
    const size_t first = sizeof(first_line) - 1;
    if (len != CAIRN_KEY_FILE_BYTES || memcmp(text, first_line, first) != 0 ||
        text[len - 1] != '\n' || !cairn_hex_decode(key, text + first, CAIRN_KEY_BYTES))
        return cairn_error_set(err, CAIRN_CORRUPT, 0, "this is not a cairn key file");
    return CAIRN_OK;
}

void cairn_key_file_format(char out[CAIRN_KEY_FILE_BYTES], const uint8_t key[CAIRN_KEY_BYTES])
{
    const size_t first = sizeof(first_line) - 1;
    char hex[2 * CAIRN_KEY_BYTES + 1];
    cairn_hex_encode(hex, key, CAIRN_KEY_BYTES);
    memcpy(out, first_line, first);
    memcpy(out + first, hex, 2 * CAIRN_KEY_BYTES);
    out[CAIRN_KEY_FILE_BYTES - 1] = '\n';
}
