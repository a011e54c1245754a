/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_STORE_STORE_INTERNAL_H
#define CAIRN_STORE_STORE_INTERNAL_H

#include "store/store.h"

struct cairn_store {
    struct cairn_backend *backend;
    struct cairn_identity identity;
    struct cairn_keys keys;
    struct cairn_aead_ctx *aead; /* of the thread that opens, refreshes, commits */
    struct cairn_log_state log;
    struct cairn_index index;
    struct cairn_id_set loaded; /* segments whose runs are in the index */
    char *location, *cache_dir, *state_dir;
    struct cairn_id slot; /* the key slot that opened; zero in an unencrypted repository */
    bool read_only;       /* unknown read-only-compatible features */
    double key_seconds;
    atomic_bool cancelled;
};

/* Everything of a store that needs no repository yet. Takes over options->backend in any case. */
int cairn_store_make(const struct cairn_store_options *options, struct cairn_store **out,
                     struct cairn_error *err);

/* Reads config, or says that there is no repository. */
int cairn_store_read_config(struct cairn_store *store, struct cairn_id *hash,
                            struct cairn_error *err);

/* Opens the key slots with the credentials and derives the keys. */
int cairn_store_unlock(struct cairn_store *store, const struct cairn_credentials *credentials,
                       struct cairn_error *err);

/* Puts a key slot object for a secret. kind: enum cairn_slot_kind. */
int cairn_store_add_slot(struct cairn_store *store, int kind, const void *secret, size_t len,
                         const uint8_t root[CAIRN_KEY_BYTES], struct cairn_id *name,
                         struct cairn_error *err);

/* Replays the log from store->log.next (or from the last checkpoint) to its end. */
int cairn_store_load_log(struct cairn_store *store, struct cairn_error *err);

/* Reads one log entry's object. NOT_FOUND: there is none (the end). */
int cairn_store_read_log_entry(struct cairn_store *store, uint64_t n, struct cairn_buf *object,
                               struct cairn_error *err);

/* Appends an entry with these records, retrying with the next number when somebody else was faster:
 * the new entries are applied first and `recheck` (may be NULL) is asked whether the records still
 * hold. Durable when it returns. */
int cairn_store_append(struct cairn_store *store, const struct cairn_buf *records,
                       int (*recheck)(void *ctx, struct cairn_error *err), void *ctx,
                       struct cairn_error *err);

/* Adds the runs of live segments that are not in the index yet. */
int cairn_store_load_index(struct cairn_store *store, struct cairn_error *err);

/* Seals a run's bytes into a segment object and its name. */
int cairn_segment_seal(struct cairn_store *store, const struct cairn_buf *run,
                       struct cairn_buf *object, struct cairn_id *name, struct cairn_error *err);

/* Opens a segment object (its name was checked) into a run's bytes. */
int cairn_segment_open(struct cairn_store *store, const struct cairn_buf *object,
                       struct cairn_buf *run, struct cairn_error *err);

/* Makes a run from a buffer, which it takes over on success. */
int cairn_store_run_from_buffer(struct cairn_store *store, const struct cairn_id *name,
                                struct cairn_buf *bytes, struct cairn_run **out,
                                struct cairn_error *err);

/* The client's memory of this repository: check it after opening, write it after commits. */
int cairn_pin_check(struct cairn_store *store, struct cairn_error *err);
int cairn_pin_check_config(const struct cairn_store *store, struct cairn_error *err);
int cairn_pin_write(const struct cairn_store *store, struct cairn_error *err);

#endif
