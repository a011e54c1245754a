/* SPDX-License-Identifier: Apache-2.0
 *
 * Change-detection streams whose chunks are the input's pieces; the first is the root node.
 */
#include "pieces.h"

#include "snapshot/changes.h"

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size);

static void walk(struct cairn_changes_reader *reader, int depth)
{
    struct cairn_change_record record;
    bool done = false;
    while (cairn_changes_next(reader, &record, &done, NULL) == CAIRN_OK && !done) {
        struct cairn_changes_reader child = {0};
        if (record.ctime.nsec > 999999999)
            abort();
        if (depth > 0 && cairn_changes_reader_init_child(&child, reader, NULL) == CAIRN_OK)
            walk(&child, depth - 1);
        cairn_changes_reader_release(&child);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size)
{
    const struct cairn_id root = {{0}};
    struct cairn_changes_reader reader = {0};
    struct cairn_fetcher fetcher;
    pieces_init(&fetcher, input, size);
    if (cairn_changes_reader_init_chunk(&reader, &fetcher, &root, NULL) == CAIRN_OK)
        walk(&reader, 3);
    cairn_changes_reader_release(&reader);
    pieces_release(&fetcher);
    return 0;
}
