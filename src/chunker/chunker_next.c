/* SPDX-License-Identifier: Apache-2.0
 *
 * The search for the next cut; all of cairn-cdc-1 that is the same in every implementation.
 *
 * Invariants:
 * 1. Whether p is a candidate depends on the fires between the scan's start (the minimum) and p,
 *    never on where a buffer or a batch ended.
 * 2. *scanned = s means: no position up to s cuts, and position s + 1 is free to be a candidate.
 *    So s is all the state there is between two calls.
 */
#include "chunker/chunker_internal.h"

#include <string.h>

/* Positions looked at together: enough candidates to keep the AES units busy, small enough that
 * what is looked at in vain behind a cut, and the bytes read twice, stay in the first cache. */
#define BATCH_POSITIONS 8192u
#define BATCH_BLOCKS (BATCH_POSITIONS / CDC_BLOCK)

struct batch {
    uint64_t masks[BATCH_BLOCKS];
    uint64_t values[BATCH_BLOCKS];
    uint32_t at[BATCH_BLOCKS]; /* candidates: one a block at most */
    size_t count;
};

/* The fires at positions first..last, bit 0 of masks[0] being first. */
static void scan(const struct cairn_chunker_handle *c, const uint8_t *data, uint32_t first,
                 uint32_t last, bool both, uint64_t *masks)
{
    void (*fn)(const struct cairn_chunker_handle *, const uint8_t *, size_t, uint64_t *) =
        both ? c->ops->scan_both : c->ops->scan;
    uint32_t count = last - first + 1;
    uint32_t whole = count / CDC_BLOCK;
    uint32_t rest = count % CDC_BLOCK;

    fn(c, data + first, whole, masks);
    if (rest != 0) {
        /* The last block ends at last and overlaps the one before: nothing behind last is read. */
        fn(c, data + last - (CDC_BLOCK - 1), 1, masks + whole);
        masks[whole] >>= CDC_BLOCK - rest;
    }
}

/* The candidates among the fires at positions first..., none before *allowed, which moves on. */
static void gather(const struct cairn_chunker_handle *c, struct batch *b, uint32_t first,
                   size_t blocks, uint32_t *allowed)
{
    uint32_t skip = *allowed > first ? *allowed - first : 0;

    b->count = c->ops->gather(b->masks, blocks, first, skip, b->at);
    if (b->count != 0)
        *allowed = b->at[b->count - 1] + CDC_SPACING;
}

/* The first of the candidates that cuts: its index, or count. */
static size_t find_cut(const struct cairn_chunker_handle *c, const struct batch *b)
{
    size_t i = 0;

    while (i < b->count &&
           (uint32_t)b->values[i] >= (b->at[i] < c->avg ? c->limit_low : c->limit_high))
        i++;
    return i;
}

static uint32_t min_u32(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

static size_t next_dynamic(const struct cairn_chunker_handle *c, const uint8_t *data, size_t len,
                           bool is_end, size_t *scanned)
{
    const uint32_t known = len < c->max ? (uint32_t)len : c->max;
    const uint32_t second = 2 * c->avg;
    struct batch b;
    uint32_t first = *scanned < c->min ? c->min : (uint32_t)(*scanned + 1);
    uint32_t allowed = first;

    while (first <= known) {
        bool both = first >= second;
        uint32_t last = min_u32(known, first + (BATCH_POSITIONS - 1));
        size_t cut;

        if (!both)
            last = min_u32(last, second - 1);
        scan(c, data, first, last, both, b.masks);
        gather(c, &b, first, (last - first) / CDC_BLOCK + 1, &allowed);
        c->ops->decide(c, data, b.at, b.count, b.values);
        cut = find_cut(c, &b);
        if (cut < b.count) {
            uint32_t at = b.at[cut] + ((uint32_t)(b.values[cut] >> 32) & c->displace_mask);

            at = min_u32(at, c->max);
            if (at <= known)
                return at;
            if (is_end)
                return len;
            *scanned = b.at[cut] - 1;
            return 0;
        }
        first = last + 1;
    }
    if (is_end || known == c->max)
        return known;
    if (known >= c->min)
        *scanned = allowed > known ? allowed - 1 : known;
    return 0;
}

size_t cairn_chunker_next_resume(const struct cairn_chunker_handle *c, const uint8_t *data,
                                 size_t len, bool is_end, size_t *scanned)
{
    if (len <= c->min && is_end)
        return len;
    if (len < c->min)
        return 0;
    if (c->kind == CAIRN_CHUNKER_FIXED)
        return c->avg;
    return next_dynamic(c, data, len, is_end, scanned);
}

size_t cairn_chunker_next(const struct cairn_chunker_handle *c, const uint8_t *data, size_t len,
                          bool is_end)
{
    size_t scanned = 0;

    return cairn_chunker_next_resume(c, data, len, is_end, &scanned);
}
