/* SPDX-License-Identifier: Apache-2.0
 *
 * id_set.h - the set of chunk ids that a session has taken on and no index segment lists yet.
 *
 * Ids are uniform, so their own bytes serve as the hash. Open addressing with linear probing; the
 * set only grows, until it is rebuilt.
 */
#ifndef CAIRN_STORE_ID_SET_H
#define CAIRN_STORE_ID_SET_H

#include <stdbool.h>
#include <stddef.h>

#include <cairn/cairn.h>

struct cairn_id_set {
    struct cairn_id *slots; /* an all-zero id is a free slot */
    size_t cap;             /* 0 or a power of two */
    size_t count;
    bool has_zero; /* the id that is all zero is a member */
};

/* Frees the contents; the set is then empty. */
void cairn_id_set_release(struct cairn_id_set *set);

/* Adds id. *added: it was not a member. NO_MEMORY leaves the set as it was. */
int cairn_id_set_add(struct cairn_id_set *set, const struct cairn_id *id, bool *added,
                     struct cairn_error *err);

/* Whether id is a member. */
bool cairn_id_set_has(const struct cairn_id_set *set, const struct cairn_id *id);

/* Calls fn for every member, in no particular order. */
void cairn_id_set_each(const struct cairn_id_set *set,
                       void (*fn)(void *ctx, const struct cairn_id *id), void *ctx);

#endif
