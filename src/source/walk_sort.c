/* SPDX-License-Identifier: Apache-2.0
 *
 * Sorting names in place. The bytes that all names begin with are skipped, so that the next eight,
 * held beside the offset, decide nearly every comparison without touching the names.
 * Quicksort with the median of three; where that degenerates, heapsort; short runs by insertion.
 */
#include <string.h>

#include "source/walk_internal.h"

#define SHORT_RUN 16

struct sorter {
    const char *names;
    size_t common; /* bytes that all names share at their beginning */
};

static uint64_t key_of(const struct walk_item *item)
{
    return (uint64_t)item->key[0] << 32 | item->key[1];
}

static bool is_less(const struct sorter *s, const struct walk_item *a, const struct walk_item *b)
{
    uint64_t x = key_of(a), y = key_of(b);
    if (x != y)
        return x < y;
    if ((x & 0xff) == 0)
        return false; /* both names end within the key */
    return strcmp(s->names + a->at + s->common + 8, s->names + b->at + s->common + 8) < 0;
}

static void swap(struct walk_item *a, struct walk_item *b)
{
    struct walk_item t = *a;
    *a = *b;
    *b = t;
}

static void sort_by_insertion(const struct sorter *s, struct walk_item *items, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        struct walk_item item = items[i];
        size_t at = i;
        for (; at > 0 && is_less(s, &item, &items[at - 1]); at--)
            items[at] = items[at - 1];
        items[at] = item;
    }
}

static void sift_down(const struct sorter *s, struct walk_item *items, size_t at, size_t count)
{
    for (size_t child; (child = 2 * at + 1) < count; at = child) {
        if (child + 1 < count && is_less(s, &items[child], &items[child + 1]))
            child++;
        if (!is_less(s, &items[at], &items[child]))
            return;
        swap(&items[at], &items[child]);
    }
}

static void sort_by_heap(const struct sorter *s, struct walk_item *items, size_t count)
{
    for (size_t i = count / 2; i-- > 0;)
        sift_down(s, items, i, count);
    for (size_t end = count; end-- > 1;) {
        swap(&items[0], &items[end]);
        sift_down(s, items, 0, end);
    }
}

/* Splits around a median of three: what is left of the result is not greater, what is right of it
 * not less. count > 2. */
static size_t partition(const struct sorter *s, struct walk_item *items, size_t count)
{
    struct walk_item *middle = &items[count / 2], *last = &items[count - 1];
    if (is_less(s, middle, &items[0]))
        swap(middle, &items[0]);
    if (is_less(s, last, middle)) {
        swap(last, middle);
        if (is_less(s, middle, &items[0]))
            swap(middle, &items[0]);
    }
    swap(middle, &items[count - 2]);
    struct walk_item pivot = items[count - 2];
    size_t low = 0, high = count - 2;
    for (;;) {
        while (is_less(s, &items[++low], &pivot))
            ;
        while (is_less(s, &pivot, &items[--high]))
            ;
        if (low >= high)
            break;
        swap(&items[low], &items[high]);
    }
    swap(&items[low], &items[count - 2]);
    return low;
}

/* Recurses into the smaller half only, so that the stack stays shallow. */
static void sort_range(const struct sorter *s, struct walk_item *items, size_t count,
                       unsigned depth)
{
    while (count > SHORT_RUN) {
        if (depth-- == 0) {
            sort_by_heap(s, items, count);
            return;
        }
        size_t middle = partition(s, items, count);
        size_t right = count - middle - 1;
        if (middle < right) {
            sort_range(s, items, middle, depth);
            items += middle + 1;
            count = right;
        } else {
            sort_range(s, items + middle + 1, right, depth);
            count = middle;
        }
    }
    sort_by_insertion(s, items, count);
}

static size_t common_length(const struct walk_item *items, size_t count, const char *names)
{
    const char *first = names + items[0].at;
    size_t common = strlen(first);
    for (size_t i = 1; i < count && common > 0; i++) {
        const char *name = names + items[i].at;
        size_t len = 0;
        while (len < common && name[len] == first[len])
            len++;
        common = len;
    }
    return common;
}

void walk_sort(struct walk_item *items, size_t count, const char *names)
{
    if (count < 2)
        return;
    struct sorter s = {names, common_length(items, count, names)};
    for (size_t i = 0; i < count; i++) {
        const unsigned char *name = (const unsigned char *)names + items[i].at + s.common;
        uint64_t key = 0;
        for (int k = 0; k < 8; k++) {
            key = key << 8 | *name;
            name += *name != 0;
        }
        items[i].key[0] = (uint32_t)(key >> 32);
        items[i].key[1] = (uint32_t)key;
    }
    unsigned depth = 2;
    for (size_t n = count; n > 1; n /= 2)
        depth += 2;
    sort_range(&s, items, count, depth);
}
