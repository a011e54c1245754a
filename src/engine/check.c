/* SPDX-License-Identifier: Apache-2.0
 *
 * Verifies a repository without trusting the local cache: the log's chain from its first entry,
 * every index segment against its name, every committed pack's presence (and with read_data its
 * bytes against name, cipher, ids and index), every directory and chunk that a snapshot refers to.
 */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/hex.h"
#include "engine/check_internal.h"

void cairn_check_problem(struct cairn_check *check, const char *path, const char *message)
{
    check->result->damaged++;
    if (check->options->event) {
        const struct cairn_event event = {
            .type = CAIRN_EVENT_PROBLEM, .path = path, .message = message};
        check->options->event(check->options->event_ctx, &event);
    }
}

bool cairn_check_is_damage(int status)
{
    return status == CAIRN_CORRUPT || status == CAIRN_NOT_FOUND || status == CAIRN_UNTRUSTED ||
           status == CAIRN_UNSUPPORTED || status == CAIRN_LIMIT;
}

void cairn_check_progress(struct cairn_check *check)
{
    uint64_t now = cairn_clock_monotonic_ns();
    if (check->options->event == NULL || now - check->last_event < 100000000)
        return;
    check->last_event = now;
    const struct cairn_event event = {
        .type = CAIRN_EVENT_PROGRESS,
        .files_done = check->result->packs,
        .files_total = check->packs_total,
        .bytes_done = check->result->bytes_read,
        .bytes_total = check->bytes_total,
    };
    check->options->event(check->options->event_ctx, &event);
}

/* The log's entries from 0 on: each opens, and each names its predecessor's hash. */
static int check_log(struct cairn_check *check, struct cairn_error *err)
{
    struct cairn_store *store = check->repo->store;
    struct cairn_log_state state = {0};
    struct cairn_aead_ctx *aead = NULL;
    struct cairn_buf object = CAIRN_BUF_INIT, plain = CAIRN_BUF_INIT;
    const uint64_t end = cairn_store_log(store)->next;
    int status = cairn_aead_new(cairn_store_identity(store)->aead, &aead, err);
    const struct cairn_log_keys keys = {cairn_store_identity(store), cairn_store_keys(store), aead};
    for (uint64_t n = 0; n < end && status == CAIRN_OK; n++) {
        char name[CAIRN_BACKEND_NAME_MAX + 1];
        struct cairn_log_entry entry;
        struct cairn_error local = {0};
        struct cairn_id hash;
        cairn_store_log_name(name, n);
        int found = cairn_backend_get(cairn_store_backend(store), name, CAIRN_LOG_ENTRY_BYTES_MAX,
                                      &object, &local);
        if (found == CAIRN_OK) {
            cairn_hash(&hash, object.data, object.len);
            found = cairn_log_entry_open(&keys, n, object.data, object.len, &plain, &entry, &local);
        }
        if (found == CAIRN_OK)
            found = cairn_log_state_apply(&state, &entry, &hash, keys.keys, &local);
        check->result->log_entries++;
        if (cairn_check_is_damage(found)) {
            cairn_check_problem(check, name, local.message);
            break; /* what follows cannot be judged without it */
        }
        if (found != CAIRN_OK)
            status = cairn_error_set(err, found, 0, "%s", local.message);
    }
    cairn_log_state_release(&state);
    cairn_aead_free(aead);
    cairn_buf_release(&object);
    cairn_buf_release(&plain);
    return status;
}

struct key_names {
    struct cairn_check *check;
    int status;
    struct cairn_error *err;
};

/* Key slots are named by their hash. */
static int check_key(void *ctx, const char *name, uint64_t size)
{
    struct key_names *k = ctx;
    struct cairn_buf object = CAIRN_BUF_INIT;
    struct cairn_id hash;
    char hex[65];
    (void)size;
    k->status =
        cairn_backend_get(cairn_store_backend(k->check->repo->store), name, 65536, &object, k->err);
    if (k->status == CAIRN_OK) {
        cairn_hash(&hash, object.data, object.len);
        cairn_hex_encode(hex, hash.bytes, 32);
        if (strcmp(name + strlen("keys/"), hex) != 0)
            cairn_check_problem(k->check, name,
                                "the key slot's bytes are not those it is named by");
    }
    cairn_buf_release(&object);
    return k->status;
}

/* Key slots that the log names are all there. */
static int check_slots(struct cairn_check *check, struct cairn_error *err)
{
    struct cairn_store *store = check->repo->store;
    const struct cairn_log_state *log = cairn_store_log(store);
    int status = CAIRN_OK;
    for (size_t i = 0; i < log->slot_count && status == CAIRN_OK; i++) {
        char name[CAIRN_BACKEND_NAME_MAX + 1], hex[65];
        uint64_t size;
        cairn_hex_encode(hex, log->slots[i].bytes, 32);
        (void)snprintf(name, sizeof(name), "keys/%s", hex);
        status = cairn_backend_size(cairn_store_backend(store), name, &size, err);
        if (status == CAIRN_NOT_FOUND) {
            cairn_check_problem(check, name, "the key slot is missing");
            status = CAIRN_OK;
        }
    }
    return status;
}

static int check_keys(struct cairn_check *check, struct cairn_error *err)
{
    struct key_names k = {.check = check, .err = err};
    int status = check_slots(check, err);
    if (status != CAIRN_OK)
        return status;
    return cairn_backend_list(cairn_store_backend(check->repo->store), "keys/", check_key, &k, err);
}

/* Totals for the progress line. */
static void count_packs(struct cairn_check *check)
{
    const struct cairn_index *index = cairn_store_index(check->repo->store);
    for (size_t i = 0; i < index->count; i++) {
        for (size_t p = 0; p < index->runs[i]->pack_count; p++) {
            struct cairn_run_pack pack;
            cairn_run_pack_at(index->runs[i], p, &pack);
            check->packs_total++;
            check->bytes_total += pack.length;
        }
    }
}

int cairn_check(struct cairn_repo *repo, const struct cairn_check_options *given,
                struct cairn_check_result *result, struct cairn_error *err)
{
    struct cairn_check_options options;
    struct cairn_check_result found = {0};
    cairn_options_copy(&options, sizeof(options), given, given ? given->size : 0);
    struct cairn_check check = {.repo = repo, .options = &options, .result = &found};
    uint64_t begun = cairn_clock_monotonic_ns();
    int status = cairn_store_refresh(repo->store, err);
    if (status == CAIRN_OK)
        status = check_log(&check, err);
    if (status == CAIRN_OK)
        status = check_keys(&check, err);
    count_packs(&check);
    if (status == CAIRN_OK)
        status = cairn_check_segments(&check, err);
    if (status == CAIRN_OK)
        status = cairn_check_packs(&check, err);
    if (status == CAIRN_OK)
        status = cairn_check_snapshots(&check, err);
    found.seconds = (double)(cairn_clock_monotonic_ns() - begun) / 1e9;
    if (status == CAIRN_OK)
        *result = found;
    return status;
}
