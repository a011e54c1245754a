/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/hex.h"
#include "store/session_internal.h"

int cairn_pack_writer_init(struct pack_writer *writer, size_t pieces, size_t piece_bytes,
                           struct cairn_error *err)
{
    memset(writer, 0, sizeof(*writer));
    writer->piece_count = pieces;
    writer->piece_bytes = piece_bytes;
    for (size_t i = 0; i < pieces; i++) {
        writer->pieces[i] = cairn_alloc_aligned(CAIRN_PACK_ALIGN, piece_bytes);
        if (writer->pieces[i] == NULL) {
            cairn_pack_writer_release(writer);
            return cairn_error_no_memory(err, "writing packs");
        }
    }
    return CAIRN_OK;
}

void cairn_pack_writer_release(struct pack_writer *writer)
{
    cairn_backend_upload_abort(writer->upload);
    cairn_pack_contents_release(&writer->contents);
    for (size_t i = 0; i < writer->piece_count; i++)
        cairn_free(writer->pieces[i]);
    cairn_wipe(writer->key, sizeof(writer->key));
    memset(writer, 0, sizeof(*writer));
}

int cairn_pack_writer_open(struct pack_writer *writer, struct cairn_store *store, int type,
                           int level, struct cairn_error *err)
{
    int status = cairn_header_make(writer->header, type, &store->identity, err);
    if (status == CAIRN_OK)
        status = cairn_backend_upload_open(store->backend, level, &writer->upload, err);
    if (status != CAIRN_OK)
        return status;
    cairn_object_key(writer->key, &store->keys, type, writer->header);
    cairn_hasher_init(&writer->hasher, NULL);
    writer->at = 0;
    writer->current = 0;
    writer->fill = 0;
    return cairn_pack_writer_append(writer, writer->header, sizeof(writer->header), err);
}

/* Waits for one piece to be written. */
static int reap(struct pack_writer *writer, struct cairn_error *err)
{
    void *token = NULL;
    int status = cairn_backend_upload_reap(writer->upload, &token, err);
    for (size_t i = 0; status == CAIRN_OK && i < writer->piece_count; i++) {
        if (writer->pieces[i] == token)
            writer->in_flight[i] = false;
    }
    return status;
}

/* Hashes the current piece and hands it to the upload; the next free piece becomes the current. */
static int submit(struct pack_writer *writer, struct cairn_error *err)
{
    uint8_t *piece = writer->pieces[writer->current];
    cairn_hasher_update(&writer->hasher, piece, writer->fill);
    int status = cairn_backend_upload_submit(writer->upload, piece, writer->fill, piece, err);
    if (status != CAIRN_OK)
        return status;
    writer->in_flight[writer->current] = true;
    writer->current = (writer->current + 1) % writer->piece_count;
    writer->fill = 0;
    while (status == CAIRN_OK && writer->in_flight[writer->current])
        status = reap(writer, err);
    return status;
}

uint8_t *cairn_pack_writer_room(struct pack_writer *writer, size_t len)
{
    if (len > writer->piece_bytes - writer->fill)
        return NULL;
    return writer->pieces[writer->current] + writer->fill;
}

int cairn_pack_writer_append(struct pack_writer *writer, const uint8_t *bytes, size_t len,
                             struct cairn_error *err)
{
    int status = CAIRN_OK;
    while (len > 0 && status == CAIRN_OK) {
        uint8_t *place = writer->pieces[writer->current] + writer->fill;
        size_t room = writer->piece_bytes - writer->fill;
        size_t take = len < room ? len : room;
        if (place != bytes)
            memcpy(place, bytes, take);
        writer->fill += take;
        writer->at += take;
        bytes += take;
        len -= take;
        if (writer->fill == writer->piece_bytes)
            status = submit(writer, err);
    }
    return status;
}

/* Zero bytes, so that what follows (footer and trailer) ends on the alignment. */
static int pad(struct pack_writer *writer, size_t tail, struct cairn_error *err)
{
    static const uint8_t zeros[CAIRN_PACK_ALIGN];
    size_t over = (size_t)((writer->at + tail) % CAIRN_PACK_ALIGN);
    return cairn_pack_writer_append(writer, zeros, over ? CAIRN_PACK_ALIGN - over : 0, err);
}

static int append_footer(struct pack_writer *writer, struct cairn_aead_ctx *aead,
                         struct cairn_error *err)
{
    struct cairn_buf footer = CAIRN_BUF_INIT;
    uint8_t trailer[CAIRN_PACK_TRAILER_BYTES];
    size_t stored = cairn_pack_footer_size(&writer->contents);
    int status = pad(writer, stored + sizeof(trailer), err);
    if (status != CAIRN_OK)
        return status;
    writer->contents.length = writer->at + stored + sizeof(trailer);
    cairn_pack_footer_encode(&writer->contents, &footer);
    cairn_buf_put_zero(&footer, CAIRN_AEAD_TAG_BYTES);
    status = cairn_buf_check(&footer, "a pack's footer", err);
    size_t len = stored - CAIRN_AEAD_TAG_BYTES;
    const struct cairn_piece piece = {CAIRN_DOMAIN_FOOTER, 0, 0, len};
    if (status == CAIRN_OK)
        status = cairn_piece_seal(aead, writer->key, &piece, footer.data, len, footer.data, err);
    if (status == CAIRN_OK)
        status = cairn_pack_writer_append(writer, footer.data, footer.len, err);
    cairn_buf_release(&footer);
    cairn_pack_trailer_encode(trailer, &writer->contents);
    if (status == CAIRN_OK)
        status = cairn_pack_writer_append(writer, trailer, sizeof(trailer), err);
    return status;
}

int cairn_pack_writer_finish(struct pack_writer *writer, struct cairn_aead_ctx *aead,
                             struct cairn_id *name, struct cairn_error *err)
{
    int status = append_footer(writer, aead, err);
    if (status == CAIRN_OK && writer->fill > 0)
        status = submit(writer, err);
    for (;;) {
        bool busy = false;
        for (size_t i = 0; i < writer->piece_count; i++)
            busy |= writer->in_flight[i];
        if (status != CAIRN_OK || !busy)
            break;
        status = reap(writer, err);
    }
    if (status != CAIRN_OK)
        return status;
    char object_name[CAIRN_BACKEND_NAME_MAX + 1];
    struct cairn_id id;
    cairn_hasher_final(&writer->hasher, &id);
    cairn_store_pack_name(object_name, &id);
    struct cairn_upload *upload = writer->upload;
    writer->upload = NULL;
    status = cairn_backend_upload_finish(upload, object_name, err);
    if (status == CAIRN_OK)
        *name = id;
    return status;
}
