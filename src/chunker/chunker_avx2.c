/* SPDX-License-Identifier: Apache-2.0
 *
 * AVX2 and AES-NI: 32 positions a step, eight decisions side by side.
 */
#include "chunker/chunker_internal.h"

#if defined(__x86_64__)

#include <cpuid.h>
#include <immintrin.h>

#define TARGET __attribute__((target("avx2,aes,bmi,bmi2")))
#define INLINE static inline __attribute__((always_inline)) TARGET

#define CPUID1_ECX_AES (1u << 25)
#define STREAMS 8 /* decisions in flight, to cover the latency of an AES round */

INLINE __m256i load(const uint8_t *p)
{
    return _mm256_loadu_si256((const __m256i *)(const void *)p);
}

#define PREFETCH_BYTES 1024

/* Sums for the 16 positions p, p + 2, ..., p + 30, the one for position p + 2 i in lane i. */
INLINE __m256i weigh(const uint8_t *p, const __m256i *mult)
{
    __m256i sum = _mm256_mullo_epi16(load(p - 2 * CDC_TAPS), mult[0]);

    for (int k = 1; k < CDC_TAPS; k++)
        sum = _mm256_add_epi16(sum, _mm256_mullo_epi16(load(p - 2 * CDC_TAPS + 2 * k), mult[k]));
    return sum;
}

/* The second predicate's sums; before: the first sums of the 32 positions before these. */
INLINE __m256i chain(__m256i sums, __m256i before, __m256i mult)
{
    __m256i middle = _mm256_permute2x128_si256(before, sums, 0x21);

    return _mm256_add_epi16(sums, _mm256_mullo_epi16(_mm256_alignr_epi8(sums, middle, 8), mult));
}

/* Where the deciding bits of the 32 sums, of the even positions and of the odd ones, match: all
 * ones in the byte of the position. */
INLINE __m256i match(__m256i even, __m256i odd, uint16_t bits, __m256i wanted)
{
    const __m256i high = _mm256_set1_epi16((short)0xff00);
    __m256i sums = _mm256_or_si256(_mm256_srli_epi16(even, 8), _mm256_and_si256(odd, high));

    return _mm256_cmpeq_epi8(_mm256_and_si256(sums, _mm256_set1_epi8((char)(bits >> 8))), wanted);
}

INLINE uint64_t combine(__m256i low, __m256i high)
{
    return (uint32_t)_mm256_movemask_epi8(low) | (uint64_t)(uint32_t)_mm256_movemask_epi8(high)
                                                     << 32;
}

INLINE void load_mult(const struct cairn_chunker_handle *c, __m256i *mult)
{
    for (int k = 0; k < CDC_TAPS; k++)
        mult[k] = _mm256_set1_epi16((short)c->mult[k]);
}

TARGET static void scan(const struct cairn_chunker_handle *c, const uint8_t *base, size_t blocks,
                        uint64_t *masks)
{
    const __m256i wanted = _mm256_set1_epi8((char)(c->match1 >> 8));
    __m256i mult[CDC_TAPS];

    load_mult(c, mult);
    for (size_t b = 0; b < blocks; b++, base += CDC_BLOCK) {
        _mm_prefetch((const char *)base + PREFETCH_BYTES, _MM_HINT_T0);
        masks[b] =
            combine(match(weigh(base, mult), weigh(base + 1, mult), CDC_MATCH1, wanted),
                    match(weigh(base + 32, mult), weigh(base + 33, mult), CDC_MATCH1, wanted));
    }
}

TARGET static void scan_both(const struct cairn_chunker_handle *c, const uint8_t *base,
                             size_t blocks, uint64_t *masks)
{
    const __m256i wanted1 = _mm256_set1_epi8((char)(c->match1 >> 8));
    const __m256i wanted2 = _mm256_set1_epi8((char)(c->match2 >> 8));
    const __m256i chain_mult = _mm256_set1_epi16((short)c->chain);
    __m256i mult[CDC_TAPS], even_before, odd_before;

    load_mult(c, mult);
    even_before = weigh(base - 32, mult);
    odd_before = weigh(base - 31, mult);
    for (size_t b = 0; b < blocks; b++) {
        __m256i half[2];

        _mm_prefetch((const char *)base + PREFETCH_BYTES, _MM_HINT_T0);
        for (int h = 0; h < 2; h++, base += 32) {
            __m256i even = weigh(base, mult), odd = weigh(base + 1, mult);

            half[h] =
                _mm256_or_si256(match(even, odd, CDC_MATCH1, wanted1),
                                match(chain(even, even_before, chain_mult),
                                      chain(odd, odd_before, chain_mult), CDC_MATCH2, wanted2));
            even_before = even;
            odd_before = odd;
        }
        masks[b] = combine(half[0], half[1]);
    }
}

TARGET static size_t gather(const uint64_t *masks, size_t blocks, uint32_t first, uint32_t skip,
                            uint32_t *at)
{
    return cdc_gather(masks, blocks, first, skip, at);
}

INLINE __m128i load16(const uint8_t *p)
{
    return _mm_loadu_si128((const __m128i *)(const void *)p);
}

TARGET static void decide_streams(const struct cairn_chunker_handle *c, const uint8_t *data,
                                  const uint32_t *at, uint64_t *out)
{
    __m128i state[STREAMS];

    for (int s = 0; s < STREAMS; s++)
        state[s] = _mm_setzero_si128();
    for (int j = 0; j < CDC_WINDOW; j += 16) {
        __m128i key = load16(c->round_keys[0]);

        for (int s = 0; s < STREAMS; s++)
            state[s] =
                _mm_xor_si128(_mm_xor_si128(state[s], load16(data + at[s] - CDC_WINDOW + j)), key);
        for (int r = 1; r < CDC_AES_ROUNDS; r++) {
            key = load16(c->round_keys[r]);
            for (int s = 0; s < STREAMS; s++)
                state[s] = _mm_aesenc_si128(state[s], key);
        }
        key = load16(c->round_keys[CDC_AES_ROUNDS]);
        for (int s = 0; s < STREAMS; s++)
            state[s] = _mm_aesenclast_si128(state[s], key);
    }
    for (int s = 0; s < STREAMS; s++)
        out[s] = (uint64_t)_mm_cvtsi128_si64(state[s]);
}

TARGET static void decide(const struct cairn_chunker_handle *c, const uint8_t *data,
                          const uint32_t *at, size_t count, uint64_t *out)
{
    size_t done = 0;

    for (; count - done >= STREAMS; done += STREAMS)
        decide_streams(c, data, at + done, out + done);
    if (done < count) {
        uint32_t rest_at[STREAMS];
        uint64_t rest_out[STREAMS];

        for (size_t i = 0; i < STREAMS; i++)
            rest_at[i] = at[done + i < count ? done + i : done];
        decide_streams(c, data, rest_at, rest_out);
        for (size_t i = 0; done + i < count; i++)
            out[done + i] = rest_out[i];
    }
}

const struct cairn_chunker_ops *cairn_chunker_ops_avx2(void)
{
    static const struct cairn_chunker_ops ops = {
        .name = "avx2", .scan = scan, .scan_both = scan_both, .gather = gather, .decide = decide};
    unsigned a, b, cx, d;

    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("bmi2"))
        return NULL;
    if (!__get_cpuid(1, &a, &b, &cx, &d) || (cx & CPUID1_ECX_AES) == 0)
        return NULL;
    return &ops;
}

#else

const struct cairn_chunker_ops *cairn_chunker_ops_avx2(void)
{
    return NULL;
}

#endif
