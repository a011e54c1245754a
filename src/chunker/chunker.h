/* SPDX-License-Identifier: Apache-2.0
 *
 * chunker.h - where content is cut into chunks: at a fixed size, or by content under a key.
 *
 * A chunker is a pure function: where a chunk that begins at some byte ends depends on the bytes
 * from there on, the parameters and the key, and on nothing else. So cutting can begin again at
 * any chunk border, the size of the caller's buffer never matters, and every implementation
 * (portable C, AVX2, AVX-512, NEON) cuts at the same bytes. The algorithm of the dynamic chunker,
 * "cairn-cdc-1", is specified byte for byte in docs/design/chunker.md.
 */
#ifndef CAIRN_CHUNKER_CHUNKER_H
#define CAIRN_CHUNKER_CHUNKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cairn/cairn.h>

#define CAIRN_CHUNKER_KEY_BYTES 32
#define CAIRN_CHUNKER_AVG_BYTES_MIN 1024u                /* dynamic */
#define CAIRN_CHUNKER_AVG_BYTES_MAX (4u * 1024u * 1024u) /* dynamic */
#define CAIRN_CHUNKER_BYTES_MAX (16u * 1024u * 1024u)    /* no chunk is ever larger */

/* How to cut. Fixed: every chunk has avg_bytes, the last of a stream any size from 1 on; min_bytes,
 * max_bytes and key are not looked at. Dynamic: avg_bytes is a power of two between the limits
 * above; a zero min_bytes means avg_bytes / 4, a zero max_bytes 4 * avg_bytes. A zero avg_bytes
 * means 4 MiB (fixed) or 1 MiB (dynamic). */
struct cairn_chunker_params {
    int kind; /* enum cairn_chunker */
    uint32_t avg_bytes;
    uint32_t min_bytes; /* 0, or from 256 to avg_bytes; other values than 0 move the mean */
    uint32_t max_bytes; /* 0, or from 2 * avg_bytes to CAIRN_CHUNKER_BYTES_MAX */
    uint8_t key[CAIRN_CHUNKER_KEY_BYTES]; /* uniform; the repository's, or a public constant */
};

enum cairn_chunker_implementation {
    CAIRN_CHUNKER_AUTO = 0, /* the fastest that this processor has */
    CAIRN_CHUNKER_SCALAR = 1,
    CAIRN_CHUNKER_AVX2 = 2,   /* needs AVX2 and AES-NI */
    CAIRN_CHUNKER_AVX512 = 3, /* needs AVX-512 BW, VBMI and VAES */
    CAIRN_CHUNKER_NEON = 4    /* needs AArch64 with the AES instructions */
};

/* An immutable chunker. (The tag cairn_chunker is the enumeration of kinds in cairn.h.) */
struct cairn_chunker_handle;

/* Makes a chunker; the caller frees *out with cairn_chunker_free. params is copied (and the key
 * is expanded), nothing of it is kept. CAIRN_MISUSE: a parameter is out of range. CAIRN_NO_MEMORY.
 * Any thread. Cost: about a microsecond. */
int cairn_chunker_new(const struct cairn_chunker_params *params, struct cairn_chunker_handle **out,
                      struct cairn_error *err);

/* The same with a chosen enum cairn_chunker_implementation, for tests and measurements; the cuts
 * do not differ. CAIRN_UNSUPPORTED: this processor or build lacks it. */
int cairn_chunker_new_with(const struct cairn_chunker_params *params, int implementation,
                           struct cairn_chunker_handle **out, struct cairn_error *err);

/* Frees the chunker and wipes its keys; NULL is allowed. No other thread may be using it. */
void cairn_chunker_free(struct cairn_chunker_handle *c);

/* "fixed", "scalar", "avx2", "avx512" or "neon". Static storage. Any thread. */
const char *cairn_chunker_implementation_name(const struct cairn_chunker_handle *c);

/* The largest chunk this chunker makes, in bytes: a buffer of so many always yields a chunk. */
size_t cairn_chunker_max_bytes(const struct cairn_chunker_handle *c);

/* The length of the first chunk of the stream whose next len bytes are at data, where data[0]
 * begins a chunk. is_end: nothing follows these bytes. Returns
 * - 1..len: the chunk is data[0..result);
 * - 0: len bytes do not decide it; call again with more. Never when len >= the maximum, nor when
 *   is_end and len > 0.
 * data may be NULL when len is 0. At most len bytes are read, and none are written. Any number of
 * threads may use one chunker at once. Cannot fail. Cost: linear in the result. */
size_t cairn_chunker_next(const struct cairn_chunker_handle *c, const uint8_t *data, size_t len,
                          bool is_end);

/* The same, without examining bytes again when the answer was 0 and more have arrived. *scanned
 * belongs to one chunk: the caller sets it to 0 at the chunk's start and passes it on unchanged
 * with the same bytes and more behind them. It is opaque: it may exceed len. It is updated only
 * when the result is 0. The result is the same as cairn_chunker_next's for any such *scanned. */
size_t cairn_chunker_next_resume(const struct cairn_chunker_handle *c, const uint8_t *data,
                                 size_t len, bool is_end, size_t *scanned);

#endif
