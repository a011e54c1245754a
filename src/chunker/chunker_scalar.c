/* SPDX-License-Identifier: Apache-2.0
 *
 * The portable implementation, and the reading copy of the predicates and the decision.
 */
#include "chunker/chunker_internal.h"

#include <string.h>

static uint16_t load16(const uint8_t *p)
{
    return (uint16_t)(p[0] | p[1] << 8);
}

/* Sum of word times multiplier modulo 2^16 over the words before p. */
static uint16_t weigh(const struct cairn_chunker_handle *c, const uint8_t *p)
{
    uint32_t sum = 0;

    for (unsigned k = 0; k < CDC_TAPS; k++)
        sum += (uint32_t)load16(p - 2 * CDC_TAPS + 2 * k) * c->mult[k];
    return (uint16_t)sum;
}

static bool fires1(const struct cairn_chunker_handle *c, const uint8_t *p)
{
    return (weigh(c, p) & CDC_MATCH1) == c->match1;
}

static bool fires2(const struct cairn_chunker_handle *c, const uint8_t *p)
{
    uint32_t sum = weigh(c, p) + (uint32_t)c->chain * weigh(c, p - 2 * CDC_TAPS);

    return (sum & CDC_MATCH2) == c->match2;
}

static void scan(const struct cairn_chunker_handle *c, const uint8_t *base, size_t blocks,
                 uint64_t *masks)
{
    for (size_t b = 0; b < blocks; b++, base += CDC_BLOCK) {
        uint64_t mask = 0;

        for (unsigned i = 0; i < CDC_BLOCK; i++)
            mask |= (uint64_t)fires1(c, base + i) << i;
        masks[b] = mask;
    }
}

static void scan_both(const struct cairn_chunker_handle *c, const uint8_t *base, size_t blocks,
                      uint64_t *masks)
{
    for (size_t b = 0; b < blocks; b++, base += CDC_BLOCK) {
        uint64_t mask = 0;

        for (unsigned i = 0; i < CDC_BLOCK; i++)
            mask |= (uint64_t)(fires1(c, base + i) || fires2(c, base + i)) << i;
        masks[b] = mask;
    }
}

static size_t gather(const uint64_t *masks, size_t blocks, uint32_t first, uint32_t skip,
                     uint32_t *at)
{
    return cdc_gather(masks, blocks, first, skip, at);
}

static void decide(const struct cairn_chunker_handle *c, const uint8_t *data, const uint32_t *at,
                   size_t count, uint64_t *out)
{
    for (size_t i = 0; i < count; i++) {
        const uint8_t *window = data + at[i] - CDC_WINDOW;
        uint8_t block[16] = {0};
        uint64_t value = 0;

        for (unsigned j = 0; j < CDC_WINDOW; j += 16) {
            for (unsigned k = 0; k < 16; k++)
                block[k] ^= window[j + k];
            cairn_chunker_aes_encrypt(c->round_keys, block);
        }
        for (unsigned k = 0; k < 8; k++)
            value |= (uint64_t)block[k] << (8 * k);
        out[i] = value;
    }
}

const struct cairn_chunker_ops *cairn_chunker_ops_scalar(void)
{
    static const struct cairn_chunker_ops ops = {
        .name = "scalar", .scan = scan, .scan_both = scan_both, .gather = gather, .decide = decide};

    return &ops;
}
