/* SPDX-License-Identifier: Apache-2.0
 *
 * The decompressor, and the compressor on the same bytes: what it makes of them comes back.
 *
 * Input: the plain length (u32, below 1 MiB here), then compressed bytes.
 */
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "codec/codec.h"

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size);

static void round_trip(struct cairn_codec *codec, const uint8_t *data, size_t len)
{
    const size_t cap = cairn_codec_bound(len);
    uint8_t *packed = malloc(cap), *back = malloc(len);
    size_t packed_len = 0;
    if (packed && back &&
        cairn_codec_compress(codec, 1, data, len, packed, cap, &packed_len, NULL) == CAIRN_OK &&
        packed_len > 0 &&
        (cairn_codec_decompress(codec, packed, packed_len, back, len, NULL) != CAIRN_OK ||
         memcmp(back, data, len) != 0))
        abort();
    free(packed);
    free(back);
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size)
{
    static struct cairn_codec *codec;
    struct cairn_error err;
    if (size < 5 || (codec == NULL && cairn_codec_new(&codec, NULL) != CAIRN_OK))
        return 0;
    const size_t plain_len = cairn_load_u32(input) % ((1u << 20) + 1);
    uint8_t *plain = malloc(plain_len ? plain_len : 1); /* exactly: a sanitizer sees its end */
    if (plain == NULL)
        return 0;
    if (cairn_codec_decompress(codec, input + 4, size - 4, plain, plain_len, &err) == CAIRN_OK &&
        plain_len > 0)
        round_trip(codec, plain, plain_len);
    round_trip(codec, input + 4, size - 4);
    (void)cairn_codec_is_compressible(codec, input + 4, size - 4);
    free(plain);
    return 0;
}
