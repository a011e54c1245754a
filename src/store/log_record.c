/* SPDX-License-Identifier: Apache-2.0 */
#include "store/log.h"

void cairn_log_put_bytes(struct cairn_buf *out, int tag, const void *bytes, size_t len)
{
    cairn_buf_put_varint(out, (uint64_t)tag);
    cairn_buf_put_bytes(out, bytes, len);
}

void cairn_log_put_id(struct cairn_buf *out, int tag, const struct cairn_id *id)
{
    cairn_log_put_bytes(out, tag, id->bytes, sizeof(id->bytes));
}

void cairn_log_put_genesis(struct cairn_buf *out, const struct cairn_genesis *genesis)
{
    cairn_buf_put_varint(out, CAIRN_LOG_GENESIS);
    cairn_buf_put_varint(out, 32 + 4 + 12 + 8);
    cairn_buf_put(out, genesis->config.bytes, 32);
    cairn_buf_put_u16(out, genesis->chunker);
    cairn_buf_put_u16(out, 0);
    cairn_buf_put_u32(out, genesis->chunk_avg);
    cairn_buf_put_u32(out, genesis->chunk_min);
    cairn_buf_put_u32(out, genesis->chunk_max);
    cairn_buf_put_u8(out, genesis->level);
    cairn_buf_put_u8(out, genesis->file_hash);
    cairn_buf_put_zero(out, 6);
}

/* Tags 2 and 15: the latter carries the boot id as well. */
static void put_pack(struct cairn_buf *out, int tag, const struct cairn_log_pack *pack)
{
    cairn_buf_put_varint(out, (uint64_t)tag);
    cairn_buf_put_varint(out, tag == CAIRN_LOG_WEAK_PACK ? 58 : 42);
    cairn_buf_put(out, pack->name.bytes, 32);
    cairn_buf_put_u64(out, pack->length);
    cairn_buf_put_u8(out, pack->type);
    cairn_buf_put_u8(out, pack->level);
    if (tag == CAIRN_LOG_WEAK_PACK)
        cairn_buf_put(out, pack->boot, sizeof(pack->boot));
}

void cairn_log_put_pack(struct cairn_buf *out, const struct cairn_log_pack *pack)
{
    put_pack(out, CAIRN_LOG_PACK, pack);
}

void cairn_log_put_segment(struct cairn_buf *out, const struct cairn_log_segment *segment)
{
    cairn_buf_put_varint(out, CAIRN_LOG_SEGMENT);
    cairn_buf_put_varint(out, 40);
    cairn_buf_put(out, segment->name.bytes, 32);
    cairn_buf_put_u64(out, segment->length);
}

void cairn_log_put_level(struct cairn_buf *out, int level)
{
    const uint8_t value = (uint8_t)level;
    cairn_log_put_bytes(out, CAIRN_LOG_LEVEL, &value, 1);
}

void cairn_log_put_pack_level(struct cairn_buf *out, const struct cairn_id *name, int level)
{
    cairn_buf_put_varint(out, CAIRN_LOG_PACK_LEVEL);
    cairn_buf_put_varint(out, 33);
    cairn_buf_put(out, name->bytes, 32);
    cairn_buf_put_u8(out, (uint8_t)level);
}

static void put_slot(struct cairn_buf *out, enum cairn_slot_change change,
                     const struct cairn_id *name)
{
    uint8_t record[33] = {(uint8_t)change};
    __builtin_memcpy(record + 1, name->bytes, 32);
    cairn_log_put_bytes(out, CAIRN_LOG_KEY, record, sizeof(record));
}

void cairn_log_put_checkpoint(struct cairn_buf *out, const struct cairn_log_state *state)
{
    cairn_log_put_bytes(out, CAIRN_LOG_CHECKPOINT, NULL, 0);
    cairn_log_put_genesis(out, &state->genesis);
    const uint8_t setting[3] = {1, 1, (uint8_t)state->level};
    cairn_log_put_bytes(out, CAIRN_LOG_SETTING, setting, sizeof(setting));
    for (size_t i = 0; i < state->segment_count; i++) {
        cairn_log_put_level(out, state->segments[i].is_weak ? CAIRN_LEVEL_NONE : CAIRN_LEVEL_FILE);
        cairn_log_put_segment(out, &state->segments[i]);
    }
    for (size_t i = 0; i < state->weak_count; i++)
        put_pack(out, CAIRN_LOG_WEAK_PACK, &state->weak[i]);
    for (size_t i = 0; i < state->condemned_count; i++)
        cairn_log_put_id(out, CAIRN_LOG_CONDEMN, &state->condemned[i]);
    /* Removed ones first: one that was added again is in both lists. */
    for (size_t i = 0; i < state->removed_slot_count; i++)
        put_slot(out, CAIRN_SLOT_REMOVED, &state->removed_slots[i]);
    for (size_t i = 0; i < state->slot_count; i++)
        put_slot(out, CAIRN_SLOT_ADDED, &state->slots[i]);
    for (size_t i = 0; i < state->snapshot_count; i++) {
        const struct cairn_log_snapshot *s = &state->snapshots[i];
        cairn_log_put_bytes(out, CAIRN_LOG_SNAPSHOT, s->manifest.data, s->manifest.len);
        if (s->attributes.len > 0)
            cairn_log_put_bytes(out, CAIRN_LOG_ATTRIBUTES, s->attributes.data, s->attributes.len);
    }
}

bool cairn_log_record_next(struct cairn_reader *reader, uint64_t *tag, struct cairn_slice *value)
{
    if (reader->failed || cairn_reader_left(reader) == 0)
        return false;
    *tag = cairn_reader_varint(reader);
    *value = cairn_reader_bytes(reader);
    return !reader->failed;
}
