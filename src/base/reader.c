/* SPDX-License-Identifier: Apache-2.0 */
#include "base/reader.h"

#include <string.h>

#include "base/buffer.h"

void cairn_reader_init(struct cairn_reader *reader, const void *data, size_t len)
{
    static const uint8_t nothing[1];
    reader->at = data ? data : nothing;
    reader->end = reader->at + (data ? len : 0);
    reader->failed = false;
}

static void fail(struct cairn_reader *reader)
{
    reader->failed = true;
    reader->at = reader->end;
}

size_t cairn_reader_left(const struct cairn_reader *reader)
{
    return (size_t)(reader->end - reader->at);
}

struct cairn_slice cairn_reader_take(struct cairn_reader *reader, size_t len)
{
    if (reader->failed || len > cairn_reader_left(reader)) {
        fail(reader);
        return (struct cairn_slice){reader->end, 0};
    }
    struct cairn_slice slice = {reader->at, len};
    reader->at += len;
    return slice;
}

uint8_t cairn_reader_u8(struct cairn_reader *reader)
{
    struct cairn_slice s = cairn_reader_take(reader, 1);
    return s.len ? s.data[0] : 0;
}

uint16_t cairn_reader_u16(struct cairn_reader *reader)
{
    struct cairn_slice s = cairn_reader_take(reader, 2);
    return s.len ? cairn_load_u16(s.data) : 0;
}

uint32_t cairn_reader_u32(struct cairn_reader *reader)
{
    struct cairn_slice s = cairn_reader_take(reader, 4);
    return s.len ? cairn_load_u32(s.data) : 0;
}

uint64_t cairn_reader_u64(struct cairn_reader *reader)
{
    struct cairn_slice s = cairn_reader_take(reader, 8);
    return s.len ? cairn_load_u64(s.data) : 0;
}

uint64_t cairn_reader_varint(struct cairn_reader *reader)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 70; shift += 7) {
        if (reader->at == reader->end)
            break;
        uint8_t b = *reader->at++;
        if (shift == 63 && b > 1)
            break;
        value |= (uint64_t)(b & 0x7f) << shift;
        if ((b & 0x80) == 0) {
            if (b == 0 && shift > 0)
                break;
            return value;
        }
    }
    fail(reader);
    return 0;
}

int64_t cairn_reader_svarint(struct cairn_reader *reader)
{
    return cairn_unzigzag(cairn_reader_varint(reader));
}

struct cairn_slice cairn_reader_bytes(struct cairn_reader *reader)
{
    uint64_t len = cairn_reader_varint(reader);
    if (len > cairn_reader_left(reader)) {
        fail(reader);
        len = 0;
    }
    return cairn_reader_take(reader, (size_t)len);
}

void cairn_reader_copy(struct cairn_reader *reader, void *out, size_t len)
{
    struct cairn_slice s = cairn_reader_take(reader, len);
    memset(out, 0, len);
    if (s.len)
        memcpy(out, s.data, s.len);
}

bool cairn_reader_is_done(const struct cairn_reader *reader)
{
    return !reader->failed && reader->at == reader->end;
}
