/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_STORE_FETCHER_INTERNAL_H
#define CAIRN_STORE_FETCHER_INTERNAL_H

#include "codec/codec.h"
#include "store/store_internal.h"

#define KEY_SLOTS 64u

/* A decoded frame that is kept. */
struct kept_frame {
    struct cairn_id pack;
    uint32_t number;
    uint32_t len;
    uint64_t used; /* the fetcher's tick when it was last wanted */
    uint8_t *plain;
};

/* Invariant: kept_bytes is the sum of the lengths of kept frames and at most cache_bytes, unless
 * only one frame is kept. */
struct cairn_fetcher {
    struct cairn_store *store;
    struct cairn_codec *codec;
    struct cairn_aead_ctx *aead;
    struct cairn_buf stored, opened, plain;
    struct {
        struct cairn_id pack;
        int type; /* 0: free */
        uint8_t key[CAIRN_KEY_BYTES];
    } keys[KEY_SLOTS];
    struct kept_frame *kept;
    size_t kept_count, kept_cap, kept_bytes, cache_bytes;
    uint64_t tick;
};

/* The key of a pack: from the fetcher's memory, or by reading the pack's header under `name`. */
int cairn_fetcher_pack_key(struct cairn_fetcher *fetcher, const struct cairn_id *pack, int type,
                           const uint8_t **key, struct cairn_error *err);

/* Decodes a frame's stored bytes into out (frame->plain_len bytes). */
int cairn_fetcher_decode(struct cairn_fetcher *fetcher, const uint8_t key[CAIRN_KEY_BYTES],
                         const struct cairn_frame *frame, uint32_t number, const uint8_t *stored,
                         uint8_t *out, struct cairn_error *err);

#endif
