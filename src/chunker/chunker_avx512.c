/* SPDX-License-Identifier: Apache-2.0
 *
 * AVX-512 and VAES: 64 positions a step, sixteen decisions side by side.
 */
#include "chunker/chunker_internal.h"

#if defined(__x86_64__)

#include <cpuid.h>
#include <immintrin.h>
#include <string.h>

#define TARGET __attribute__((target("avx512f,avx512bw,avx512vl,avx512vbmi,vaes,aes,bmi,bmi2")))
#define INLINE static inline __attribute__((always_inline)) TARGET

#define CPUID7_ECX_VAES (1u << 9)
#define LANES 4   /* decisions in one register */
#define STREAMS 4 /* registers in flight, to cover the latency of an AES round */

#define PREFETCH_BYTES 4096

/* What the scan of one block works with. */
struct scan {
    __m512i mult[CDC_TAPS];
    __m512i shift[2 * CDC_TAPS]; /* shift[k] picks the 64 bytes from byte k of a pair on */
    __m512i bytes;               /* the 64 bytes that begin 8 before the block */
};

INLINE __m512i load(const uint8_t *p)
{
    return _mm512_loadu_si512(p);
}

INLINE void scan_init(struct scan *s, const struct cairn_chunker_handle *c, const uint8_t *base)
{
    uint8_t index[CDC_BLOCK];

    for (int k = 0; k < CDC_TAPS; k++)
        s->mult[k] = _mm512_set1_epi16((short)c->mult[k]);
    for (int k = 0; k < 2 * CDC_TAPS; k++) {
        for (int i = 0; i < CDC_BLOCK; i++)
            index[i] = (uint8_t)(i + k);
        s->shift[k] = load(index);
    }
    s->bytes = load(base - 8);
}

/* The 64 bytes from base + 56 on, of which 7 are needed; behind the last block no more are read. */
INLINE __m512i load_ahead(const uint8_t *base, bool is_last)
{
    uint64_t rest;

    if (!is_last) {
        _mm_prefetch((const char *)base + PREFETCH_BYTES, _MM_HINT_T0);
        return load(base + 56);
    }
    memcpy(&rest, base + 55, sizeof rest);
    return _mm512_castsi128_si512(_mm_cvtsi64_si128((long long)(rest >> 8)));
}

/* The sums of the block's 32 even (odd = 0) or odd positions. The shifted words come from two
 * registers: loads that straddle cache lines, eight per block, ran at a third of this speed where
 * the data comes from memory. */
INLINE __m512i weigh(const struct scan *s, __m512i ahead, int odd)
{
    __m512i sum = _mm512_setzero_si512();

    for (int k = 0; k < CDC_TAPS; k++) {
        __m512i words = _mm512_permutex2var_epi8(s->bytes, s->shift[2 * k + odd], ahead);

        sum = _mm512_add_epi16(sum, _mm512_mullo_epi16(words, s->mult[k]));
    }
    return sum;
}

/* The second predicate's sums; before: the first sums of the 64 positions before these. */
INLINE __m512i chain(__m512i sums, __m512i before, __m512i mult)
{
    return _mm512_add_epi16(sums, _mm512_mullo_epi16(_mm512_alignr_epi64(sums, before, 7), mult));
}

/* Where the deciding bits of the 64 sums, of the even positions and of the odd ones, match. */
INLINE uint64_t match(__m512i even, __m512i odd, uint16_t bits, __m512i wanted)
{
    const __m512i high = _mm512_set1_epi16((short)0xff00);
    /* (even >> 8 & ~high) | (odd & high): their high bytes in the order of the positions */
    __m512i sums = _mm512_ternarylogic_epi32(_mm512_srli_epi16(even, 8), odd, high, 0xd8);

    return _mm512_cmpeq_epi8_mask(_mm512_and_si512(sums, _mm512_set1_epi8((char)(bits >> 8))),
                                  wanted);
}

TARGET static void scan(const struct cairn_chunker_handle *c, const uint8_t *base, size_t blocks,
                        uint64_t *masks)
{
    const __m512i wanted = _mm512_set1_epi8((char)(c->match1 >> 8));
    struct scan s;

    if (blocks == 0)
        return;
    scan_init(&s, c, base);
    for (size_t b = 0; b < blocks; b++, base += CDC_BLOCK) {
        __m512i ahead = load_ahead(base, b + 1 == blocks);

        masks[b] = match(weigh(&s, ahead, 0), weigh(&s, ahead, 1), CDC_MATCH1, wanted);
        s.bytes = ahead;
    }
}

TARGET static void scan_both(const struct cairn_chunker_handle *c, const uint8_t *base,
                             size_t blocks, uint64_t *masks)
{
    const __m512i wanted1 = _mm512_set1_epi8((char)(c->match1 >> 8));
    const __m512i wanted2 = _mm512_set1_epi8((char)(c->match2 >> 8));
    const __m512i chain_mult = _mm512_set1_epi16((short)c->chain);
    __m512i even_before, odd_before;
    struct scan s;

    if (blocks == 0)
        return;
    scan_init(&s, c, base - CDC_BLOCK);
    even_before = weigh(&s, load(base - 8), 0);
    odd_before = weigh(&s, load(base - 8), 1);
    s.bytes = load(base - 8);
    for (size_t b = 0; b < blocks; b++, base += CDC_BLOCK) {
        __m512i ahead = load_ahead(base, b + 1 == blocks);
        __m512i even = weigh(&s, ahead, 0), odd = weigh(&s, ahead, 1);

        masks[b] = match(even, odd, CDC_MATCH1, wanted1) |
                   match(chain(even, even_before, chain_mult), chain(odd, odd_before, chain_mult),
                         CDC_MATCH2, wanted2);
        even_before = even;
        odd_before = odd;
        s.bytes = ahead;
    }
}

TARGET static size_t gather(const uint64_t *masks, size_t blocks, uint32_t first, uint32_t skip,
                            uint32_t *at)
{
    return cdc_gather(masks, blocks, first, skip, at);
}

INLINE __m512i round_key(const struct cairn_chunker_handle *c, int r)
{
    return _mm512_broadcast_i32x4(_mm_load_si128((const __m128i *)(const void *)c->round_keys[r]));
}

/* The four 16-byte blocks of four windows, transposed: blocks[j] holds block j of each. */
INLINE void load_windows(const uint8_t *data, const uint32_t *at, __m512i blocks[4])
{
    __m512i w0 = _mm512_loadu_si512(data + at[0] - CDC_WINDOW);
    __m512i w1 = _mm512_loadu_si512(data + at[1] - CDC_WINDOW);
    __m512i w2 = _mm512_loadu_si512(data + at[2] - CDC_WINDOW);
    __m512i w3 = _mm512_loadu_si512(data + at[3] - CDC_WINDOW);
    __m512i low01 = _mm512_shuffle_i32x4(w0, w1, 0x44), high01 = _mm512_shuffle_i32x4(w0, w1, 0xee);
    __m512i low23 = _mm512_shuffle_i32x4(w2, w3, 0x44), high23 = _mm512_shuffle_i32x4(w2, w3, 0xee);

    blocks[0] = _mm512_shuffle_i32x4(low01, low23, 0x88);
    blocks[1] = _mm512_shuffle_i32x4(low01, low23, 0xdd);
    blocks[2] = _mm512_shuffle_i32x4(high01, high23, 0x88);
    blocks[3] = _mm512_shuffle_i32x4(high01, high23, 0xdd);
}

TARGET static void decide_streams(const struct cairn_chunker_handle *c, const uint8_t *data,
                                  const uint32_t *at, uint64_t *out)
{
    __m512i blocks[STREAMS][4], state[STREAMS];

    for (int s = 0; s < STREAMS; s++) {
        load_windows(data, at + LANES * s, blocks[s]);
        state[s] = _mm512_setzero_si512();
    }
    for (int j = 0; j < 4; j++) {
        for (int s = 0; s < STREAMS; s++)
            state[s] = _mm512_xor_si512(_mm512_xor_si512(state[s], blocks[s][j]), round_key(c, 0));
        for (int r = 1; r < CDC_AES_ROUNDS; r++)
            for (int s = 0; s < STREAMS; s++)
                state[s] = _mm512_aesenc_epi128(state[s], round_key(c, r));
        for (int s = 0; s < STREAMS; s++)
            state[s] = _mm512_aesenclast_epi128(state[s], round_key(c, CDC_AES_ROUNDS));
    }
    for (int s = 0; s < STREAMS; s++) {
        const __m512i low = _mm512_set_epi64(0, 0, 0, 0, 6, 4, 2, 0);

        _mm256_storeu_si256((__m256i *)(void *)(out + LANES * s),
                            _mm512_castsi512_si256(_mm512_permutexvar_epi64(low, state[s])));
    }
}

TARGET static void decide(const struct cairn_chunker_handle *c, const uint8_t *data,
                          const uint32_t *at, size_t count, uint64_t *out)
{
    const size_t step = LANES * STREAMS;
    size_t done = 0;

    for (; count - done >= step; done += step)
        decide_streams(c, data, at + done, out + done);
    if (done < count) {
        uint32_t rest_at[LANES * STREAMS];
        uint64_t rest_out[LANES * STREAMS];

        for (size_t i = 0; i < step; i++)
            rest_at[i] = at[done + i < count ? done + i : done];
        decide_streams(c, data, rest_at, rest_out);
        for (size_t i = 0; done + i < count; i++)
            out[done + i] = rest_out[i];
    }
}

const struct cairn_chunker_ops *cairn_chunker_ops_avx512(void)
{
    static const struct cairn_chunker_ops ops = {
        .name = "avx512", .scan = scan, .scan_both = scan_both, .gather = gather, .decide = decide};
    unsigned a, b, cx, d;

    /* The first question also answers whether the system saves these registers. */
    if (!__builtin_cpu_supports("avx512bw") || !__builtin_cpu_supports("avx512vl") ||
        !__builtin_cpu_supports("avx512vbmi") || !__builtin_cpu_supports("bmi2"))
        return NULL;
    if (!__get_cpuid_count(7, 0, &a, &b, &cx, &d) || (cx & CPUID7_ECX_VAES) == 0)
        return NULL;
    return &ops;
}

#else

const struct cairn_chunker_ops *cairn_chunker_ops_avx512(void)
{
    return NULL;
}

#endif
