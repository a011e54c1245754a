/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/error.h"
#include "store/run.h"

static int verify_packs(const struct cairn_run *run, struct cairn_error *err)
{
    uint64_t frames = 0, chunks = 0;
    for (size_t i = 0; i < run->pack_count; i++) {
        struct cairn_run_pack pack;
        cairn_run_pack_at(run, i, &pack);
        const uint8_t *tail = run->packs + i * CAIRN_RUN_PACK_BYTES + 57;
        if (pack.first_frame != frames || pack.frame_count == 0 ||
            pack.type < CAIRN_OBJECT_DATA_PACK || pack.type > CAIRN_OBJECT_OBJECT_PACK ||
            pack.length > CAIRN_PACK_BYTES_MAX || memcmp(tail, "\0\0\0\0\0\0", 7) != 0)
            return cairn_error_set(err, CAIRN_CORRUPT, 0, "an index segment's pack %zu is damaged",
                                   i);
        frames += pack.frame_count;
        chunks += pack.chunk_count;
    }
    if (frames != run->frame_count || chunks != run->chunk_count)
        return cairn_error_set(err, CAIRN_CORRUPT, 0, "an index segment's counts do not add up");
    return CAIRN_OK;
}

int cairn_run_verify(const struct cairn_run *run, struct cairn_error *err)
{
    int status = verify_packs(run, err);
    const uint8_t *before = NULL;
    for (uint64_t i = 0; status == CAIRN_OK && i < run->chunk_count; i++) {
        const uint8_t *record = run->chunks + i * CAIRN_RUN_CHUNK_BYTES;
        struct cairn_id id;
        struct cairn_location location;
        if (!cairn_run_chunk_at(run, i, &id, &location) ||
            (before && memcmp(before, record, 32) > 0))
            status =
                cairn_error_set(err, CAIRN_CORRUPT, 0, "an index segment's chunk %llu is damaged",
                                (unsigned long long)i);
        before = record;
    }
    return status;
}
