/* SPDX-License-Identifier: Apache-2.0
 *
 * The search for the next cut; all of cairn-cdc-1 that is the same in every implementation.
 *
 * Invariants:
 * 1. Whether p is a candidate depends on the fires between the scan's start (the minimum) and p,
 *    never on where a buffer or a batch ended.
 * 2. What follows a candidate is determined by the bytes behind it, the predicates and the limit
 *    in force. So where data repeats, everything does, and it can be skipped (skip_repeats).
 * 3. *scanned = s means: no position up to s cuts, and position s + 1 is free to be a candidate.
 *    So s is all the state there is between two calls.
 */
#include "chunker/chunker_internal.h"

#include <string.h>

/* Positions looked at together: enough candidates to keep the AES units busy, small enough that
 * what is looked at in vain behind a cut, and the bytes read twice, stay in the first cache. */
#define BATCH_POSITIONS 8192u
#define REPEAT_STEP 1024u        /* bytes compared at a time */
#define REPEAT_PERIOD_MAX 65536u /* longer periods are not looked for */
#define BARREN_PERIOD_MAX 512u   /* likewise where there are no candidates */
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
           (uint32_t)b->values[i] >= (b->at[i] < c->turn ? c->limit_low : c->limit_high))
        i++;
    return i;
}

static uint32_t min_u32(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

/* Bytes compared from end on, a step at a time, that are as they were a period before; none at or
 * behind last. Returns the first that was not compared equal, or end. */
static uint32_t end_of_repeat(const uint8_t *data, uint32_t end, uint32_t period, uint32_t last)
{
    while (end + REPEAT_STEP <= last && memcmp(data + end, data + end - period, REPEAT_STEP) == 0)
        end += REPEAT_STEP;
    return end;
}

/* The last position up to which other predicates or limits do not come into force behind p. */
static uint32_t last_alike(const struct cairn_chunker_handle *c, uint32_t p, uint32_t known)
{
    if (p < c->turn)
        return min_u32(known, c->turn - 1);
    return p < 2 * c->avg ? min_u32(known, 2 * c->avg - 1) : known;
}

/* Data that repeats: at and mark, at > mark, are candidates that do not cut, behind the same bytes.
 * As long as the data goes on as it did a period ago, so do the candidates, and none of them cuts.
 * Returns the last candidate that is known in this way, or at. */
static uint32_t follow_repeat(const struct cairn_chunker_handle *c, const uint8_t *data,
                              uint32_t mark, uint32_t at, uint32_t known)
{
    const uint32_t period = at - mark;
    uint32_t end = end_of_repeat(data, at, period, last_alike(c, mark, known));

    return at + (end - at) / period * period;
}

/* first..last held no candidate, which only degenerate data (zeros) brings about. If it repeats at
 * a short period, there will be none as long as it does. Returns the last position known to be
 * none, of those under the same predicates; last or more. */
static uint32_t skip_barren(const struct cairn_chunker_handle *c, const uint8_t *data,
                            uint32_t first, uint32_t last, uint32_t known)
{
    const uint32_t alike = first < 2 * c->avg ? min_u32(known, 2 * c->avg - 1) : known;
    const uint8_t *tail = data + last - 8;
    uint32_t period = 1, end;

    /* A whole period without a fire, even one that an earlier candidate would have hidden. */
    if (last - first < BARREN_PERIOD_MAX + CDC_SPACING)
        return last;
    while (period <= BARREN_PERIOD_MAX && memcmp(tail, tail - period, 8) != 0)
        period++;
    if (period > BARREN_PERIOD_MAX)
        return last;
    /* Behind last the second predicate looks at these 16 bytes again. */
    end = end_of_repeat(data, last - 16, period, alike);
    return end > last ? end : last;
}

/* Having found no cut in the batch, looks for a candidate behind the same bytes as *mark, and
 * moves *mark on now and then, so that repetition is noticed wherever it begins. Returns a
 * candidate up to which nothing cuts, or 0. Random data rarely gets here: only beyond the average
 * chunk. */
static uint32_t skip_repeats(const struct cairn_chunker_handle *c, const uint8_t *data,
                             const struct batch *b, uint32_t *mark, uint32_t known)
{
    const uint8_t *wanted;

    if (b->count == 0)
        return 0;
    if (*mark == 0 || b->at[0] - *mark > REPEAT_PERIOD_MAX ||
        last_alike(c, *mark, known) < b->at[0]) {
        *mark = b->at[b->count - 1];
        return 0;
    }
    wanted = data + *mark - CDC_WINDOW;
    for (size_t i = 0; i < b->count; i++) {
        const uint8_t *window = data + b->at[i] - CDC_WINDOW;

        /* the first comparison is one instruction, the second a call */
        if (memcmp(window, wanted, 8) == 0 && memcmp(window, wanted, CDC_WINDOW) == 0)
            return follow_repeat(c, data, *mark, b->at[i], known);
    }
    return 0;
}

static size_t next_dynamic(const struct cairn_chunker_handle *c, const uint8_t *data, size_t len,
                           bool is_end, size_t *scanned)
{
    const uint32_t known = len < c->max ? (uint32_t)len : c->max;
    const uint32_t second = 2 * c->avg;
    struct batch b;
    uint32_t first = *scanned < c->min ? c->min : (uint32_t)(*scanned + 1);
    uint32_t allowed = first, mark = 0;
    bool tried_barren[2] = {false, false};

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
        if (b.count == 0 && !tried_barren[both]) {
            tried_barren[both] = true;
            last = skip_barren(c, data, first, last, known);
        }
        first = last + 1;
        if (first > c->avg) {
            uint32_t at = skip_repeats(c, data, &b, &mark, known);

            if (at + CDC_SPACING > first) {
                allowed = at + CDC_SPACING;
                first = allowed;
            }
        }
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
