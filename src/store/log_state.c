/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "store/log.h"

static void drop_snapshot(struct cairn_log_snapshot *snapshot)
{
    cairn_buf_release(&snapshot->manifest);
    cairn_buf_release(&snapshot->attributes);
}

void cairn_log_state_release(struct cairn_log_state *state)
{
    for (size_t i = 0; i < state->snapshot_count; i++)
        drop_snapshot(&state->snapshots[i]);
    cairn_free(state->snapshots);
    cairn_free(state->segments);
    cairn_free(state->weak);
    cairn_free(state->condemned);
    cairn_free(state->slots);
    cairn_free(state->removed_slots);
    memset(state, 0, sizeof(*state));
}

/* Makes room for one more element of size bytes behind count of them. Returns the array, perhaps
 * moved, or NULL: no memory, and the array is as it was. */
static void *room(void *array, size_t count, size_t *cap, size_t size)
{
    if (count < *cap)
        return array;
    size_t more = *cap ? *cap * 2 : 16;
    void *moved = cairn_realloc(array, more, size);
    if (moved)
        *cap = more;
    return moved;
}

static int out_of_memory(struct cairn_error *err)
{
    return cairn_error_no_memory(err, "the repository's log");
}

/* A level from 1 to 4; anything else fails the reader, and 0 is returned. */
static uint8_t read_level(struct cairn_reader *r)
{
    const uint8_t level = cairn_reader_u8(r);
    if (level >= CAIRN_LEVEL_NONE && level <= CAIRN_LEVEL_FILE)
        return level;
    r->failed = true;
    return 0;
}

static int apply_genesis(struct cairn_log_state *state, struct cairn_reader *r)
{
    struct cairn_genesis g;
    cairn_reader_copy(r, g.config.bytes, 32);
    g.chunker = cairn_reader_u16(r);
    r->failed |= cairn_reader_u16(r) != 0;
    g.chunk_avg = cairn_reader_u32(r);
    g.chunk_min = cairn_reader_u32(r);
    g.chunk_max = cairn_reader_u32(r);
    g.level = cairn_reader_u8(r);
    g.file_hash = cairn_reader_u8(r);
    (void)cairn_reader_take(r, 6);
    if (g.level < CAIRN_LEVEL_NONE || g.level > CAIRN_LEVEL_FILE || g.chunk_avg == 0 ||
        g.chunk_min > g.chunk_avg || g.chunk_max < g.chunk_avg || g.chunk_max > 16u << 20 ||
        (g.chunker != CAIRN_CHUNKER_FIXED && g.chunker != CAIRN_CHUNKER_DYNAMIC))
        r->failed = true;
    if (!r->failed) {
        state->genesis = g;
        state->has_genesis = true;
        state->level = g.level;
    }
    return CAIRN_OK;
}

static int apply_pack(struct cairn_log_state *state, struct cairn_reader *r, bool has_boot,
                      const uint8_t boot[16], struct cairn_error *err)
{
    struct cairn_log_pack pack = {0};
    cairn_reader_copy(r, pack.name.bytes, 32);
    pack.length = cairn_reader_u64(r);
    pack.type = cairn_reader_u8(r);
    pack.level = read_level(r);
    if (has_boot)
        cairn_reader_copy(r, pack.boot, sizeof(pack.boot));
    else
        memcpy(pack.boot, boot, sizeof(pack.boot));
    if (r->failed || pack.level >= CAIRN_LEVEL_FILESYSTEM)
        return CAIRN_OK;
    void *moved = room(state->weak, state->weak_count, &state->weak_cap, sizeof(pack));
    if (moved == NULL)
        return out_of_memory(err);
    state->weak = moved;
    state->weak[state->weak_count++] = pack;
    return CAIRN_OK;
}

static void remove_weak(struct cairn_log_state *state, const struct cairn_id *name)
{
    for (size_t i = 0; i < state->weak_count; i++) {
        if (memcmp(&state->weak[i].name, name, sizeof(*name)) == 0) {
            state->weak[i] = state->weak[--state->weak_count];
            return;
        }
    }
}

static int apply_segment(struct cairn_log_state *state, struct cairn_reader *r, int level,
                         struct cairn_error *err)
{
    struct cairn_log_segment segment = {.is_weak = level == CAIRN_LEVEL_NONE};
    cairn_reader_copy(r, segment.name.bytes, 32);
    segment.length = cairn_reader_u64(r);
    /* Named again: by a later commit that made it durable. */
    for (size_t i = 0; i < state->segment_count; i++) {
        if (memcmp(&state->segments[i].name, &segment.name, sizeof(segment.name)) == 0) {
            state->segments[i] = segment;
            return CAIRN_OK;
        }
    }
    void *moved = room(state->segments, state->segment_count, &state->segment_cap, sizeof(segment));
    if (moved == NULL)
        return out_of_memory(err);
    state->segments = moved;
    state->segments[state->segment_count++] = segment;
    return CAIRN_OK;
}

static void remove_segment(struct cairn_log_state *state, const struct cairn_id *name)
{
    size_t kept = 0;
    for (size_t i = 0; i < state->segment_count; i++) {
        if (memcmp(&state->segments[i].name, name, sizeof(*name)) != 0)
            state->segments[kept++] = state->segments[i];
    }
    state->segment_count = kept;
}

static struct cairn_log_snapshot *find_snapshot(struct cairn_log_state *state,
                                                const struct cairn_id *id)
{
    for (size_t i = 0; i < state->snapshot_count; i++) {
        if (memcmp(&state->snapshots[i].id, id, sizeof(*id)) == 0)
            return &state->snapshots[i];
    }
    return NULL;
}

static int apply_snapshot(struct cairn_log_state *state, struct cairn_slice value,
                          const struct cairn_keys *keys, struct cairn_error *err)
{
    struct cairn_log_snapshot s = {.manifest = CAIRN_BUF_INIT, .attributes = CAIRN_BUF_INIT};
    cairn_hash_keyed(&s.id, keys->snapshot_id, value.data, value.len);
    if (find_snapshot(state, &s.id))
        return CAIRN_OK;
    cairn_buf_put(&s.manifest, value.data, value.len);
    void *moved = s.manifest.failed ? NULL
                                    : room(state->snapshots, state->snapshot_count,
                                           &state->snapshot_cap, sizeof(s));
    if (moved == NULL) {
        drop_snapshot(&s);
        return out_of_memory(err);
    }
    state->snapshots = moved;
    state->snapshots[state->snapshot_count++] = s;
    return CAIRN_OK;
}

static void forget_snapshot(struct cairn_log_state *state, const struct cairn_id *id)
{
    struct cairn_log_snapshot *s = find_snapshot(state, id);
    if (s == NULL)
        return;
    drop_snapshot(s);
    size_t at = (size_t)(s - state->snapshots);
    memmove(s, s + 1, (state->snapshot_count - at - 1) * sizeof(*s));
    state->snapshot_count--;
}

static int apply_attributes(struct cairn_log_state *state, struct cairn_slice value,
                            struct cairn_error *err)
{
    struct cairn_id id;
    struct cairn_reader r;
    cairn_reader_init(&r, value.data, value.len);
    cairn_reader_copy(&r, id.bytes, 32);
    if (r.failed)
        return cairn_error_set(err, CAIRN_CORRUPT, 0, "a log record is malformed");
    struct cairn_log_snapshot *s = find_snapshot(state, &id);
    if (s == NULL)
        return CAIRN_OK;
    cairn_buf_clear(&s->attributes);
    cairn_buf_put(&s->attributes, value.data, value.len);
    return cairn_buf_check(&s->attributes, "the repository's log", err);
}

static int apply_condemn(struct cairn_log_state *state, const struct cairn_id *name,
                         struct cairn_error *err)
{
    void *moved =
        room(state->condemned, state->condemned_count, &state->condemned_cap, sizeof(*name));
    if (moved == NULL)
        return out_of_memory(err);
    state->condemned = moved;
    state->condemned[state->condemned_count++] = *name;
    return CAIRN_OK;
}

static void remove_condemned(struct cairn_log_state *state, const struct cairn_id *name)
{
    for (size_t i = 0; i < state->condemned_count; i++) {
        if (memcmp(&state->condemned[i], name, sizeof(*name)) == 0) {
            state->condemned[i] = state->condemned[--state->condemned_count];
            return;
        }
    }
}

static int add_slot(struct cairn_log_state *state, const struct cairn_id *name,
                    struct cairn_error *err)
{
    void *moved = room(state->slots, state->slot_count, &state->slot_cap, sizeof(*name));
    if (moved == NULL)
        return out_of_memory(err);
    state->slots = moved;
    state->slots[state->slot_count++] = *name;
    return CAIRN_OK;
}

static void remove_slot(struct cairn_log_state *state, const struct cairn_id *name)
{
    for (size_t i = 0; i < state->slot_count; i++) {
        if (memcmp(&state->slots[i], name, sizeof(*name)) == 0) {
            state->slots[i] = state->slots[--state->slot_count];
            return;
        }
    }
}

static int apply_key(struct cairn_log_state *state, struct cairn_reader *r, struct cairn_error *err)
{
    struct cairn_id name;
    uint8_t change = cairn_reader_u8(r);
    cairn_reader_copy(r, name.bytes, 32);
    r->failed |= change != CAIRN_SLOT_ADDED && change != CAIRN_SLOT_REMOVED;
    if (r->failed)
        return CAIRN_OK;
    if (change == CAIRN_SLOT_ADDED)
        return add_slot(state, &name, err);
    remove_slot(state, &name);
    void *moved = room(state->removed_slots, state->removed_slot_count, &state->removed_slot_cap,
                       sizeof(name));
    if (moved == NULL)
        return out_of_memory(err);
    state->removed_slots = moved;
    state->removed_slots[state->removed_slot_count++] = name;
    return CAIRN_OK;
}

/* Records whose value begins with an id: reads it. */
static int apply_by_id(struct cairn_log_state *state, uint64_t tag, struct cairn_reader *r,
                       struct cairn_error *err)
{
    struct cairn_id id;
    cairn_reader_copy(r, id.bytes, 32);
    if (r->failed)
        return CAIRN_OK;
    switch (tag) {
    case CAIRN_LOG_SEGMENT_SUPERSEDED:
        remove_segment(state, &id);
        return CAIRN_OK;
    case CAIRN_LOG_FORGET:
        forget_snapshot(state, &id);
        return CAIRN_OK;
    case CAIRN_LOG_CONDEMN:
        return apply_condemn(state, &id, err);
    case CAIRN_LOG_PACK_REMOVED:
        remove_condemned(state, &id);
        remove_weak(state, &id);
        return CAIRN_OK;
    default: { /* CAIRN_LOG_PACK_LEVEL */
        const uint8_t level = read_level(r);
        if (level >= CAIRN_LEVEL_FILESYSTEM)
            remove_weak(state, &id);
        return CAIRN_OK;
    }
    }
}

static int apply_setting(struct cairn_log_state *state, struct cairn_reader *r,
                         struct cairn_error *err)
{
    uint8_t which = cairn_reader_u8(r);
    struct cairn_slice value = cairn_reader_bytes(r);
    if (which != 1)
        return cairn_error_set(
            err, CAIRN_UNSUPPORTED, 0,
            "the repository has a setting (%u) that this cairn does not know: use a "
            "newer cairn",
            which);
    if (value.len != 1 || value.data[0] < CAIRN_LEVEL_NONE || value.data[0] > CAIRN_LEVEL_FILE)
        r->failed = true;
    else
        state->level = value.data[0];
    return CAIRN_OK;
}

/* What earlier records of an entry say about the later ones. */
struct context {
    uint8_t boot[16];
    uint8_t level;
};

/* Applies one record. */
static int apply_record(struct cairn_log_state *state, uint64_t tag, struct cairn_slice value,
                        struct context *context, const struct cairn_keys *keys,
                        struct cairn_error *err)
{
    struct cairn_reader r;
    cairn_reader_init(&r, value.data, value.len);
    int status = CAIRN_OK;
    switch (tag) {
    case CAIRN_LOG_GENESIS:
        status = apply_genesis(state, &r);
        break;
    case CAIRN_LOG_PACK:
    case CAIRN_LOG_WEAK_PACK:
        status = apply_pack(state, &r, tag == CAIRN_LOG_WEAK_PACK, context->boot, err);
        break;
    case CAIRN_LOG_SEGMENT:
        status = apply_segment(state, &r, context->level, err);
        break;
    case CAIRN_LOG_SNAPSHOT:
        return apply_snapshot(state, value, keys, err);
    case CAIRN_LOG_ATTRIBUTES:
        return apply_attributes(state, value, err);
    case CAIRN_LOG_SEGMENT_SUPERSEDED:
    case CAIRN_LOG_FORGET:
    case CAIRN_LOG_CONDEMN:
    case CAIRN_LOG_PACK_REMOVED:
    case CAIRN_LOG_PACK_LEVEL:
        status = apply_by_id(state, tag, &r, err);
        break;
    case CAIRN_LOG_SETTING:
        status = apply_setting(state, &r, err);
        break;
    case CAIRN_LOG_BOOT:
        cairn_reader_copy(&r, context->boot, 16);
        break;
    case CAIRN_LOG_LEVEL:
        context->level = read_level(&r);
        break;
    case CAIRN_LOG_KEY:
        status = apply_key(state, &r, err);
        break;
    case CAIRN_LOG_CHECKPOINT:
        break;
    default:
        if (tag < 64)
            return cairn_error_set(
                err, CAIRN_UNSUPPORTED, 0,
                "the repository's log has records (%llu) that this cairn does not "
                "know: use a newer cairn",
                (unsigned long long)tag);
        return CAIRN_OK;
    }
    if (status == CAIRN_OK && !cairn_reader_is_done(&r))
        status = cairn_error_set(err, CAIRN_CORRUPT, 0, "a log record is malformed");
    return status;
}

int cairn_log_state_apply(struct cairn_log_state *state, const struct cairn_log_entry *entry,
                          const struct cairn_id *hash, const struct cairn_keys *keys,
                          struct cairn_error *err)
{
    bool is_start = state->next == 0 && !state->has_genesis;
    if (!is_start &&
        (entry->number != state->next || !cairn_id_is_equal(&entry->previous, &state->last_hash)))
        return cairn_error_set(
            err, CAIRN_CORRUPT, 0,
            "log entry %llu does not follow entry %llu: the log was tampered with or "
            "an entry was replaced",
            (unsigned long long)entry->number, (unsigned long long)state->next - 1);
    if (is_start && entry->number != 0 && !entry->is_checkpoint)
        return cairn_error_set(err, CAIRN_CORRUPT, 0, "log entry %llu should be a checkpoint",
                               (unsigned long long)entry->number);
    if (entry->is_checkpoint)
        cairn_log_state_release(state);
    struct context context = {.level = CAIRN_LEVEL_FILE};
    struct cairn_reader reader;
    uint64_t tag;
    struct cairn_slice value;
    cairn_reader_init(&reader, entry->records.data, entry->records.len);
    int status = CAIRN_OK;
    while (status == CAIRN_OK && cairn_log_record_next(&reader, &tag, &value))
        status = apply_record(state, tag, value, &context, keys, err);
    if (status == CAIRN_OK && (reader.failed || !state->has_genesis))
        status = cairn_error_set(err, CAIRN_CORRUPT, 0, "log entry %llu is malformed",
                                 (unsigned long long)entry->number);
    if (status != CAIRN_OK)
        return status;
    state->next = entry->number + 1;
    state->last_hash = *hash;
    state->checkpoint = entry->is_checkpoint ? entry->number : entry->checkpoint;
    return CAIRN_OK;
}
