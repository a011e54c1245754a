/* SPDX-License-Identifier: Apache-2.0
 *
 * Entries of the log, sealed here without encryption, opened and applied. The checkpoint of the
 * state that they give leads to a state with the same checkpoint.
 *
 * Input: for each entry a u16 length, then its plain body; number and chain are put right, so that
 * the fuzzer need not.
 */
#include <stdlib.h>
#include <string.h>

#include "base/reader.h"
#include "store/log.h"

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size);

enum { NUMBER_AT = 0, PREVIOUS_AT = 16, FIXED_BYTES = 56, ENTRIES_MAX = 8 };

static const struct cairn_identity identity = {
    .epoch = 1, .aead = CAIRN_AEAD_NONE, .hash = CAIRN_HASH_PLAIN};
static const struct cairn_keys keys;

/* Seals body as entry number and opens it again. plain receives what the entry leads into. */
static int open_entry(struct cairn_aead_ctx *aead, uint64_t number, const struct cairn_buf *body,
                      struct cairn_buf *plain, struct cairn_log_entry *entry, struct cairn_id *hash)
{
    const struct cairn_log_keys log_keys = {&identity, &keys, aead};
    const struct cairn_piece piece = {CAIRN_DOMAIN_LOG, 0, number, body->len};
    struct cairn_buf object = CAIRN_BUF_INIT;
    uint8_t header[CAIRN_HEADER_BYTES], key[CAIRN_KEY_BYTES];
    if (cairn_header_make(header, CAIRN_OBJECT_LOG_ENTRY, &identity, NULL) != CAIRN_OK)
        abort();
    cairn_buf_put(&object, header, sizeof(header));
    cairn_buf_put(&object, body->data, body->len);
    cairn_buf_put_zero(&object, CAIRN_AEAD_TAG_BYTES);
    cairn_object_key(key, &keys, CAIRN_OBJECT_LOG_ENTRY, header);
    uint8_t *at = object.data + CAIRN_HEADER_BYTES;
    if (cairn_piece_seal(aead, key, &piece, at, body->len, at, NULL) != CAIRN_OK)
        abort();
    cairn_hash(hash, object.data, object.len);
    const int status =
        cairn_log_entry_open(&log_keys, number, object.data, object.len, plain, entry, NULL);
    cairn_buf_release(&object);
    return status;
}

/* Applies one body to the state. */
static int apply(struct cairn_aead_ctx *aead, struct cairn_log_state *state, uint64_t number,
                 const struct cairn_buf *body)
{
    struct cairn_buf plain = CAIRN_BUF_INIT;
    struct cairn_log_entry entry;
    struct cairn_id hash;
    int status = open_entry(aead, number, body, &plain, &entry, &hash);
    if (status == CAIRN_OK)
        status = cairn_log_state_apply(state, &entry, &hash, &keys, NULL);
    cairn_buf_release(&plain);
    return status;
}

static void expect_checkpoint_stands_for(struct cairn_aead_ctx *aead,
                                         const struct cairn_log_state *state)
{
    struct cairn_buf records = CAIRN_BUF_INIT, again = CAIRN_BUF_INIT, body = CAIRN_BUF_INIT;
    struct cairn_log_state other = {0};
    cairn_log_put_checkpoint(&records, state);
    cairn_buf_put_u64(&body, 5);
    cairn_buf_put_zero(&body, FIXED_BYTES - 8 + 1);
    cairn_buf_put(&body, records.data, records.len);
    if (apply(aead, &other, 5, &body) != CAIRN_OK)
        abort();
    cairn_log_put_checkpoint(&again, &other);
    if (records.len != again.len || memcmp(records.data, again.data, again.len) != 0)
        abort();
    cairn_log_state_release(&other);
    cairn_buf_release(&records);
    cairn_buf_release(&again);
    cairn_buf_release(&body);
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size)
{
    struct cairn_aead_ctx *aead = NULL;
    struct cairn_log_state state = {0};
    struct cairn_buf body = CAIRN_BUF_INIT;
    struct cairn_reader r;
    int status = cairn_aead_new(CAIRN_AEAD_NONE, &aead, NULL);
    cairn_reader_init(&r, input, size);
    for (uint64_t n = 0; status == CAIRN_OK && n < ENTRIES_MAX && cairn_reader_left(&r) > 2; n++) {
        size_t len = cairn_reader_u16(&r);
        if (len > cairn_reader_left(&r))
            len = cairn_reader_left(&r);
        const struct cairn_slice s = cairn_reader_take(&r, len);
        cairn_buf_clear(&body);
        cairn_buf_put(&body, s.data, s.len);
        if (len >= FIXED_BYTES) {
            cairn_store_u64(body.data + NUMBER_AT, n);
            memcpy(body.data + PREVIOUS_AT, state.last_hash.bytes, 32);
        }
        status = apply(aead, &state, n, &body);
    }
    if (status == CAIRN_OK && state.has_genesis)
        expect_checkpoint_stands_for(aead, &state);
    cairn_log_state_release(&state);
    cairn_buf_release(&body);
    cairn_aead_free(aead);
    return 0;
}
