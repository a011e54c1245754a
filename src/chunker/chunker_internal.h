/* SPDX-License-Identifier: Apache-2.0
 *
 * chunker_internal.h - what the files of this folder share.
 *
 * Terms (docs/design/chunker.md): a position p is a possible cut, p bytes behind the chunk's
 * start. A predicate fires at p or not, by the 8 or 16 bytes before p. Fires are thinned to
 * candidates at least CDC_SPACING apart. The decision, a PRF of the CDC_WINDOW bytes before p,
 * picks the candidate that ends the chunk, and how far behind it the cut lies.
 *
 * Only cairn_chunker_ops differ between the implementations: they work on whole blocks and hold
 * no state, so all that could make cuts differ is in chunker_next.c, once.
 */
#ifndef CAIRN_CHUNKER_INTERNAL_H
#define CAIRN_CHUNKER_INTERNAL_H

#include "chunker/chunker.h"

#define CDC_BLOCK 64       /* positions per mask word */
#define CDC_SPACING 64     /* least distance of two candidates: one block, see cdc_gather() */
#define CDC_WINDOW 64      /* bytes under the decision */
#define CDC_TAPS 4         /* 16-bit words under the first predicate; twice that the second */
#define CDC_MATCH1 0xfe00u /* bits that must match: one position in 2^7 */
#define CDC_MATCH2 0xf800u /* one in 2^5 */
#define CDC_MIN_BYTES 256  /* below it a window would reach before the chunk */

#define CDC_AES_ROUNDS 10

struct cairn_chunker_ops {
    const char *name;

    /* masks[b], bit i: the first predicate fires at position base + 64 b + i, for b < blocks.
     * Reads base[-8 .. 64 blocks - 2]. */
    void (*scan)(const struct cairn_chunker_handle *c, const uint8_t *base, size_t blocks,
                 uint64_t *masks);

    /* The same where the first or the second fires. Reads base[-72 .. 64 blocks - 2]. */
    void (*scan_both)(const struct cairn_chunker_handle *c, const uint8_t *base, size_t blocks,
                      uint64_t *masks);

    /* cdc_gather(). */
    size_t (*gather)(const uint64_t *masks, size_t blocks, uint32_t first, uint32_t skip,
                     uint32_t *at);

    /* out[i]: the first 8 bytes, little-endian, of the CBC-MAC over the CDC_WINDOW bytes before
     * data + at[i]. */
    void (*decide)(const struct cairn_chunker_handle *c, const uint8_t *data, const uint32_t *at,
                   size_t count, uint64_t *out);
};

struct cairn_chunker_handle {
    _Alignas(16) uint8_t round_keys[CDC_AES_ROUNDS + 1][16];
    uint16_t mult[CDC_TAPS]; /* the first predicate's weights of the words before p */
    uint16_t chain;          /* second sum = sum at p + chain * (sum at p - 8) */
    uint16_t match1;         /* bits of CDC_MATCH1 */
    uint16_t match2;         /* bits of CDC_MATCH2 */
    int kind;
    uint32_t avg, min, max;
    uint32_t displace_mask;
    uint32_t turn;                  /* from this position on limit_high is in force */
    uint32_t limit_low, limit_high; /* a decision below it cuts */
    const struct cairn_chunker_ops *ops;
};

_Static_assert(CDC_SPACING == CDC_BLOCK, "cdc_gather() takes at most one fire from a block");

/* Thins the fires at the positions from first on to candidates: at[0 .. result), ascending, at most
 * one a block, none among the first skip (0..63) positions. A branch on the fires would be
 * mispredicted most of the time, so there is none; and the chain from block to block is short,
 * because a fire at bit i forbids exactly the i first positions of the next block. Inline, so that
 * every implementation compiles it for its own instruction set. */
static inline __attribute__((always_inline)) size_t
cdc_gather(const uint64_t *masks, size_t blocks, uint32_t first, uint32_t skip, uint32_t *at)
{
    size_t count = 0;

    for (size_t b = 0; b < blocks; b++, first += CDC_BLOCK) {
        uint64_t mask = masks[b] & ~(uint64_t)0 << skip;
        uint64_t fired = mask != 0;

        __asm__("" : "+r"(fired)); /* or compilers make the branch that must not be */
        skip = (uint32_t)__builtin_ctzll(mask | (uint64_t)1 << 63) & (uint32_t) - (int32_t)fired;
        at[count] = first + skip;
        count += fired;
    }
    return count;
}

/* Each implementation's operations, or NULL where this processor or build lacks it. Any thread. */
const struct cairn_chunker_ops *cairn_chunker_ops_scalar(void);
const struct cairn_chunker_ops *cairn_chunker_ops_avx2(void);
const struct cairn_chunker_ops *cairn_chunker_ops_avx512(void);
const struct cairn_chunker_ops *cairn_chunker_ops_neon(void);

/* FIPS 197: the 11 round keys of an AES-128 key. */
void cairn_chunker_aes_expand(const uint8_t key[16], uint8_t round_keys[CDC_AES_ROUNDS + 1][16]);

/* FIPS 197: encrypts one block in place, in portable C. Its table look-ups depend on the data. */
void cairn_chunker_aes_encrypt(const uint8_t round_keys[CDC_AES_ROUNDS + 1][16], uint8_t block[16]);

#endif
