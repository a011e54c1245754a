/* SPDX-License-Identifier: Apache-2.0
 *
 * holes.h - where a sparse file has data.
 */
#ifndef CAIRN_SOURCE_HOLES_H
#define CAIRN_SOURCE_HOLES_H

#include <stdbool.h>
#include <stdint.h>

#include <cairn/cairn.h>

#include "source/stat.h"

/* The extents of a file, in order, covering it from 0 to size without a gap. Plain data. */
struct cairn_holes {
    int fd;
    uint64_t at;
    uint64_t size;
    bool is_plain; /* internal: the rest is taken for data */
};

struct cairn_extent {
    uint64_t offset;
    uint64_t length; /* above 0 */
    bool is_hole;
};

/* true: st is a regular file with fewer blocks than its size needs, so that it may have holes. */
bool cairn_holes_are_likely(const struct cairn_stat *st);

/* Begins at the start of the file open at fd (the caller's), taken to have size bytes. Asks nothing
 * yet. */
void cairn_holes_begin(struct cairn_holes *holes, int fd, uint64_t size);

/* The next extent. false: the end. Extents of the same kind may follow each other. Answers of the
 * file system that make no sense, and errors, turn the rest into data. A hole is only what the file
 * system said at that moment. At most two lseek; the file's position moves. */
bool cairn_holes_next(struct cairn_holes *holes, struct cairn_extent *out);

#endif
