/* SPDX-License-Identifier: Apache-2.0
 *
 * Lists of extents whose list chunks are the input's pieces. Extents follow each other without gap
 * and end where the file does.
 *
 * Input: the level (a byte), the size (u64), then pieces (pieces.h); the first is field 3's items.
 */
#include "pieces.h"

#include "snapshot/content.h"

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size)
{
    struct cairn_content_reader reader = {0};
    struct cairn_content_extent extent;
    struct cairn_fetcher fetcher;
    uint64_t at = 0;
    bool done = false;
    if (size < 9)
        return 0;
    pieces_init(&fetcher, input + 9, size - 9);
    const struct cairn_entry entry = {.type = CAIRN_ENTRY_FILE,
                                      .size = cairn_load_u64(input + 1) >> 1,
                                      .has_content = true,
                                      .content_level = input[0] % (CAIRN_CONTENT_LEVEL_MAX + 1),
                                      .content = fetcher.pieces[0]};
    int status = cairn_content_reader_init(&reader, &fetcher, &entry, NULL);
    while (status == CAIRN_OK && !done) {
        status = cairn_content_next(&reader, &extent, &done, NULL);
        if (status != CAIRN_OK || done)
            break;
        if (extent.at != at || extent.len == 0 || extent.len > entry.size - at)
            abort();
        at += extent.len;
    }
    if (status == CAIRN_OK && at != entry.size)
        abort();
    cairn_content_reader_release(&reader);
    pieces_release(&fetcher);
    return 0;
}
