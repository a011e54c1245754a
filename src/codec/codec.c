/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/codec.h"

#include <zstd_errors.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "base/error.h"
#include "codec/codec_internal.h"

int cairn_codec_new(struct cairn_codec **out, struct cairn_error *err)
{
    struct cairn_codec *codec = cairn_alloc_zero(1, sizeof(*codec));
    if (codec == NULL)
        return cairn_error_no_memory(err, "a compressor");
    codec->compressor = ZSTD_createCCtx();
    codec->prober = ZSTD_createCCtx();
    codec->decompressor = ZSTD_createDCtx();
    if (codec->compressor == NULL || codec->prober == NULL || codec->decompressor == NULL) {
        cairn_codec_free(codec);
        return cairn_error_no_memory(err, "a compressor");
    }
    (void)ZSTD_DCtx_setParameter(codec->decompressor, ZSTD_d_windowLogMax,
                                 CAIRN_CODEC_WINDOW_LOG_MAX);
    *out = codec;
    return CAIRN_OK;
}

void cairn_codec_free(struct cairn_codec *codec)
{
    if (codec == NULL)
        return;
    (void)ZSTD_freeCCtx(codec->compressor);
    (void)ZSTD_freeCCtx(codec->prober);
    (void)ZSTD_freeDCtx(codec->decompressor);
    cairn_free(codec);
}

size_t cairn_codec_bound(size_t len)
{
    return ZSTD_compressBound(len);
}

static int zstd_failure(size_t code, const char *what, struct cairn_error *err)
{
    if (ZSTD_getErrorCode(code) == ZSTD_error_memory_allocation)
        return cairn_error_no_memory(err, what);
    return cairn_error_set(err, CAIRN_IO, 0, "zstd failed: %s", ZSTD_getErrorName(code));
}

int cairn_codec_compress(struct cairn_codec *codec, int level, const void *data, size_t len,
                         void *out, size_t cap, size_t *out_len, struct cairn_error *err)
{
    ZSTD_CCtx *ctx = codec->compressor;
    size_t code = ZSTD_CCtx_setParameter(ctx, ZSTD_c_compressionLevel, level);
    if (!ZSTD_isError(code) && level > 15)
        code = ZSTD_CCtx_setParameter(ctx, ZSTD_c_windowLog, CAIRN_CODEC_WINDOW_LOG_MAX);
    if (!ZSTD_isError(code))
        code = ZSTD_compress2(ctx, out, cap, data, len);
    if (ZSTD_isError(code)) {
        if (ZSTD_getErrorCode(code) != ZSTD_error_dstSize_tooSmall)
            return zstd_failure(code, "compressing", err);
        code = len;
    }
    *out_len = code < len - len / 32 ? code : 0;
    return CAIRN_OK;
}

/* docs/format.md, section 3: one frame and nothing else, no dictionary, a window of at most 8 MiB.
 * zstd itself would take several frames, skip what claims to be skippable, and bound the window of
 * streams only. */
static bool is_one_frame(const uint8_t *frame, size_t len)
{
    const uint64_t window_max = (uint64_t)1 << CAIRN_CODEC_WINDOW_LOG_MAX;
    if (len < 6 || cairn_load_u32(frame) != ZSTD_MAGICNUMBER ||
        ZSTD_findFrameCompressedSize(frame, len) != len)
        return false;
    const unsigned descriptor = frame[4];
    if ((descriptor & 3) != 0) /* names a dictionary */
        return false;
    if (descriptor & 0x20) /* a single segment: its window is its content */
        return ZSTD_getFrameContentSize(frame, len) <= window_max;
    const uint64_t base = (uint64_t)1 << (10 + (frame[5] >> 3));
    return base + base / 8 * (frame[5] & 7) <= window_max;
}

int cairn_codec_decompress(struct cairn_codec *codec, const void *data, size_t len, void *out,
                           size_t plain_len, struct cairn_error *err)
{
    if (!is_one_frame(data, len))
        return cairn_error_set(err, CAIRN_CORRUPT, 0,
                               "compressed bytes are damaged: not one zstd frame");
    size_t code = ZSTD_decompressDCtx(codec->decompressor, out, plain_len, data, len);
    if (ZSTD_isError(code)) {
        if (ZSTD_getErrorCode(code) == ZSTD_error_memory_allocation)
            return cairn_error_no_memory(err, "decompressing");
        return cairn_error_set(err, CAIRN_CORRUPT, 0, "compressed bytes are damaged: %s",
                               ZSTD_getErrorName(code));
    }
    if (code != plain_len)
        return cairn_error_set(err, CAIRN_CORRUPT, 0,
                               "compressed bytes give %zu bytes instead of %zu", code, plain_len);
    return CAIRN_OK;
}
