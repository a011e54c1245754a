/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_CODEC_CODEC_INTERNAL_H
#define CAIRN_CODEC_CODEC_INTERNAL_H

#include <stdint.h>
#include <zstd.h>

#include "codec/codec.h"

#define PROBE_PIECE_BYTES 4096u
#define PROBE_PIECES 4u

struct cairn_codec {
    ZSTD_CCtx *compressor;
    ZSTD_CCtx *prober; /* apart, so that the probe's small tables stay small */
    ZSTD_DCtx *decompressor;
    uint8_t sample[PROBE_PIECES * PROBE_PIECE_BYTES];
    uint8_t trial[PROBE_PIECES * PROBE_PIECE_BYTES + 1024];
};

#endif
