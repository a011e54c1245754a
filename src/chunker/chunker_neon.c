/* SPDX-License-Identifier: Apache-2.0
 *
 * AArch64 with its AES instructions: 64 positions a step, eight decisions side by side.
 */
#include "chunker/chunker_internal.h"

#if defined(__aarch64__) && defined(__linux__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__

#include <arm_neon.h>
#include <sys/auxv.h>

#define HWCAP_AES_BIT (1ul << 3)
#if defined(__clang__)
#define TARGET __attribute__((target("aes")))
#else
#define TARGET __attribute__((target("+crypto")))
#endif
#define INLINE static inline __attribute__((always_inline))

#define STREAMS 8 /* decisions in flight, to cover the latency of an AES round */

INLINE uint16x8_t load(const uint8_t *p)
{
    return vreinterpretq_u16_u8(vld1q_u8(p));
}

/* Sums for the 8 positions p, p + 2, ..., p + 14, the one for position p + 2 i in lane i. */
INLINE uint16x8_t weigh(const struct cairn_chunker_handle *c, const uint8_t *p)
{
    uint16x8_t sum = vmulq_n_u16(load(p - 2 * CDC_TAPS), c->mult[0]);

    for (int k = 1; k < CDC_TAPS; k++)
        sum = vmlaq_n_u16(sum, load(p - 2 * CDC_TAPS + 2 * k), c->mult[k]);
    return sum;
}

/* Where the deciding bits of the 16 sums, of the even positions and of the odd ones, match: all
 * ones in the byte of the position. */
INLINE uint8x16_t match(uint16x8_t even, uint16x8_t odd, uint16_t bits, uint16_t wanted)
{
    uint8x16_t sums = vreinterpretq_u8_u16(vsriq_n_u16(odd, even, 8));

    return vceqq_u8(vandq_u8(sums, vdupq_n_u8((uint8_t)(bits >> 8))),
                    vdupq_n_u8((uint8_t)(wanted >> 8)));
}

INLINE uint64_t combine(uint8x16_t a, uint8x16_t b, uint8x16_t c, uint8x16_t d)
{
    const uint8x16_t bit = {1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};
    uint8x16_t ab = vpaddq_u8(vandq_u8(a, bit), vandq_u8(b, bit));
    uint8x16_t cd = vpaddq_u8(vandq_u8(c, bit), vandq_u8(d, bit));
    uint8x16_t all = vpaddq_u8(ab, cd);

    all = vpaddq_u8(all, all);
    return vgetq_lane_u64(vreinterpretq_u64_u8(all), 0);
}

INLINE uint8x16_t fires(const struct cairn_chunker_handle *c, const uint8_t *p)
{
    return match(weigh(c, p), weigh(c, p + 1), CDC_MATCH1, c->match1);
}

static void scan(const struct cairn_chunker_handle *c, const uint8_t *base, size_t blocks,
                 uint64_t *masks)
{
    for (size_t b = 0; b < blocks; b++, base += CDC_BLOCK)
        masks[b] =
            combine(fires(c, base), fires(c, base + 16), fires(c, base + 32), fires(c, base + 48));
}

static void scan_both(const struct cairn_chunker_handle *c, const uint8_t *base, size_t blocks,
                      uint64_t *masks)
{
    uint16x8_t even_before = weigh(c, base - 16), odd_before = weigh(c, base - 15);

    for (size_t b = 0; b < blocks; b++) {
        uint8x16_t quarter[4];

        for (int q = 0; q < 4; q++, base += 16) {
            uint16x8_t even = weigh(c, base), odd = weigh(c, base + 1);
            uint16x8_t even2 = vmlaq_n_u16(even, vextq_u16(even_before, even, 4), c->chain);
            uint16x8_t odd2 = vmlaq_n_u16(odd, vextq_u16(odd_before, odd, 4), c->chain);

            quarter[q] = vorrq_u8(match(even, odd, CDC_MATCH1, c->match1),
                                  match(even2, odd2, CDC_MATCH2, c->match2));
            even_before = even;
            odd_before = odd;
        }
        masks[b] = combine(quarter[0], quarter[1], quarter[2], quarter[3]);
    }
}

static size_t gather(const uint64_t *masks, size_t blocks, uint32_t first, uint32_t skip,
                     uint32_t *at)
{
    return cdc_gather(masks, blocks, first, skip, at);
}

TARGET static void decide_streams(const struct cairn_chunker_handle *c, const uint8_t *data,
                                  const uint32_t *at, uint64_t *out)
{
    const uint8x16_t last = vld1q_u8(c->round_keys[CDC_AES_ROUNDS]);
    uint8x16_t state[STREAMS];

    for (int s = 0; s < STREAMS; s++)
        state[s] = vdupq_n_u8(0);
    for (int j = 0; j < CDC_WINDOW; j += 16) {
        for (int s = 0; s < STREAMS; s++)
            state[s] = veorq_u8(state[s], vld1q_u8(data + at[s] - CDC_WINDOW + j));
        for (int r = 0; r < CDC_AES_ROUNDS; r++) {
            uint8x16_t key = vld1q_u8(c->round_keys[r]);

            for (int s = 0; s < STREAMS; s++) {
                state[s] = vaeseq_u8(state[s], key);
                if (r < CDC_AES_ROUNDS - 1)
                    state[s] = vaesmcq_u8(state[s]);
            }
        }
        for (int s = 0; s < STREAMS; s++)
            state[s] = veorq_u8(state[s], last);
    }
    for (int s = 0; s < STREAMS; s++)
        out[s] = vgetq_lane_u64(vreinterpretq_u64_u8(state[s]), 0);
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

const struct cairn_chunker_ops *cairn_chunker_ops_neon(void)
{
    static const struct cairn_chunker_ops ops = {
        .name = "neon", .scan = scan, .scan_both = scan_both, .gather = gather, .decide = decide};

    return (getauxval(AT_HWCAP) & HWCAP_AES_BIT) != 0 ? &ops : NULL;
}

#else

const struct cairn_chunker_ops *cairn_chunker_ops_neon(void)
{
    return NULL;
}

#endif
