/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "codec/codec_internal.h"

/* Below this everything is tried for real: the trial would cost as much. */
#define PROBE_MIN_BYTES (8u * PROBE_PIECES * PROBE_PIECE_BYTES)

bool cairn_codec_is_compressible(struct cairn_codec *codec, const void *data, size_t len)
{
    if (len < PROBE_MIN_BYTES)
        return true;
    /* Pieces spread over the whole, so that a compressible head (a file format's tables) does not
     * speak for an incompressible rest, nor the other way round. */
    const uint8_t *bytes = data;
    size_t step = (len - PROBE_PIECE_BYTES) / (PROBE_PIECES - 1);
    for (size_t i = 0; i < PROBE_PIECES; i++) {
        size_t code = 0;
        memcpy(codec->sample + i * PROBE_PIECE_BYTES, bytes + i * step, PROBE_PIECE_BYTES);
        code = ZSTD_compressCCtx(codec->prober, codec->trial, sizeof(codec->trial),
                                 codec->sample + i * PROBE_PIECE_BYTES, PROBE_PIECE_BYTES, 1);
        if (ZSTD_isError(code) || code < PROBE_PIECE_BYTES - PROBE_PIECE_BYTES / 32)
            return true;
    }
    /* Repeats from piece to piece (equal blocks far apart) show only in one run over all. */
    size_t code = ZSTD_compressCCtx(codec->prober, codec->trial, sizeof(codec->trial),
                                    codec->sample, sizeof(codec->sample), 1);
    return ZSTD_isError(code) || code < sizeof(codec->sample) - sizeof(codec->sample) / 32;
}
