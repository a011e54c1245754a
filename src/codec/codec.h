/* SPDX-License-Identifier: Apache-2.0
 *
 * codec.h - zstd with reused contexts, and a probe that spares what does not compress.
 */
#ifndef CAIRN_CODEC_CODEC_H
#define CAIRN_CODEC_CODEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cairn/cairn.h>

/* Codec numbers as stored (docs/format.md, section 3). */
enum cairn_codec_id { CAIRN_CODEC_RAW = 0, CAIRN_CODEC_ZSTD = 1 };

#define CAIRN_CODEC_LEVEL_DEFAULT 3
/* Window of at most 8 MiB: what a reader must be able to allocate. */
#define CAIRN_CODEC_WINDOW_LOG_MAX 23

/* Working memory of one worker, reused from call to call. One thread at a time. */
struct cairn_codec;

/* NO_MEMORY. */
int cairn_codec_new(struct cairn_codec **out, struct cairn_error *err);

/* Frees; NULL is allowed. */
void cairn_codec_free(struct cairn_codec *codec);

/* The most bytes that compressing len bytes can take. */
size_t cairn_codec_bound(size_t len);

/* Whether len bytes look as if zstd would shorten them by 3 % or more. Looks at samples only: about
 * 1 % of the time that compressing would take. Deterministic. */
bool cairn_codec_is_compressible(struct cairn_codec *codec, const void *data, size_t len);

/* Compresses len bytes at the zstd level (1 to 19) to out (cap bytes). *out_len = 0: the result
 * would not be shorter than len minus len/32, store the bytes as they are. NO_MEMORY; IO for
 * anything else zstd reports. */
int cairn_codec_compress(struct cairn_codec *codec, int level, const void *data, size_t len,
                         void *out, size_t cap, size_t *out_len, struct cairn_error *err);

/* Decompresses len bytes to out, which must give exactly plain_len bytes. CORRUPT: they do not, or
 * the frame asks for a window above the limit. Never writes past plain_len. */
int cairn_codec_decompress(struct cairn_codec *codec, const void *data, size_t len, void *out,
                           size_t plain_len, struct cairn_error *err);

#endif
