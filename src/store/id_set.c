/* SPDX-License-Identifier: Apache-2.0 */
#include "store/id_set.h"

#include <string.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "base/error.h"
#include "crypto/hash.h"

void cairn_id_set_release(struct cairn_id_set *set)
{
    cairn_free(set->slots);
    memset(set, 0, sizeof(*set));
}

/* The slot that holds id, or the free one where it belongs. There is always a free one. */
static struct cairn_id *slot_of(const struct cairn_id_set *set, const struct cairn_id *id)
{
    /* The last bytes: the first are what index runs are sorted by, and stay unrelated to this. */
    size_t at = (size_t)cairn_load_u64(id->bytes + 24) & (set->cap - 1);
    while (!cairn_id_is_zero(&set->slots[at]) && memcmp(&set->slots[at], id, sizeof(*id)) != 0)
        at = (at + 1) & (set->cap - 1);
    return &set->slots[at];
}

static int grow(struct cairn_id_set *set, struct cairn_error *err)
{
    struct cairn_id_set bigger = {.cap = set->cap ? set->cap * 2 : 1024, .count = set->count};
    bigger.slots = cairn_alloc_zero(bigger.cap, sizeof(*bigger.slots));
    if (bigger.slots == NULL)
        return cairn_error_no_memory(err, "the set of new chunks");
    for (size_t i = 0; i < set->cap; i++) {
        if (!cairn_id_is_zero(&set->slots[i]))
            *slot_of(&bigger, &set->slots[i]) = set->slots[i];
    }
    cairn_free(set->slots);
    set->slots = bigger.slots;
    set->cap = bigger.cap;
    return CAIRN_OK;
}

int cairn_id_set_add(struct cairn_id_set *set, const struct cairn_id *id, bool *added,
                     struct cairn_error *err)
{
    if (cairn_id_is_zero(id)) {
        *added = !set->has_zero;
        set->has_zero = true;
        return CAIRN_OK;
    }
    if (set->count + 1 > set->cap - set->cap / 4) {
        int status = grow(set, err);
        if (status != CAIRN_OK)
            return status;
    }
    struct cairn_id *slot = slot_of(set, id);
    *added = cairn_id_is_zero(slot);
    if (*added) {
        *slot = *id;
        set->count++;
    }
    return CAIRN_OK;
}

bool cairn_id_set_has(const struct cairn_id_set *set, const struct cairn_id *id)
{
    if (cairn_id_is_zero(id))
        return set->has_zero;
    return set->cap > 0 && !cairn_id_is_zero(slot_of(set, id));
}

void cairn_id_set_each(const struct cairn_id_set *set,
                       void (*fn)(void *ctx, const struct cairn_id *id), void *ctx)
{
    for (size_t i = 0; i < set->cap; i++) {
        if (!cairn_id_is_zero(&set->slots[i]))
            fn(ctx, &set->slots[i]);
    }
    static const struct cairn_id zero;
    if (set->has_zero)
        fn(ctx, &zero);
}
