/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "store/fetcher_internal.h"

/* Reads and checks the header under a name. type: an enum cairn_object_type, or 0 for any pack. */
static int read_header(struct cairn_fetcher *fetcher, const char *name,
                       uint8_t header[CAIRN_HEADER_BYTES], int *type, struct cairn_error *err)
{
    int status =
        cairn_backend_get_range(fetcher->store->backend, name, 0, header, CAIRN_HEADER_BYTES, err);
    if (status != CAIRN_OK)
        return status;
    int found = cairn_load_u16(header + 8);
    if (found != CAIRN_OBJECT_DATA_PACK && found != CAIRN_OBJECT_METADATA_PACK)
        return cairn_error_set(err, CAIRN_CORRUPT, 0, "%s is not a pack", name);
    status =
        cairn_header_check(header, CAIRN_HEADER_BYTES, found, &fetcher->store->identity, name, err);
    if (status == CAIRN_OK)
        *type = found;
    return status;
}

/* Reads trailer and footer; the key comes from the header. */
static int read_footer(struct cairn_fetcher *fetcher, const char *name, uint64_t length,
                       const uint8_t key[CAIRN_KEY_BYTES], struct cairn_pack_contents *out,
                       struct cairn_error *err)
{
    uint8_t bytes[CAIRN_PACK_TRAILER_BYTES];
    struct cairn_pack_trailer trailer;
    struct cairn_backend *backend = fetcher->store->backend;
    if (length < CAIRN_HEADER_BYTES + CAIRN_PACK_TRAILER_BYTES)
        return cairn_error_set(err, CAIRN_CORRUPT, 0, "%s is cut short", name);
    uint64_t at = length - CAIRN_PACK_TRAILER_BYTES;
    int status = cairn_backend_get_range(backend, name, at, bytes, sizeof(bytes), err);
    if (status == CAIRN_OK)
        status = cairn_pack_trailer_parse(bytes, length, &trailer, err);
    if (status != CAIRN_OK)
        return status;
    cairn_buf_clear(&fetcher->stored);
    cairn_buf_put_zero(&fetcher->stored, trailer.footer_len);
    status = cairn_buf_check(&fetcher->stored, "a pack's footer", err);
    if (status == CAIRN_OK)
        status = cairn_backend_get_range(backend, name, at - trailer.footer_len,
                                         fetcher->stored.data, trailer.footer_len, err);
    size_t len = trailer.footer_len - CAIRN_AEAD_TAG_BYTES;
    const struct cairn_piece piece = {CAIRN_DOMAIN_FOOTER, 0, 0, len};
    if (status == CAIRN_OK)
        status = cairn_piece_open(fetcher->aead, key, &piece, fetcher->stored.data,
                                  trailer.footer_len, fetcher->stored.data, err);
    if (status == CAIRN_OK)
        status = cairn_pack_footer_parse(fetcher->stored.data, len, &trailer, out, err);
    return status;
}

int cairn_fetcher_footer(struct cairn_fetcher *fetcher, const char *name, uint64_t length,
                         struct cairn_pack_contents *out, int *type, struct cairn_error *err)
{
    uint8_t header[CAIRN_HEADER_BYTES], key[CAIRN_KEY_BYTES];
    int status = read_header(fetcher, name, header, type, err);
    if (status != CAIRN_OK)
        return status;
    cairn_object_key(key, &fetcher->store->keys, *type, header);
    return read_footer(fetcher, name, length, key, out, err);
}

/* Opens one frame and checks its chunks, which begin at contents->chunks[*next]. */
static int verify_frame(struct cairn_fetcher *fetcher, const struct cairn_pack_contents *contents,
                        int type, const uint8_t key[CAIRN_KEY_BYTES], size_t number,
                        const uint8_t *stored, size_t *next, struct cairn_error *err)
{
    const struct cairn_frame *frame = &contents->frames[number];
    cairn_buf_clear(&fetcher->plain);
    if (!cairn_buf_reserve(&fetcher->plain, frame->plain_len))
        return cairn_error_no_memory(err, "a frame");
    int status = cairn_fetcher_decode(fetcher, key, frame, (uint32_t)number, stored,
                                      fetcher->plain.data, err);
    for (; status == CAIRN_OK && *next < contents->chunk_count &&
           contents->chunks[*next].frame == number;
         (*next)++) {
        const struct cairn_pack_chunk *chunk = &contents->chunks[*next];
        struct cairn_slice slice = {fetcher->plain.data + chunk->offset, chunk->len};
        status = cairn_fetcher_verify(fetcher, (enum cairn_kind)type, &chunk->id, &slice, err);
    }
    return status;
}

#define READ_BYTES ((size_t)4 << 20)

/* Reads the whole pack once, in order, hashing it and (deep) verifying each frame as it passes. */
static int scan(struct cairn_fetcher *fetcher, const char *name,
                const struct cairn_pack_contents *contents, int type,
                const uint8_t key[CAIRN_KEY_BYTES], bool deep, struct cairn_id *hash,
                struct cairn_error *err)
{
    struct cairn_hasher hasher;
    uint64_t at = 0;
    size_t frame = 0, chunk = 0;
    int status = CAIRN_OK;
    cairn_hasher_init(&hasher, NULL);
    while (at < contents->length && status == CAIRN_OK) {
        /* As many whole frames as fit, beginning where the last piece ended. */
        size_t first = frame;
        uint64_t end = contents->length;
        if (frame < contents->frame_count) {
            end = contents->frames[frame].offset + contents->frames[frame].stored_len;
            frame++;
            while (frame < contents->frame_count &&
                   contents->frames[frame].offset + contents->frames[frame].stored_len - at <=
                       READ_BYTES) {
                end = contents->frames[frame].offset + contents->frames[frame].stored_len;
                frame++;
            }
        } else if (end - at > READ_BYTES) {
            end = at + READ_BYTES;
        }
        cairn_buf_clear(&fetcher->stored);
        if (!cairn_buf_reserve(&fetcher->stored, (size_t)(end - at)))
            return cairn_error_no_memory(err, "reading a pack");
        status = cairn_backend_get_range(fetcher->store->backend, name, at, fetcher->stored.data,
                                         (size_t)(end - at), err);
        if (status == CAIRN_OK)
            cairn_hasher_update(&hasher, fetcher->stored.data, (size_t)(end - at));
        for (size_t f = first; deep && status == CAIRN_OK && f < frame; f++)
            status =
                verify_frame(fetcher, contents, type, key, f,
                             fetcher->stored.data + (contents->frames[f].offset - at), &chunk, err);
        at = end;
        if (status == CAIRN_OK && cairn_store_is_cancelled(fetcher->store))
            status = cairn_error_set(err, CAIRN_CANCELLED, 0, "cancelled");
    }
    cairn_hasher_final(&hasher, hash);
    return status;
}

int cairn_fetcher_verify_pack(struct cairn_fetcher *fetcher, const char *name, uint64_t length,
                              const struct cairn_id *expected, bool deep, struct cairn_id *hash,
                              struct cairn_pack_contents *contents, int *type,
                              struct cairn_error *err)
{
    uint8_t header[CAIRN_HEADER_BYTES], key[CAIRN_KEY_BYTES];
    struct cairn_pack_contents found = {0};
    struct cairn_id have;
    int kind = 0;
    int status = read_header(fetcher, name, header, &kind, err);
    if (status != CAIRN_OK)
        return status;
    cairn_object_key(key, &fetcher->store->keys, kind, header);
    status = read_footer(fetcher, name, length, key, &found, err);
    if (status == CAIRN_OK)
        status = scan(fetcher, name, &found, kind, key, deep, &have, err);
    if (status == CAIRN_OK && expected && !cairn_id_is_equal(&have, expected))
        status = cairn_error_set(err, CAIRN_CORRUPT, 0, "its bytes are not those it is named by");
    if (status == CAIRN_OK && hash)
        *hash = have;
    if (status == CAIRN_OK && type)
        *type = kind;
    if (status == CAIRN_OK && contents)
        *contents = found;
    else
        cairn_pack_contents_release(&found);
    return status;
}
