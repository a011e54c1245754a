/* SPDX-License-Identifier: Apache-2.0 */
#include "store/run.h"

#include <string.h>
#include <sys/mman.h>

#include "base/error.h"
#include "store/run_internal.h"

int cairn_run_init(struct cairn_run *run, const uint8_t *bytes, size_t len, struct cairn_error *err)
{
    struct cairn_run r = {.bytes = bytes, .len = len};
    if (len < CAIRN_RUN_HEADER_BYTES || memcmp(bytes, cairn_run_magic, 8) != 0 ||
        cairn_load_u32(bytes + 8) != 1 || cairn_load_u32(bytes + 12) != 0 ||
        cairn_load_u64(bytes + 16) != 0)
        return cairn_error_set(err, CAIRN_CORRUPT, 0, "an index segment has a damaged head");
    r.pack_count = cairn_load_u32(bytes + 24);
    r.superseded_count = cairn_load_u32(bytes + 28);
    r.frame_count = cairn_load_u64(bytes + 32);
    r.chunk_count = cairn_load_u64(bytes + 40);
    uint64_t left = len - CAIRN_RUN_HEADER_BYTES;
    uint64_t packs = (uint64_t)r.pack_count * CAIRN_RUN_PACK_BYTES;
    uint64_t superseded = (uint64_t)r.superseded_count * 32;
    if (cairn_load_u64(bytes + 48) != 0 || r.frame_count > left / CAIRN_FRAME_RECORD_BYTES ||
        r.chunk_count > left / CAIRN_RUN_CHUNK_BYTES ||
        packs + superseded + r.frame_count * CAIRN_FRAME_RECORD_BYTES +
                r.chunk_count * CAIRN_RUN_CHUNK_BYTES !=
            left)
        return cairn_error_set(err, CAIRN_CORRUPT, 0,
                               "an index segment has a length that contradicts its head");
    r.packs = bytes + CAIRN_RUN_HEADER_BYTES;
    r.superseded = r.packs + packs;
    r.frames = r.superseded + superseded;
    r.chunks = r.frames + r.frame_count * CAIRN_FRAME_RECORD_BYTES;
    *run = r;
    return CAIRN_OK;
}

void cairn_run_release(struct cairn_run *run)
{
    if (run->mapping)
        (void)munmap(run->mapping, run->mapping_len);
    cairn_buf_release(&run->owned);
    memset(run, 0, sizeof(*run));
}

void cairn_run_pack_at(const struct cairn_run *run, size_t i, struct cairn_run_pack *out)
{
    const uint8_t *p = run->packs + i * CAIRN_RUN_PACK_BYTES;
    memcpy(out->name.bytes, p, 32);
    out->length = cairn_load_u64(p + 32);
    out->first_frame = cairn_load_u64(p + 40);
    out->frame_count = cairn_load_u32(p + 48);
    out->chunk_count = cairn_load_u32(p + 52);
    out->type = p[56];
}

bool cairn_run_chunk_at(const struct cairn_run *run, uint64_t i, struct cairn_id *id,
                        struct cairn_location *out)
{
    const uint8_t *p = run->chunks + i * CAIRN_RUN_CHUNK_BYTES;
    uint32_t pack_number = cairn_load_u32(p + 32);
    struct cairn_run_pack pack;
    if (pack_number >= run->pack_count)
        return false;
    cairn_run_pack_at(run, pack_number, &pack);
    uint32_t frame = cairn_load_u32(p + 36);
    if (frame >= pack.frame_count || pack.first_frame > run->frame_count ||
        pack.frame_count > run->frame_count - pack.first_frame)
        return false;
    struct cairn_location loc = {
        .pack = pack.name,
        .pack_len = pack.length,
        .pack_type = pack.type,
        .frame_number = frame,
        .offset = cairn_load_u32(p + 40),
        .len = cairn_load_u32(p + 44),
    };
    const uint8_t *record = run->frames + (pack.first_frame + frame) * CAIRN_FRAME_RECORD_BYTES;
    if (cairn_frame_load(record, &loc.frame, NULL) != CAIRN_OK || loc.len == 0 ||
        loc.offset > loc.frame.plain_len || loc.len > loc.frame.plain_len - loc.offset ||
        (uint64_t)loc.frame.offset + loc.frame.stored_len > loc.pack_len)
        return false;
    memcpy(id->bytes, p, 32);
    *out = loc;
    return true;
}

/* The first 8 bytes of an id as a number that sorts like the bytes. */
static uint64_t prefix_of(const uint8_t *id)
{
    return __builtin_bswap64(cairn_load_u64(id));
}

/* The lowest position whose id is not below `id`. Interpolates while the range is wide: the
 * expected error of a guess is about the square root of the range, so two or three guesses end in
 * one page. */
static uint64_t lower_bound(const struct cairn_run *run, const uint8_t *id)
{
    uint64_t low = 0, high = run->chunk_count;
    uint64_t low_key = 0, high_key = UINT64_MAX;
    const uint64_t key = prefix_of(id);
    for (int guesses = 0; high - low > 64 && guesses < 8; guesses++) {
        uint64_t width = high - low;
        double part =
            high_key > low_key ? (double)(key - low_key) / (double)(high_key - low_key) : 0.5;
        uint64_t guess = low + (uint64_t)((double)width * part);
        /* A margin on the side of the expected error keeps the next range narrow on both sides. */
        uint64_t margin = 8 + (width >> 12);
        uint64_t left = guess > low + margin ? guess - margin : low;
        uint64_t right = guess + margin < high ? guess + margin : high - 1;
        if (left > low && memcmp(run->chunks + left * CAIRN_RUN_CHUNK_BYTES, id, 32) >= 0) {
            high = left;
            high_key = prefix_of(run->chunks + left * CAIRN_RUN_CHUNK_BYTES);
            if (high_key < key)
                high_key = key;
            continue;
        }
        if (memcmp(run->chunks + right * CAIRN_RUN_CHUNK_BYTES, id, 32) < 0) {
            low = right + 1;
            low_key = prefix_of(run->chunks + right * CAIRN_RUN_CHUNK_BYTES);
            if (low_key > key)
                low_key = key;
            continue;
        }
        low = left;
        high = right;
        break;
    }
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (memcmp(run->chunks + middle * CAIRN_RUN_CHUNK_BYTES, id, 32) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bool cairn_run_find(const struct cairn_run *run, const struct cairn_id *id,
                    struct cairn_location *out)
{
    if (run->chunk_count == 0)
        return false;
    for (uint64_t i = lower_bound(run, id->bytes); i < run->chunk_count; i++) {
        struct cairn_id found;
        if (memcmp(run->chunks + i * CAIRN_RUN_CHUNK_BYTES, id->bytes, 32) != 0)
            return false;
        if (cairn_run_chunk_at(run, i, &found, out))
            return true;
    }
    return false;
}
