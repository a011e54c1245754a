/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "store/log.h"

int cairn_log_entry_seal(const struct cairn_log_keys *keys, const struct cairn_log_state *state,
                         const struct cairn_buf *records, struct cairn_buf *object,
                         struct cairn_error *err)
{
    static const char program[] = "cairn " CAIRN_VERSION;
    uint8_t header[CAIRN_HEADER_BYTES], key[CAIRN_KEY_BYTES];
    int status = cairn_header_make(header, CAIRN_OBJECT_LOG_ENTRY, keys->identity, err);
    if (status != CAIRN_OK)
        return status;
    cairn_buf_clear(object);
    cairn_buf_put(object, header, sizeof(header));
    cairn_buf_put_u64(object, state->next);
    cairn_buf_put_u64(object, (uint64_t)cairn_clock_wall_ns());
    cairn_buf_put(object, state->last_hash.bytes, 32);
    cairn_buf_put_u64(object, state->checkpoint);
    cairn_buf_put_bytes(object, program, sizeof(program) - 1);
    cairn_buf_put(object, records->data, records->len);
    size_t len = object->len - sizeof(header);
    cairn_buf_put_zero(object, CAIRN_AEAD_TAG_BYTES);
    status = cairn_buf_check(object, "a log entry", err);
    if (status != CAIRN_OK)
        return status;
    if (object->len > CAIRN_LOG_ENTRY_BYTES_MAX)
        return cairn_error_set(err, CAIRN_LIMIT, 0, "a log entry would have %zu bytes",
                               object->len);
    const struct cairn_piece piece = {CAIRN_DOMAIN_LOG, 0, state->next, len};
    cairn_object_key(key, keys->keys, CAIRN_OBJECT_LOG_ENTRY, header);
    uint8_t *body = object->data + sizeof(header);
    return cairn_piece_seal(keys->aead, key, &piece, body, len, body, err);
}

int cairn_log_entry_open(const struct cairn_log_keys *keys, uint64_t n, const uint8_t *object,
                         size_t len, struct cairn_buf *plain, struct cairn_log_entry *out,
                         struct cairn_error *err)
{
    char what[48];
    uint8_t key[CAIRN_KEY_BYTES];
    (void)snprintf(what, sizeof(what), "log entry %llu", (unsigned long long)n);
    int status = cairn_header_check(object, len, CAIRN_OBJECT_LOG_ENTRY, keys->identity, what, err);
    if (status != CAIRN_OK)
        return status;
    size_t stored = len - CAIRN_HEADER_BYTES;
    if (stored < CAIRN_AEAD_TAG_BYTES)
        return cairn_error_set(err, CAIRN_CORRUPT, 0, "%s is cut short", what);
    cairn_buf_clear(plain);
    cairn_buf_put_zero(plain, stored - CAIRN_AEAD_TAG_BYTES);
    status = cairn_buf_check(plain, what, err);
    if (status != CAIRN_OK)
        return status;
    const struct cairn_piece piece = {CAIRN_DOMAIN_LOG, 0, n, plain->len};
    cairn_object_key(key, keys->keys, CAIRN_OBJECT_LOG_ENTRY, object);
    status = cairn_piece_open(keys->aead, key, &piece, object + CAIRN_HEADER_BYTES, stored,
                              plain->data, err);
    if (status != CAIRN_OK) {
        cairn_error_prefix(err, "%s is damaged: ", what);
        return status;
    }
    struct cairn_log_entry e = {0};
    struct cairn_reader reader;
    cairn_reader_init(&reader, plain->data, plain->len);
    e.number = cairn_reader_u64(&reader);
    e.time_ns = (int64_t)cairn_reader_u64(&reader);
    cairn_reader_copy(&reader, e.previous.bytes, 32);
    e.checkpoint = cairn_reader_u64(&reader);
    e.program = cairn_reader_bytes(&reader);
    e.records = cairn_reader_take(&reader, cairn_reader_left(&reader));
    if (reader.failed || e.number != n || (n > 0 && e.checkpoint >= n))
        return cairn_error_set(err, CAIRN_CORRUPT, 0, "%s is malformed", what);
    struct cairn_reader first;
    uint64_t tag;
    struct cairn_slice value;
    cairn_reader_init(&first, e.records.data, e.records.len);
    e.is_checkpoint = cairn_log_record_next(&first, &tag, &value) && tag == CAIRN_LOG_CHECKPOINT;
    *out = e;
    return CAIRN_OK;
}
