/* SPDX-License-Identifier: Apache-2.0
 *
 * Weak packs: committed at a level below `filesystem`, so that a power cut may have taken them.
 */
#include <fcntl.h>
#include <string.h>

#include "base/error.h"
#include "base/hex.h"
#include "base/io.h"
#include "store/session_internal.h"

void cairn_boot_id(uint8_t out[16])
{
    char text[64] = {0}, hex[33] = {0};
    memset(out, 0, 16);
    int fd = cairn_io_open(AT_FDCWD, "/proc/sys/kernel/random/boot_id", O_RDONLY, 0);
    if (fd < 0)
        return;
    ssize_t n = cairn_io_pread_full(fd, text, sizeof(text) - 1, 0);
    (void)cairn_io_close(fd);
    size_t digits = 0;
    for (ssize_t i = 0; i < n && digits < 32; i++) {
        if (text[i] != '-')
            hex[digits++] = text[i];
    }
    if (digits != 32 || !cairn_hex_decode(out, hex, 16))
        memset(out, 0, 16);
}

int cairn_session_verify_weak(struct cairn_session *session, struct cairn_error *err)
{
    struct cairn_store *store = session->store;
    struct cairn_fetcher *fetcher = NULL;
    uint8_t boot[16];
    cairn_boot_id(boot);
    int status = CAIRN_OK;
    for (size_t i = 0; i < store->log.weak_count && status == CAIRN_OK; i++) {
        const struct cairn_log_pack *pack = &store->log.weak[i];
        if (memcmp(pack->boot, boot, sizeof(boot)) == 0)
            continue;
        char name[CAIRN_BACKEND_NAME_MAX + 1];
        cairn_store_pack_name(name, &pack->name);
        if (fetcher == NULL)
            status = cairn_fetcher_new(store, 0, &fetcher, err);
        if (status != CAIRN_OK)
            break;
        status = cairn_fetcher_verify_pack(fetcher, name, pack->length, &pack->name, false, NULL,
                                           NULL, NULL, err);
        if (status == CAIRN_CORRUPT || status == CAIRN_NOT_FOUND)
            status = cairn_index_exclude(&store->index, &pack->name, err);
    }
    cairn_fetcher_free(fetcher);
    return status;
}

/* Segments that were never synced but are here (those that are not count as absent already). */
static int raise_segments(struct cairn_session *session, struct cairn_buf *records,
                          struct cairn_error *err)
{
    struct cairn_store *store = session->store;
    int status = CAIRN_OK;
    for (size_t i = 0; i < store->log.segment_count && status == CAIRN_OK; i++) {
        const struct cairn_log_segment *segment = &store->log.segments[i];
        if (!segment->is_weak || !cairn_id_set_has(&store->loaded, &segment->name))
            continue;
        char name[CAIRN_BACKEND_NAME_MAX + 1];
        cairn_store_segment_name(name, &segment->name);
        status = cairn_backend_sync_object(store->backend, name, err);
        cairn_log_put_segment(records, segment);
    }
    return status;
}

int cairn_session_raise_weak(struct cairn_session *session, struct cairn_buf *records,
                             struct cairn_error *err)
{
    struct cairn_store *store = session->store;
    int status = CAIRN_OK;
    for (size_t i = 0; i < store->log.weak_count && status == CAIRN_OK; i++) {
        const struct cairn_log_pack *pack = &store->log.weak[i];
        if (cairn_id_set_has(&store->index.excluded, &pack->name))
            continue;
        char name[CAIRN_BACKEND_NAME_MAX + 1];
        cairn_store_pack_name(name, &pack->name);
        status = cairn_backend_sync_object(store->backend, name, err);
        cairn_log_put_pack_level(records, &pack->name, CAIRN_LEVEL_FILE);
    }
    return status == CAIRN_OK ? raise_segments(session, records, err) : status;
}
