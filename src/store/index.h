/* SPDX-License-Identifier: Apache-2.0
 *
 * index.h - all index runs of an opened repository as one: where is a chunk?
 *
 * Invariant: a chunk that any committed pack holds is found, once the runs of all live segments
 * were added. Lock: one reader-writer lock; runs are never removed while the index is open.
 */
#ifndef CAIRN_STORE_INDEX_H
#define CAIRN_STORE_INDEX_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include <cairn/cairn.h>

#include "store/id_set.h"
#include "store/run.h"

struct cairn_index {
    pthread_rwlock_t lock;
    struct cairn_run **runs;
    size_t count, cap;
    struct cairn_id_set excluded; /* packs that must not be relied on: absent or found damaged */
};

void cairn_index_init(struct cairn_index *index);
void cairn_index_release(struct cairn_index *index);

/* Adds a run, which then belongs to the index. On failure it stays the caller's. Any thread. */
int cairn_index_add(struct cairn_index *index, struct cairn_run *run, struct cairn_error *err);

/* From now on find passes over chunks in this pack. Any thread. */
int cairn_index_exclude(struct cairn_index *index, const struct cairn_id *pack,
                        struct cairn_error *err);

/* Finds a chunk in a pack of the wanted kind (metadata chunks and data chunks have different ids,
 * so the kind follows). Any thread. */
bool cairn_index_find(struct cairn_index *index, const struct cairn_id *id,
                      struct cairn_location *out);

/* As find, for the copy number `copy` (0 is what find gives): the same chunk may stand in several
 * packs, of which some may be damaged. false: there are not so many copies. */
bool cairn_index_find_copy(struct cairn_index *index, const struct cairn_id *id, unsigned copy,
                           struct cairn_location *out);

/* Whether any run lists this pack. O(runs x packs). */
bool cairn_index_has_pack(struct cairn_index *index, const struct cairn_id *pack);

#endif
