/* SPDX-License-Identifier: Apache-2.0
 *
 * store.h - an opened repository: keys, log, index; reading chunks; sessions that write.
 *
 * Invariants
 * 1. Nothing that is read from the backend is trusted before it is authenticated; a chunk is
 * returned only after its id was compared.
 * 2. A commit is one log entry. Before it exists, nothing that a session wrote is part of the
 *    repository; packs are durable (as the level says) before index segments are put, and these
 * before the entry.
 * 3. The store object is used by the threads of one operation at a time: fetchers and lanes are one
 *    per thread, the index may be asked by any.
 */
#ifndef CAIRN_STORE_STORE_H
#define CAIRN_STORE_STORE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cairn/cairn.h>

#include "backend/backend.h"
#include "store/index.h"
#include "store/log.h"
#include "store/object.h"

/* The two kinds of content: each has ids, keys and packs of its own. */
enum cairn_kind {
    CAIRN_KIND_DATA = CAIRN_OBJECT_DATA_PACK,
    CAIRN_KIND_METADATA = CAIRN_OBJECT_METADATA_PACK
};

struct cairn_store;

/* How to get at the key. */
struct cairn_credentials {
    const uint8_t *key_file_key; /* 32 bytes, or NULL */
    cairn_password_fn password;  /* or NULL */
    void *password_ctx;
};

struct cairn_store_options {
    struct cairn_backend *backend; /* belongs to the store from now on, also on failure */
    const char *location;          /* for messages and for what this client remembers; copied */
    const char *cache_dir;         /* directory for index runs; NULL: keep them in memory */
    const char *state_dir;         /* what this client remembers; NULL: remember nothing */
    const struct cairn_credentials *credentials;
};

struct cairn_store_init {
    int aead; /* enum cairn_aead, not DEFAULT */
    int chunker;
    uint32_t chunk_avg;
    int level;
};

/* Makes a repository in an empty backend and opens it. Durable when it returns. EXISTS: there is a
 * config object. */
int cairn_store_init(const struct cairn_store_options *options, const struct cairn_store_init *init,
                     struct cairn_store **out, struct cairn_error *err);

/* Opens a repository: config, key slot, log, index. NO_REPOSITORY, AUTH, UNTRUSTED, UNSUPPORTED,
 * CORRUPT, IO. */
int cairn_store_open(const struct cairn_store_options *options, struct cairn_store **out,
                     struct cairn_error *err);

/* Closes backend, wipes keys, frees. NULL is allowed. */
void cairn_store_close(struct cairn_store *store);

/* Parts of an opened store, borrowed. */
const struct cairn_identity *cairn_store_identity(const struct cairn_store *store);
const struct cairn_keys *cairn_store_keys(const struct cairn_store *store);
const struct cairn_log_state *cairn_store_log(const struct cairn_store *store);
struct cairn_index *cairn_store_index(struct cairn_store *store);
struct cairn_backend *cairn_store_backend(struct cairn_store *store);
double cairn_store_key_seconds(const struct cairn_store *store);

/* Asks everything that runs on the store to stop; async-signal-safe. And whether that was asked. */
void cairn_store_cancel(struct cairn_store *store);
bool cairn_store_is_cancelled(const struct cairn_store *store);

/* Reads new log entries, and the index segments that they name. */
int cairn_store_refresh(struct cairn_store *store, struct cairn_error *err);

/* Reads an index segment from the backend (not the cache) and checks its name and every rule of the
 * format. CORRUPT, IO. */
int cairn_store_verify_segment(struct cairn_store *store, const struct cairn_id *segment,
                               struct cairn_error *err);

/* The id of a chunk of len bytes (1 to 16 MiB). Any thread. */
void cairn_store_chunk_id(const struct cairn_store *store, enum cairn_kind kind, const void *data,
                          size_t len, struct cairn_id *out);

/* The name of an object as the backend knows it. out has CAIRN_BACKEND_NAME_MAX + 1 bytes. */
void cairn_store_pack_name(char *out, const struct cairn_id *pack);
void cairn_store_segment_name(char *out, const struct cairn_id *segment);
void cairn_store_log_name(char *out, uint64_t n);

/* ---- reading ------------------------------------------------------------------------------ */

/* Reads chunks, with a cache of decoded frames. One thread at a time; any number of fetchers. */
struct cairn_fetcher;

/* cache_bytes: how much decoded content is kept (at least one frame is). */
int cairn_fetcher_new(struct cairn_store *store, size_t cache_bytes, struct cairn_fetcher **out,
                      struct cairn_error *err);
void cairn_fetcher_free(struct cairn_fetcher *fetcher);

/* Finds, reads, decodes and verifies one chunk. *data is borrowed until the next call on the
 * fetcher. NOT_FOUND: no pack holds it; CORRUPT: every copy is damaged; IO. */
int cairn_fetcher_get(struct cairn_fetcher *fetcher, enum cairn_kind kind,
                      const struct cairn_id *id, struct cairn_slice *data, struct cairn_error *err);

#define CAIRN_FRAME_ALIGN ((size_t)65536)

/* Decodes the frame of a location (taken from the index) without the cache. stored: its stored
 * bytes if they were read already (frame.stored_len of them), else NULL. *plain (frame.plain_len
 * bytes) is borrowed until the next call; its address is congruent to `phase` modulo
 * CAIRN_FRAME_ALIGN, so that it can be written directly where it belongs. Chunks in it are not yet
 * verified: cairn_fetcher_verify does. */
int cairn_fetcher_frame(struct cairn_fetcher *fetcher, const struct cairn_location *location,
                        const uint8_t *stored, uint64_t phase, struct cairn_slice *plain,
                        struct cairn_error *err);

/* CORRUPT unless the chunk that a location names has this id. */
int cairn_fetcher_verify(struct cairn_fetcher *fetcher, enum cairn_kind kind,
                         const struct cairn_id *id, const struct cairn_slice *chunk,
                         struct cairn_error *err);

/* Reads and opens the footer of a pack of `length` bytes under a final or a temporary object name.
 * CORRUPT, NOT_FOUND, IO. The contents are the caller's. */
int cairn_fetcher_footer(struct cairn_fetcher *fetcher, const char *name, uint64_t length,
                         struct cairn_pack_contents *out, int *type, struct cairn_error *err);

/* Reads a whole pack once, in order, and checks that its BLAKE3 is `expected` (if not NULL), and
 * with `deep` that every frame opens and every chunk has its id. *hash, *contents (the caller's)
 * and *type are filled in on success where not NULL. CORRUPT, NOT_FOUND, IO, CANCELLED. */
int cairn_fetcher_verify_pack(struct cairn_fetcher *fetcher, const char *name, uint64_t length,
                              const struct cairn_id *expected, bool deep, struct cairn_id *hash,
                              struct cairn_pack_contents *contents, int *type,
                              struct cairn_error *err);

/* ---- writing ------------------------------------------------------------------------------ */

struct cairn_session; /* everything that goes into one commit */
struct cairn_lane;    /* one thread's way into a session */

struct cairn_session_options {
    int level;         /* enum cairn_level, DEFAULT: the repository's */
    int compression;   /* 0 default, -1 off, 1 to 19 */
    bool dry_run;      /* hash and look up, store nothing */
    size_t pack_bytes; /* target size of packs; 0: 64 MiB */
};

struct cairn_session_stats {
    uint64_t chunks_new, bytes_new; /* content before compression, data kind only */
    uint64_t metadata_new;          /* bytes of new metadata chunks before compression */
    uint64_t bytes_stored;          /* bytes of packs and segments */
    uint64_t packs, adopted_packs;
};

/* Begins a session: adopts what dead sessions left, verifies packs that a reboot may have lost. */
int cairn_session_open(struct cairn_store *store, const struct cairn_session_options *options,
                       struct cairn_session **out, struct cairn_error *err);

/* A lane for content of one kind. max_chunk: the longest chunk it will be given. A session's lanes
 * are freed with it. */
int cairn_lane_new(struct cairn_session *session, enum cairn_kind kind, size_t max_chunk,
                   struct cairn_lane **out, struct cairn_error *err);

/* Stores a chunk of len bytes (1 to max_chunk) unless the repository has it. *id receives its id;
 * *is_new (if not NULL) whether it was stored. Different lanes may put at the same time. On failure
 * the session can only be aborted. */
int cairn_lane_put(struct cairn_lane *lane, const void *data, size_t len, struct cairn_id *id,
                   bool *is_new, struct cairn_error *err);

/* Whether a commit of this session may refer to the chunk: the repository has it, in a pack that is
 * neither condemned nor damaged. Any thread. */
bool cairn_session_has(struct cairn_session *session, const struct cairn_id *id);

/* Ends the session: everything durable, then one log entry with the manifest (may be empty: no
 * snapshot). *level: the level that holds. The session is freed in any case. */
int cairn_session_commit(struct cairn_session *session, const void *manifest, size_t manifest_len,
                         struct cairn_id *snapshot, int *level, struct cairn_session_stats *stats,
                         struct cairn_error *err);

/* Gives up what was not committed (complete packs stay for a later session). NULL is allowed. */
void cairn_session_abort(struct cairn_session *session);

/* What was put so far. Any thread. */
void cairn_session_get_stats(struct cairn_session *session, struct cairn_session_stats *out);

#endif
