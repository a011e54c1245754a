/* SPDX-License-Identifier: Apache-2.0
 *
 * Entries of a directory and pairs of extended attributes, one behind the other. An entry that is
 * taken, encoded and taken again is encoded to the same bytes.
 */
#include <stdlib.h>
#include <string.h>

#include "snapshot/entry.h"

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size);

static void expect_stable(const struct cairn_entry *entry)
{
    struct cairn_buf first = CAIRN_BUF_INIT, second = CAIRN_BUF_INIT;
    struct cairn_reader r;
    struct cairn_entry again;
    cairn_entry_encode(entry, &first);
    cairn_reader_init(&r, first.data, first.len);
    if (!cairn_entry_decode(&r, &again) || !cairn_reader_is_done(&r))
        abort();
    cairn_entry_encode(&again, &second);
    if (first.len != second.len || memcmp(first.data, second.data, first.len) != 0 ||
        cairn_entry_type_of(cairn_entry_st_mode(entry)) != entry->type)
        abort();
    cairn_buf_release(&first);
    cairn_buf_release(&second);
}

static void read_xattrs(const uint8_t *bytes, size_t len)
{
    struct cairn_reader r;
    struct cairn_slice name, value;
    size_t sum = 0;
    cairn_reader_init(&r, bytes, len);
    while (cairn_xattr_decode(&r, &name, &value)) {
        for (size_t i = 0; i < name.len; i++)
            sum += name.data[i];
        for (size_t i = 0; i < value.len; i++)
            sum += value.data[i];
    }
    if (sum > 255 * len)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size)
{
    struct cairn_reader r;
    struct cairn_entry entry;
    cairn_reader_init(&r, input, size);
    while (cairn_entry_decode(&r, &entry)) {
        read_xattrs(entry.xattrs.data, entry.xattrs.len);
        if (entry.unknown_field == 0)
            expect_stable(&entry);
    }
    read_xattrs(input, size);
    return 0;
}
