/* SPDX-License-Identifier: Apache-2.0 */
#include "source/holes.h"

#include <errno.h>
#include <unistd.h>

bool cairn_holes_are_likely(const struct cairn_stat *st)
{
    /* Compressed and inline files have few blocks too; asking them for holes is harmless. */
    return cairn_stat_is_file(st) && st->size > 0 && st->blocks < (st->size + 511) / 512;
}

void cairn_holes_begin(struct cairn_holes *holes, int fd, uint64_t size)
{
    *holes = (struct cairn_holes){.fd = fd, .size = size, .is_plain = size > INT64_MAX};
}

/* Where the data at or behind `at` begins, at most size. false: no sensible answer. */
static bool find_data(const struct cairn_holes *holes, uint64_t *data)
{
    off_t found = lseek(holes->fd, (off_t)holes->at, SEEK_DATA);
    if (found < 0) {
        *data = holes->size;
        return errno == ENXIO; /* a hole to the end, or the file has become shorter */
    }
    *data = (uint64_t)found < holes->size ? (uint64_t)found : holes->size;
    return (uint64_t)found >= holes->at;
}

bool cairn_holes_next(struct cairn_holes *holes, struct cairn_extent *out)
{
    uint64_t at = holes->at, end = holes->size;
    bool is_hole = false;
    if (at >= holes->size)
        return false;
    if (!holes->is_plain) {
        uint64_t data;
        holes->is_plain = !find_data(holes, &data);
        if (!holes->is_plain && data > at) {
            is_hole = true;
            end = data;
        } else if (!holes->is_plain) {
            off_t hole = lseek(holes->fd, (off_t)at, SEEK_HOLE);
            holes->is_plain = hole < 0 || (uint64_t)hole <= at;
            if (!holes->is_plain && (uint64_t)hole < end)
                end = (uint64_t)hole;
        }
    }
    *out = (struct cairn_extent){at, end - at, is_hole};
    holes->at = end;
    return true;
}
