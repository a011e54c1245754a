/* SPDX-License-Identifier: Apache-2.0
 *
 * reader.h - the one bounds-checked reader that every parser of stored bytes uses.
 *
 * Errors stick: once a read would pass the end, or a number is malformed, `failed` is set, every
 * further read returns zero (or an empty slice), and a parser checks at the points where it would
 * act on what it read. Nothing is copied: slices point into the bytes given to cairn_reader_init.
 */
#ifndef CAIRN_BASE_READER_H
#define CAIRN_BASE_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cairn_reader {
    const uint8_t *at;
    const uint8_t *end;
    bool failed;
};

struct cairn_slice {
    const uint8_t *data;
    size_t len;
};

/* Begins reading len bytes at data, which stay the caller's and must outlive the reader. */
void cairn_reader_init(struct cairn_reader *reader, const void *data, size_t len);

/* How many bytes are left (0 after a failure). */
size_t cairn_reader_left(const struct cairn_reader *reader);

/* Little-endian integers. */
uint8_t cairn_reader_u8(struct cairn_reader *reader);
uint16_t cairn_reader_u16(struct cairn_reader *reader);
uint32_t cairn_reader_u32(struct cairn_reader *reader);
uint64_t cairn_reader_u64(struct cairn_reader *reader);

/* An unsigned LEB128 number of at most ten bytes in its shortest form; anything else fails. */
uint64_t cairn_reader_varint(struct cairn_reader *reader);

/* A zigzag varint. */
int64_t cairn_reader_svarint(struct cairn_reader *reader);

/* The next len bytes, borrowed; an empty slice after a failure. */
struct cairn_slice cairn_reader_take(struct cairn_reader *reader, size_t len);

/* A varint length, then so many bytes. */
struct cairn_slice cairn_reader_bytes(struct cairn_reader *reader);

/* Copies the next len bytes to out; zeros after a failure. */
void cairn_reader_copy(struct cairn_reader *reader, void *out, size_t len);

/* true: nothing failed and every byte was read. */
bool cairn_reader_is_done(const struct cairn_reader *reader);

#endif
