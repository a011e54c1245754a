/* SPDX-License-Identifier: Apache-2.0
 *
 * Directories whose chunks are the input's pieces, the first the topmost. Names ascend, and each
 * name of a directory that is read to its end is found in it.
 */
#include "pieces.h"

#include "snapshot/tree.h"

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size);

#define NAMES_MAX 64

/* Reads the directory; the names of its first entries are copied. *is_whole: to its end. */
static size_t walk(struct cairn_fetcher *fetcher, struct cairn_buf names[NAMES_MAX], bool *is_whole)
{
    const struct cairn_id root = {{0}};
    struct cairn_tree_reader reader = {0};
    struct cairn_buf last = CAIRN_BUF_INIT;
    struct cairn_entry entry;
    size_t count = 0;
    bool done = false;
    int status = cairn_tree_reader_init(&reader, fetcher, &root, NULL);
    while (status == CAIRN_OK && !done) {
        status = cairn_tree_next(&reader, &entry, &done, NULL);
        if (status != CAIRN_OK || done)
            break;
        if (last.len > 0 &&
            cairn_name_compare((struct cairn_slice){last.data, last.len}, entry.name) >= 0)
            abort();
        cairn_buf_clear(&last);
        cairn_buf_put(&last, entry.name.data, entry.name.len);
        if (count < NAMES_MAX)
            cairn_buf_put(&names[count++], entry.name.data, entry.name.len);
    }
    cairn_buf_release(&last);
    cairn_tree_reader_release(&reader);
    *is_whole = status == CAIRN_OK;
    return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size)
{
    const struct cairn_id root = {{0}};
    struct cairn_fetcher fetcher;
    struct cairn_buf names[NAMES_MAX] = {{0}};
    bool is_whole;
    pieces_init(&fetcher, input, size);
    const size_t count = walk(&fetcher, names, &is_whole);
    for (size_t i = 0; i < count; i++) {
        struct cairn_tree_reader reader = {0};
        struct cairn_entry entry;
        fetcher.gets = 0;
        const int status =
            cairn_tree_find(&reader, &fetcher, &root, names[i].data, names[i].len, &entry, NULL);
        if (is_whole && status != CAIRN_OK)
            abort();
        cairn_tree_reader_release(&reader);
        cairn_buf_release(&names[i]);
    }
    pieces_release(&fetcher);
    return 0;
}
