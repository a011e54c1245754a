/* SPDX-License-Identifier: Apache-2.0
 *
 * log.h - entries of the repository's log and the state that their replay gives (docs/format.md,
 * 8).
 *
 * Invariants of a state: it is the replay of entries checkpoint..next-1 (or 0..next-1); last_hash
 * is the BLAKE3 of entry next-1; snapshots are in the order of their commits.
 */
#ifndef CAIRN_STORE_LOG_H
#define CAIRN_STORE_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cairn/cairn.h>

#include "base/buffer.h"
#include "base/reader.h"
#include "store/object.h"

#define CAIRN_LOG_ENTRY_BYTES_MAX (64u << 20)
/* A checkpoint is written once so many entries have come since the last. */
#define CAIRN_LOG_CHECKPOINT_EVERY 1000u

enum cairn_log_tag {
    CAIRN_LOG_GENESIS = 1,
    CAIRN_LOG_PACK = 2,
    CAIRN_LOG_SEGMENT = 3,
    CAIRN_LOG_SEGMENT_SUPERSEDED = 4,
    CAIRN_LOG_SNAPSHOT = 5,
    CAIRN_LOG_FORGET = 6,
    CAIRN_LOG_CONDEMN = 7,
    CAIRN_LOG_PACK_REMOVED = 8,
    CAIRN_LOG_KEY = 9,
    CAIRN_LOG_CHECKPOINT = 10,
    CAIRN_LOG_SETTING = 11,
    CAIRN_LOG_ATTRIBUTES = 12,
    CAIRN_LOG_PACK_LEVEL = 13,
    CAIRN_LOG_BOOT = 14,
    CAIRN_LOG_WEAK_PACK = 15,
    CAIRN_LOG_LEVEL = 16
};

/* First byte of record 9. */
enum cairn_slot_change { CAIRN_SLOT_ADDED = 1, CAIRN_SLOT_REMOVED = 2 };

/* The parameters of a repository that never change. */
struct cairn_genesis {
    struct cairn_id config; /* BLAKE3 of the object config */
    uint16_t chunker;       /* enum cairn_chunker */
    uint32_t chunk_avg, chunk_min, chunk_max;
    uint8_t level;
    uint8_t file_hash;
};

struct cairn_log_pack {
    struct cairn_id name;
    uint64_t length;
    uint8_t type;
    uint8_t level;
    uint8_t boot[16]; /* only of weak packs */
};

struct cairn_log_segment {
    struct cairn_id name;
    uint64_t length;
    bool is_weak; /* committed at level NONE: a power cut may have taken it */
};

struct cairn_log_snapshot {
    struct cairn_id id;
    struct cairn_buf manifest;
    struct cairn_buf attributes; /* value of the last tag 12 record, or empty */
};

/* What replay gives. All arrays are owned. */
struct cairn_log_state {
    struct cairn_genesis genesis;
    bool has_genesis;
    int level; /* default enum cairn_level in force */
    uint64_t next;
    uint64_t checkpoint;
    struct cairn_id last_hash;
    struct cairn_log_snapshot *snapshots;
    size_t snapshot_count, snapshot_cap;
    struct cairn_log_segment *segments;
    size_t segment_count, segment_cap;
    struct cairn_log_pack *weak; /* packs below level filesystem */
    size_t weak_count, weak_cap;
    struct cairn_id *condemned;
    size_t condemned_count, condemned_cap;
    struct cairn_id *slots; /* key slots that were added and not removed */
    size_t slot_count, slot_cap;
    struct cairn_id *removed_slots; /* key slots that must not be used any more */
    size_t removed_slot_count, removed_slot_cap;
};

void cairn_log_state_release(struct cairn_log_state *state);

/* Records for a new entry: append to a buffer, check the buffer once. */
void cairn_log_put_genesis(struct cairn_buf *out, const struct cairn_genesis *genesis);
void cairn_log_put_pack(struct cairn_buf *out, const struct cairn_log_pack *pack);
void cairn_log_put_segment(struct cairn_buf *out, const struct cairn_log_segment *segment);
void cairn_log_put_id(struct cairn_buf *out, int tag, const struct cairn_id *id);
void cairn_log_put_bytes(struct cairn_buf *out, int tag, const void *bytes, size_t len);
void cairn_log_put_level(struct cairn_buf *out, int level);
void cairn_log_put_pack_level(struct cairn_buf *out, const struct cairn_id *name, int level);

/* Appends the records of a checkpoint that stands for the whole state. */
void cairn_log_put_checkpoint(struct cairn_buf *out, const struct cairn_log_state *state);

/* What is needed to seal and open entries. */
struct cairn_log_keys {
    const struct cairn_identity *identity;
    const struct cairn_keys *keys;
    struct cairn_aead_ctx *aead;
};

/* Builds the object of entry state->next from records. LIMIT: above 64 MiB. */
int cairn_log_entry_seal(const struct cairn_log_keys *keys, const struct cairn_log_state *state,
                         const struct cairn_buf *records, struct cairn_buf *object,
                         struct cairn_error *err);

/* What stands at the head of an opened entry. records leads into plain. */
struct cairn_log_entry {
    uint64_t number;
    int64_t time_ns;
    struct cairn_id previous;
    uint64_t checkpoint;
    struct cairn_slice program;
    struct cairn_slice records;
    bool is_checkpoint;
};

/* Opens entry n. plain receives the decrypted bytes. CORRUPT, UNTRUSTED, UNSUPPORTED. */
int cairn_log_entry_open(const struct cairn_log_keys *keys, uint64_t n, const uint8_t *object,
                         size_t len, struct cairn_buf *plain, struct cairn_log_entry *out,
                         struct cairn_error *err);

/* Applies an entry to a state. hash: BLAKE3 of the entry's object. The chain is checked unless the
 * entry is where replay begins (state->next == 0 and the entry is a checkpoint). On failure the
 * state is of no further use but to be released. CORRUPT, UNSUPPORTED, NO_MEMORY. */
int cairn_log_state_apply(struct cairn_log_state *state, const struct cairn_log_entry *entry,
                          const struct cairn_id *hash, const struct cairn_keys *keys,
                          struct cairn_error *err);

/* The next record. false at the end or (reader->failed) at malformed bytes. */
bool cairn_log_record_next(struct cairn_reader *reader, uint64_t *tag, struct cairn_slice *value);

#endif
