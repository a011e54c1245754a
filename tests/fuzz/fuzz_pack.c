/* SPDX-License-Identifier: Apache-2.0
 *
 * Trailer and footer of a pack. What is taken is encoded to the same bytes.
 *
 * Input: the plain footer, then the trailer (32 bytes).
 */
#include <stdlib.h>
#include <string.h>

#include "store/pack.h"

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size);

static void expect_same(const struct cairn_pack_contents *contents, const uint8_t *footer,
                        size_t footer_len, const uint8_t *trailer)
{
    uint8_t again[CAIRN_PACK_TRAILER_BYTES];
    struct cairn_buf buf = CAIRN_BUF_INIT;
    cairn_pack_trailer_encode(again, contents);
    cairn_pack_footer_encode(contents, &buf);
    if (memcmp(again, trailer, sizeof(again)) != 0 || buf.len != footer_len ||
        memcmp(buf.data, footer, footer_len) != 0)
        abort();
    cairn_buf_release(&buf);
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size)
{
    struct cairn_pack_contents contents;
    struct cairn_pack_trailer trailer;
    struct cairn_error err;
    if (size < CAIRN_PACK_TRAILER_BYTES)
        return 0;
    const size_t footer_len = size - CAIRN_PACK_TRAILER_BYTES;
    const uint8_t *tail = input + footer_len;
    if (cairn_pack_trailer_parse(tail, cairn_load_u64(tail + 8), &trailer, &err) != CAIRN_OK ||
        cairn_pack_footer_parse(input, footer_len, &trailer, &contents, &err) != CAIRN_OK)
        return 0;
    expect_same(&contents, input, footer_len, tail);
    cairn_pack_contents_release(&contents);
    return 0;
}
