/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "store/run.h"
#include "store/run_internal.h"

const char cairn_run_magic[8] = {'c', 'a', 'i', 'r', 'n', 'i', 'd', 'x'};

static int compare_records(const void *a, const void *b)
{
    int order = memcmp(a, b, 32);
    if (order != 0)
        return order;
    uint32_t x = cairn_load_u32((const uint8_t *)a + 32);
    uint32_t y = cairn_load_u32((const uint8_t *)b + 32);
    return x < y ? -1 : x > y;
}

static void put_packs(const struct cairn_run_source *sources, size_t count, struct cairn_buf *out)
{
    uint64_t first_frame = 0;
    for (size_t i = 0; i < count; i++) {
        const struct cairn_pack_contents *c = sources[i].contents;
        cairn_buf_put(out, sources[i].name.bytes, 32);
        cairn_buf_put_u64(out, c->length);
        cairn_buf_put_u64(out, first_frame);
        cairn_buf_put_u32(out, (uint32_t)c->frame_count);
        cairn_buf_put_u32(out, (uint32_t)c->chunk_count);
        cairn_buf_put_u8(out, (uint8_t)sources[i].type);
        cairn_buf_put_zero(out, 7);
        first_frame += c->frame_count;
    }
}

int cairn_run_build(const struct cairn_run_source *sources, size_t count,
                    const struct cairn_id *superseded, size_t superseded_count,
                    struct cairn_buf *out, struct cairn_error *err)
{
    uint64_t frames = 0, chunks = 0;
    for (size_t i = 0; i < count; i++) {
        frames += sources[i].contents->frame_count;
        chunks += sources[i].contents->chunk_count;
    }
    if (chunks > CAIRN_RUN_CHUNKS_MAX || count > UINT32_MAX)
        return cairn_error_set(err, CAIRN_LIMIT, 0, "too many chunks for one index segment");
    cairn_buf_clear(out);
    (void)cairn_buf_reserve(out, CAIRN_RUN_HEADER_BYTES + count * CAIRN_RUN_PACK_BYTES +
                                     superseded_count * 32 + frames * CAIRN_FRAME_RECORD_BYTES +
                                     chunks * CAIRN_RUN_CHUNK_BYTES);
    cairn_buf_put(out, cairn_run_magic, sizeof(cairn_run_magic));
    cairn_buf_put_u32(out, 1);
    cairn_buf_put_zero(out, 12);
    cairn_buf_put_u32(out, (uint32_t)count);
    cairn_buf_put_u32(out, (uint32_t)superseded_count);
    cairn_buf_put_u64(out, frames);
    cairn_buf_put_u64(out, chunks);
    cairn_buf_put_zero(out, 8);
    put_packs(sources, count, out);
    cairn_buf_put(out, superseded, superseded_count * 32);
    for (size_t i = 0; i < count; i++) {
        for (size_t f = 0; f < sources[i].contents->frame_count; f++) {
            uint8_t record[CAIRN_FRAME_RECORD_BYTES];
            cairn_frame_store(record, &sources[i].contents->frames[f]);
            cairn_buf_put(out, record, sizeof(record));
        }
    }
    size_t table = out->len;
    for (size_t i = 0; i < count; i++) {
        for (size_t c = 0; c < sources[i].contents->chunk_count; c++) {
            const struct cairn_pack_chunk *chunk = &sources[i].contents->chunks[c];
            cairn_buf_put(out, chunk->id.bytes, 32);
            cairn_buf_put_u32(out, (uint32_t)i);
            cairn_buf_put_u32(out, chunk->frame);
            cairn_buf_put_u32(out, chunk->offset);
            cairn_buf_put_u32(out, chunk->len);
        }
    }
    int status = cairn_buf_check(out, "an index segment", err);
    if (status == CAIRN_OK && chunks > 0)
        qsort(out->data + table, (size_t)chunks, CAIRN_RUN_CHUNK_BYTES, compare_records);
    return status;
}
