/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/error.h"
#include "store/store_internal.h"

#define BLOCK_BYTES 65536u

int cairn_segment_seal(struct cairn_store *store, const struct cairn_buf *run,
                       struct cairn_buf *object, struct cairn_id *name, struct cairn_error *err)
{
    uint8_t header[CAIRN_HEADER_BYTES], key[CAIRN_KEY_BYTES];
    int status = cairn_header_make(header, CAIRN_OBJECT_SEGMENT, &store->identity, err);
    if (status != CAIRN_OK)
        return status;
    cairn_object_key(key, &store->keys, CAIRN_OBJECT_SEGMENT, header);
    cairn_buf_clear(object);
    size_t blocks = (run->len + BLOCK_BYTES - 1) / BLOCK_BYTES;
    (void)cairn_buf_reserve(object, sizeof(header) + run->len + blocks * CAIRN_AEAD_TAG_BYTES);
    cairn_buf_put(object, header, sizeof(header));
    for (size_t at = 0; at < run->len && status == CAIRN_OK; at += BLOCK_BYTES) {
        size_t len = run->len - at < BLOCK_BYTES ? run->len - at : BLOCK_BYTES;
        const struct cairn_piece piece = {CAIRN_DOMAIN_SEGMENT, 0, at / BLOCK_BYTES, len};
        size_t place = object->len;
        cairn_buf_put_zero(object, len + CAIRN_AEAD_TAG_BYTES);
        status = cairn_buf_check(object, "an index segment", err);
        if (status == CAIRN_OK)
            status = cairn_piece_seal(store->aead, key, &piece, run->data + at, len,
                                      object->data + place, err);
    }
    if (status == CAIRN_OK)
        cairn_hash(name, object->data, object->len);
    return status;
}

int cairn_segment_open(struct cairn_store *store, const struct cairn_buf *object,
                       struct cairn_buf *run, struct cairn_error *err)
{
    uint8_t key[CAIRN_KEY_BYTES];
    int status = cairn_header_check(object->data, object->len, CAIRN_OBJECT_SEGMENT,
                                    &store->identity, "an index segment", err);
    if (status != CAIRN_OK)
        return status;
    cairn_object_key(key, &store->keys, CAIRN_OBJECT_SEGMENT, object->data);
    cairn_buf_clear(run);
    size_t at = CAIRN_HEADER_BYTES;
    for (uint64_t block = 0; at < object->len && status == CAIRN_OK; block++) {
        size_t stored = object->len - at;
        if (stored > BLOCK_BYTES + CAIRN_AEAD_TAG_BYTES)
            stored = BLOCK_BYTES + CAIRN_AEAD_TAG_BYTES;
        if (stored <= CAIRN_AEAD_TAG_BYTES)
            return cairn_error_set(err, CAIRN_CORRUPT, 0, "an index segment is cut short");
        size_t len = stored - CAIRN_AEAD_TAG_BYTES;
        const struct cairn_piece piece = {CAIRN_DOMAIN_SEGMENT, 0, block, len};
        size_t place = run->len;
        cairn_buf_put_zero(run, len);
        status = cairn_buf_check(run, "an index segment", err);
        if (status == CAIRN_OK)
            status = cairn_piece_open(store->aead, key, &piece, object->data + at, stored,
                                      run->data + place, err);
        at += stored;
    }
    if (status == CAIRN_CORRUPT)
        cairn_error_prefix(err, "an index segment is damaged: ");
    return status;
}
