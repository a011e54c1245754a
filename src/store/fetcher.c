/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/hex.h"
#include "store/fetcher_internal.h"

int cairn_fetcher_new(struct cairn_store *store, size_t cache_bytes, struct cairn_fetcher **out,
                      struct cairn_error *err)
{
    struct cairn_fetcher *fetcher = cairn_alloc_zero(1, sizeof(*fetcher));
    if (fetcher == NULL)
        return cairn_error_no_memory(err, "reading chunks");
    fetcher->store = store;
    fetcher->cache_bytes = cache_bytes;
    int status = cairn_codec_new(&fetcher->codec, err);
    if (status == CAIRN_OK)
        status = cairn_aead_new(store->identity.aead, &fetcher->aead, err);
    if (status == CAIRN_OK)
        *out = fetcher;
    else
        cairn_fetcher_free(fetcher);
    return status;
}

void cairn_fetcher_free(struct cairn_fetcher *fetcher)
{
    if (fetcher == NULL)
        return;
    for (size_t i = 0; i < fetcher->kept_count; i++)
        cairn_free(fetcher->kept[i].plain);
    cairn_free(fetcher->kept);
    cairn_buf_release(&fetcher->stored);
    cairn_buf_release(&fetcher->opened);
    cairn_buf_release(&fetcher->plain);
    cairn_codec_free(fetcher->codec);
    cairn_aead_free(fetcher->aead);
    cairn_wipe(fetcher->keys, sizeof(fetcher->keys));
    cairn_free(fetcher);
}

/* Says which pack a failure concerns. */
static int in_pack(struct cairn_error *err, int status, const struct cairn_id *pack)
{
    char hex[17];
    cairn_hex_encode(hex, pack->bytes, 8);
    if (status == CAIRN_NOT_FOUND)
        return cairn_error_set(err, CAIRN_CORRUPT, 0, "pack %s is missing", hex);
    cairn_error_prefix(err, "pack %s: ", hex);
    return status;
}

int cairn_fetcher_pack_key(struct cairn_fetcher *fetcher, const struct cairn_id *pack, int type,
                           const uint8_t **key, struct cairn_error *err)
{
    size_t slot = pack->bytes[0] % KEY_SLOTS;
    if (fetcher->keys[slot].type != type ||
        memcmp(&fetcher->keys[slot].pack, pack, sizeof(*pack)) != 0) {
        char name[CAIRN_BACKEND_NAME_MAX + 1];
        uint8_t header[CAIRN_HEADER_BYTES];
        cairn_store_pack_name(name, pack);
        int status =
            cairn_backend_get_range(fetcher->store->backend, name, 0, header, sizeof(header), err);
        if (status == CAIRN_OK)
            status = cairn_header_check(header, sizeof(header), type, &fetcher->store->identity,
                                        "its header", err);
        if (status != CAIRN_OK)
            return in_pack(err, status, pack);
        fetcher->keys[slot].pack = *pack;
        fetcher->keys[slot].type = type;
        cairn_object_key(fetcher->keys[slot].key, &fetcher->store->keys, type, header);
    }
    *key = fetcher->keys[slot].key;
    return CAIRN_OK;
}

int cairn_fetcher_decode(struct cairn_fetcher *fetcher, const uint8_t key[CAIRN_KEY_BYTES],
                         const struct cairn_frame *frame, uint32_t number, const uint8_t *stored,
                         uint8_t *out, struct cairn_error *err)
{
    const struct cairn_piece piece = {CAIRN_DOMAIN_FRAME, frame->codec, number, frame->plain_len};
    if (frame->codec == CAIRN_CODEC_RAW)
        return cairn_piece_open(fetcher->aead, key, &piece, stored, frame->stored_len, out, err);
    size_t len = frame->stored_len - CAIRN_AEAD_TAG_BYTES;
    cairn_buf_clear(&fetcher->opened);
    if (!cairn_buf_reserve(&fetcher->opened, len))
        return cairn_error_no_memory(err, "a frame");
    int status = cairn_piece_open(fetcher->aead, key, &piece, stored, frame->stored_len,
                                  fetcher->opened.data, err);
    if (status == CAIRN_OK)
        status = cairn_codec_decompress(fetcher->codec, fetcher->opened.data, len, out,
                                        frame->plain_len, err);
    return status;
}

/* Reads (unless `stored` is given) and decodes the frame of a location to out. */
static int load_frame(struct cairn_fetcher *fetcher, const struct cairn_location *location,
                      const uint8_t *stored, uint8_t *out, struct cairn_error *err)
{
    const uint8_t *key = NULL;
    int status = cairn_fetcher_pack_key(fetcher, &location->pack, location->pack_type, &key, err);
    if (status != CAIRN_OK)
        return status;
    if (stored == NULL) {
        char name[CAIRN_BACKEND_NAME_MAX + 1];
        cairn_store_pack_name(name, &location->pack);
        cairn_buf_clear(&fetcher->stored);
        if (!cairn_buf_reserve(&fetcher->stored, location->frame.stored_len))
            return cairn_error_no_memory(err, "a frame");
        status = cairn_backend_get_range(fetcher->store->backend, name, location->frame.offset,
                                         fetcher->stored.data, location->frame.stored_len, err);
        stored = fetcher->stored.data;
    }
    if (status == CAIRN_OK)
        status = cairn_fetcher_decode(fetcher, key, &location->frame, location->frame_number,
                                      stored, out, err);
    return status == CAIRN_OK ? status : in_pack(err, status, &location->pack);
}

int cairn_fetcher_frame(struct cairn_fetcher *fetcher, const struct cairn_location *location,
                        const uint8_t *stored, uint64_t phase, struct cairn_slice *plain,
                        struct cairn_error *err)
{
    cairn_buf_clear(&fetcher->plain);
    if (!cairn_buf_reserve(&fetcher->plain, location->frame.plain_len + CAIRN_FRAME_ALIGN))
        return cairn_error_no_memory(err, "a frame");
    uint8_t *at = fetcher->plain.data;
    at += (phase - (uintptr_t)at) & (CAIRN_FRAME_ALIGN - 1);
    int status = load_frame(fetcher, location, stored, at, err);
    if (status == CAIRN_OK)
        *plain = (struct cairn_slice){at, location->frame.plain_len};
    return status;
}

int cairn_fetcher_verify(struct cairn_fetcher *fetcher, enum cairn_kind kind,
                         const struct cairn_id *id, const struct cairn_slice *chunk,
                         struct cairn_error *err)
{
    struct cairn_id have;
    cairn_store_chunk_id(fetcher->store, kind, chunk->data, chunk->len, &have);
    if (cairn_id_is_equal(&have, id))
        return CAIRN_OK;
    char hex[65];
    cairn_hex_encode(hex, id->bytes, 8);
    return cairn_error_set(err, CAIRN_CORRUPT, 0, "chunk %s has other content than its id says",
                           hex);
}

/* Drops the frame that was wanted longest ago. */
static void evict(struct cairn_fetcher *fetcher)
{
    size_t oldest = 0;
    for (size_t i = 1; i < fetcher->kept_count; i++) {
        if (fetcher->kept[i].used < fetcher->kept[oldest].used)
            oldest = i;
    }
    fetcher->kept_bytes -= fetcher->kept[oldest].len;
    cairn_free(fetcher->kept[oldest].plain);
    fetcher->kept[oldest] = fetcher->kept[--fetcher->kept_count];
}

/* The decoded frame of a location, from the cache or into it. */
static int kept_frame(struct cairn_fetcher *fetcher, const struct cairn_location *location,
                      const uint8_t **plain, struct cairn_error *err)
{
    fetcher->tick++;
    for (size_t i = 0; i < fetcher->kept_count; i++) {
        struct kept_frame *k = &fetcher->kept[i];
        if (k->number == location->frame_number && k->len == location->frame.plain_len &&
            memcmp(&k->pack, &location->pack, sizeof(k->pack)) == 0) {
            k->used = fetcher->tick;
            *plain = k->plain;
            return CAIRN_OK;
        }
    }
    uint32_t len = location->frame.plain_len;
    while (fetcher->kept_count > 0 && fetcher->kept_bytes + len > fetcher->cache_bytes)
        evict(fetcher);
    if (fetcher->kept_count == fetcher->kept_cap) {
        size_t cap = fetcher->kept_cap ? fetcher->kept_cap * 2 : 16;
        struct kept_frame *grown = cairn_realloc(fetcher->kept, cap, sizeof(*grown));
        if (grown == NULL)
            return cairn_error_no_memory(err, "a frame");
        fetcher->kept = grown;
        fetcher->kept_cap = cap;
    }
    uint8_t *bytes = cairn_alloc(len, 1);
    if (bytes == NULL)
        return cairn_error_no_memory(err, "a frame");
    int status = load_frame(fetcher, location, NULL, bytes, err);
    if (status != CAIRN_OK) {
        cairn_free(bytes);
        return status;
    }
    fetcher->kept[fetcher->kept_count++] =
        (struct kept_frame){location->pack, location->frame_number, len, fetcher->tick, bytes};
    fetcher->kept_bytes += len;
    *plain = bytes;
    return CAIRN_OK;
}

int cairn_fetcher_get(struct cairn_fetcher *fetcher, enum cairn_kind kind,
                      const struct cairn_id *id, struct cairn_slice *data, struct cairn_error *err)
{
    struct cairn_location location;
    int status = CAIRN_NOT_FOUND;
    for (unsigned copy = 0; cairn_index_find_copy(&fetcher->store->index, id, copy, &location);
         copy++) {
        const uint8_t *plain = NULL;
        if (location.pack_type != (int)kind)
            continue;
        status = kept_frame(fetcher, &location, &plain, err);
        if (status == CAIRN_OK) {
            struct cairn_slice chunk = {plain + location.offset, location.len};
            status = cairn_fetcher_verify(fetcher, kind, id, &chunk, err);
            if (status == CAIRN_OK) {
                *data = chunk;
                return CAIRN_OK;
            }
        }
        if (status != CAIRN_CORRUPT)
            return status;
    }
    if (status == CAIRN_NOT_FOUND) {
        char hex[65];
        cairn_hex_encode(hex, id->bytes, 8);
        return cairn_error_set(err, CAIRN_NOT_FOUND, 0, "chunk %s is in no pack", hex);
    }
    return status;
}
