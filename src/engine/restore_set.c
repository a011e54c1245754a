/* SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"
#include "base/error.h"
#include "engine/restore_internal.h"

/* The slot of a number, or the free one where it belongs. cap is a power of two with free slots. */
static size_t place(const struct cairn_restore_set *set, uint64_t number)
{
    size_t i = (size_t)((number * 0x9E3779B97F4A7C15u) >> 20) & (set->cap - 1);
    while (set->slots[i] != 0 && set->slots[i] != number)
        i = (i + 1) & (set->cap - 1);
    return i;
}

int cairn_restore_set_add(struct cairn_restore_set *set, uint64_t number, bool *added,
                          struct cairn_error *err)
{
    if (set->count * 4 >= set->cap * 3) {
        struct cairn_restore_set grown = {.cap = set->cap ? set->cap * 2 : 64};
        grown.slots = cairn_alloc_zero(grown.cap, sizeof(*grown.slots));
        if (grown.slots == NULL)
            return cairn_error_no_memory(err, "a table of entries");
        for (size_t i = 0; i < set->cap; i++) {
            if (set->slots[i] != 0)
                grown.slots[place(&grown, set->slots[i])] = set->slots[i];
        }
        grown.count = set->count;
        cairn_free(set->slots);
        *set = grown;
    }
    size_t at = place(set, number);
    *added = set->slots[at] == 0;
    set->count += *added;
    set->slots[at] = number;
    return CAIRN_OK;
}

bool cairn_restore_set_has(const struct cairn_restore_set *set, uint64_t number)
{
    return set->cap > 0 && set->slots[place(set, number)] != 0;
}

void cairn_restore_set_release(struct cairn_restore_set *set)
{
    cairn_free(set->slots);
    *set = (struct cairn_restore_set){0};
}
