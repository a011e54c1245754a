/* SPDX-License-Identifier: Apache-2.0 */
#include "store/index.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"

void cairn_index_init(struct cairn_index *index)
{
    memset(index, 0, sizeof(*index));
    (void)pthread_rwlock_init(&index->lock, NULL);
}

void cairn_index_release(struct cairn_index *index)
{
    for (size_t i = 0; i < index->count; i++) {
        cairn_run_release(index->runs[i]);
        cairn_free(index->runs[i]);
    }
    cairn_free(index->runs);
    cairn_id_set_release(&index->excluded);
    (void)pthread_rwlock_destroy(&index->lock);
    memset(index, 0, sizeof(*index));
}

int cairn_index_add(struct cairn_index *index, struct cairn_run *run, struct cairn_error *err)
{
    int status = CAIRN_OK;
    (void)pthread_rwlock_wrlock(&index->lock);
    if (index->count == index->cap) {
        size_t cap = index->cap ? index->cap * 2 : 16;
        struct cairn_run **grown = cairn_realloc(index->runs, cap, sizeof(*grown));
        if (grown) {
            index->runs = grown;
            index->cap = cap;
        } else {
            status = cairn_error_no_memory(err, "the index");
        }
    }
    if (status == CAIRN_OK)
        index->runs[index->count++] = run;
    (void)pthread_rwlock_unlock(&index->lock);
    return status;
}

int cairn_index_exclude(struct cairn_index *index, const struct cairn_id *pack,
                        struct cairn_error *err)
{
    bool added;
    (void)pthread_rwlock_wrlock(&index->lock);
    int status = cairn_id_set_add(&index->excluded, pack, &added, err);
    (void)pthread_rwlock_unlock(&index->lock);
    return status;
}

bool cairn_index_find_copy(struct cairn_index *index, const struct cairn_id *id, unsigned copy,
                           struct cairn_location *out)
{
    bool found = false;
    struct cairn_location location;
    (void)pthread_rwlock_rdlock(&index->lock);
    /* The newest first: what was just written is asked for most. */
    for (size_t i = index->count; i-- > 0 && !found;) {
        if (cairn_run_find(index->runs[i], id, &location) &&
            !cairn_id_set_has(&index->excluded, &location.pack))
            found = copy-- == 0;
    }
    (void)pthread_rwlock_unlock(&index->lock);
    if (found)
        *out = location;
    return found;
}

bool cairn_index_find(struct cairn_index *index, const struct cairn_id *id,
                      struct cairn_location *out)
{
    return cairn_index_find_copy(index, id, 0, out);
}

bool cairn_index_has_pack(struct cairn_index *index, const struct cairn_id *pack)
{
    bool found = false;
    (void)pthread_rwlock_rdlock(&index->lock);
    for (size_t i = 0; i < index->count && !found; i++) {
        for (size_t p = 0; p < index->runs[i]->pack_count && !found; p++) {
            struct cairn_run_pack row;
            cairn_run_pack_at(index->runs[i], p, &row);
            found = memcmp(&row.name, pack, sizeof(*pack)) == 0;
        }
    }
    (void)pthread_rwlock_unlock(&index->lock);
    return found;
}
