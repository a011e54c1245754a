/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/hex.h"
#include "engine/restore_internal.h"

/* Files without chunks that go into one task. */
#define FILES_PER_TASK 32u
/* Frames so near to each other are read together with what lies between. */
#define GAP_BYTES 65536u

static bool locate(struct cairn_restore *r, struct cairn_restore_want *want)
{
    struct cairn_index *index = cairn_store_index(r->store);
    for (unsigned copy = 0; cairn_index_find_copy(index, &want->id, copy, &want->location);
         copy++) {
        if (want->location.pack_type == (int)CAIRN_KIND_DATA)
            return true;
    }
    return false;
}

static int compare(const void *pa, const void *pb)
{
    const struct cairn_restore_want *a = *(struct cairn_restore_want *const *)pa;
    const struct cairn_restore_want *b = *(struct cairn_restore_want *const *)pb;
    int order = memcmp(a->location.pack.bytes, b->location.pack.bytes, 32);
    if (order != 0)
        return order;
    if (a->location.frame.offset != b->location.frame.offset)
        return a->location.frame.offset < b->location.frame.offset ? -1 : 1;
    if (a->location.offset != b->location.offset)
        return a->location.offset < b->location.offset ? -1 : 1;
    order = memcmp(a->id.bytes, b->id.bytes, 32);
    if (order != 0)
        return order;
    return a < b ? -1 : a > b; /* wants of one batch stand in one array, in walk order */
}

static int add_task(struct cairn_restore_batch *b, bool is_files, size_t first, size_t end,
                    struct cairn_error *err)
{
    if (b->task_count == b->task_cap) {
        size_t cap = b->task_cap ? b->task_cap * 2 : 256;
        struct cairn_restore_task *grown = cairn_realloc(b->tasks, cap, sizeof(*grown));
        if (grown == NULL)
            return cairn_error_no_memory(err, "a batch of files");
        b->tasks = grown;
        b->task_cap = cap;
    }
    b->tasks[b->task_count++] = (struct cairn_restore_task){
        .is_files = is_files,
        .first = (uint32_t)first,
        .count = (uint32_t)(end - first),
        .place = is_files ? b->held[first]->number : b->order[first]->file->number,
    };
    return CAIRN_OK;
}

/* Whether the frame of b can be read together with what begins at `start` and ends with a. */
static bool is_near(const struct cairn_restore_want *a, const struct cairn_restore_want *b,
                    uint64_t start)
{
    uint64_t end = (uint64_t)a->location.frame.offset + a->location.frame.stored_len;
    uint64_t next = b->location.frame.offset;
    return memcmp(&a->location.pack, &b->location.pack, sizeof(a->location.pack)) == 0 &&
           next <= end + GAP_BYTES &&
           (next == a->location.frame.offset ||
            next + b->location.frame.stored_len - start <= CAIRN_RESTORE_READ_BYTES);
}

static int cut_reads(struct cairn_restore_batch *b, struct cairn_error *err)
{
    int status = CAIRN_OK;
    for (size_t first = 0; first < b->order_count && status == CAIRN_OK;) {
        uint64_t start = b->order[first]->location.frame.offset;
        size_t end = first + 1;
        while (end < b->order_count && is_near(b->order[end - 1], b->order[end], start))
            end++;
        status = add_task(b, false, first, end, err);
        first = end;
    }
    return status;
}

int cairn_restore_plan(struct cairn_restore *r, struct cairn_restore_batch *b,
                       struct cairn_error *err)
{
    int status = CAIRN_OK;
    b->task_count = 0;
    b->order_count = 0;
    for (size_t i = 0; i < b->held_count && status == CAIRN_OK; i += FILES_PER_TASK) {
        size_t end = i + FILES_PER_TASK < b->held_count ? i + FILES_PER_TASK : b->held_count;
        status = add_task(b, true, i, end, err);
    }
    if (status != CAIRN_OK)
        return status;
    for (size_t i = 0; i < b->want_count; i++) {
        struct cairn_restore_want *want = &b->wants[i];
        if (!locate(r, want))
            /* Sorts to the end and is told apart by its length; a worker fails the file. */
            memset(&want->location, 0xff, sizeof(want->location));
        b->order[b->order_count++] = want;
    }
    qsort(b->order, b->order_count, sizeof(struct cairn_restore_want *), compare);
    return cut_reads(b, err);
}
