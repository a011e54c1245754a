/* SPDX-License-Identifier: Apache-2.0
 *
 * pieces.h - a stand-in for the fetcher of chunks: the input is cut into pieces, and an id names
 * the piece whose number is its first byte. So a fuzzer can make chunks that refer to each other,
 * in circles too. Included by one file of a program, whose cairn_fetcher_get takes the place of the
 * library's.
 *
 * Input: for each piece a u16 length, then its bytes; the last may be shorter.
 */
#ifndef CAIRN_TESTS_FUZZ_PIECES_H
#define CAIRN_TESTS_FUZZ_PIECES_H

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "store/store.h"

#define PIECES_MAX 64
#define GETS_MAX 2000

struct cairn_fetcher {
    struct cairn_slice pieces[PIECES_MAX];
    size_t count;
    unsigned gets;
    uint8_t *lent; /* a copy of exactly the piece, so that a sanitizer sees its end */
};

static void pieces_init(struct cairn_fetcher *fetcher, const uint8_t *input, size_t size)
{
    struct cairn_reader r;
    memset(fetcher, 0, sizeof(*fetcher));
    cairn_reader_init(&r, input, size);
    while (cairn_reader_left(&r) >= 2 && fetcher->count < PIECES_MAX) {
        size_t len = cairn_reader_u16(&r);
        if (len > cairn_reader_left(&r))
            len = cairn_reader_left(&r);
        if (len > 0) /* a chunk has at least one byte */
            fetcher->pieces[fetcher->count++] = cairn_reader_take(&r, len);
    }
}

static void pieces_release(struct cairn_fetcher *fetcher)
{
    free(fetcher->lent);
}

int cairn_fetcher_get(struct cairn_fetcher *fetcher, enum cairn_kind kind,
                      const struct cairn_id *id, struct cairn_slice *data, struct cairn_error *err)
{
    (void)kind;
    if (id->bytes[0] >= fetcher->count || fetcher->gets++ >= GETS_MAX)
        return cairn_error_set(err, CAIRN_NOT_FOUND, 0, "no such piece");
    const struct cairn_slice piece = fetcher->pieces[id->bytes[0]];
    free(fetcher->lent);
    fetcher->lent = malloc(piece.len);
    if (fetcher->lent == NULL)
        return cairn_error_no_memory(err, "a piece");
    memcpy(fetcher->lent, piece.data, piece.len);
    *data = (struct cairn_slice){fetcher->lent, piece.len};
    return CAIRN_OK;
}

/* The builders beside the readers need it; nothing here builds. Defined so that the library's
 * sessions, and with them its fetcher, are not linked. */
int cairn_lane_put(struct cairn_lane *lane, const void *data, size_t len, struct cairn_id *id,
                   bool *is_new, struct cairn_error *err)
{
    (void)lane;
    (void)data;
    (void)len;
    (void)id;
    (void)is_new;
    return cairn_error_set(err, CAIRN_MISUSE, 0, "nothing is stored here");
}

#endif
