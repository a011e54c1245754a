/* SPDX-License-Identifier: Apache-2.0
 *
 * buffer.h - a growable array of bytes, and writing numbers to it.
 *
 * Errors stick: after an append has failed for want of memory every further append does nothing,
 * and `failed` stays set, so that an encoder checks once, at its end.
 */
#ifndef CAIRN_BASE_BUFFER_H
#define CAIRN_BASE_BUFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cairn/cairn.h>

struct cairn_buf {
    uint8_t *data;
    size_t len;
    size_t cap;
    bool failed;
};

#define CAIRN_BUF_INIT                                                                             \
    {                                                                                              \
        NULL, 0, 0, false                                                                          \
    }

/* Frees the contents and makes the buffer empty again; the struct itself is the caller's. */
void cairn_buf_release(struct cairn_buf *buf);

/* Empties the buffer, clears `failed` and keeps the memory for reuse. */
void cairn_buf_clear(struct cairn_buf *buf);

/* Makes room for extra more bytes. false (and failed): out of memory. */
bool cairn_buf_reserve(struct cairn_buf *buf, size_t extra);

/* Appends len bytes. */
void cairn_buf_put(struct cairn_buf *buf, const void *bytes, size_t len);

/* Appends len zero bytes. */
void cairn_buf_put_zero(struct cairn_buf *buf, size_t len);

/* Append little-endian integers. */
void cairn_buf_put_u8(struct cairn_buf *buf, uint8_t value);
void cairn_buf_put_u16(struct cairn_buf *buf, uint16_t value);
void cairn_buf_put_u32(struct cairn_buf *buf, uint32_t value);
void cairn_buf_put_u64(struct cairn_buf *buf, uint64_t value);

/* Appends an unsigned LEB128 number (docs/format.md, "varint"). */
void cairn_buf_put_varint(struct cairn_buf *buf, uint64_t value);

/* Appends a signed number as a zigzag varint. */
void cairn_buf_put_svarint(struct cairn_buf *buf, int64_t value);

/* Appends len as a varint, then the bytes. */
void cairn_buf_put_bytes(struct cairn_buf *buf, const void *bytes, size_t len);

/* CAIRN_OK, or NO_MEMORY with a message naming `what` if any append failed. */
int cairn_buf_check(const struct cairn_buf *buf, const char *what, struct cairn_error *err);

/* Little-endian loads and stores at any address. */
static inline uint16_t cairn_load_u16(const void *p)
{
    const uint8_t *b = p;
    return (uint16_t)(b[0] | b[1] << 8);
}
static inline uint32_t cairn_load_u32(const void *p)
{
    const uint8_t *b = p;
    return (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}
static inline uint64_t cairn_load_u64(const void *p)
{
    const uint8_t *b = p;
    return (uint64_t)cairn_load_u32(b) | (uint64_t)cairn_load_u32(b + 4) << 32;
}
static inline void cairn_store_u16(void *p, uint16_t v)
{
    uint8_t *b = p;
    b[0] = (uint8_t)v;
    b[1] = (uint8_t)(v >> 8);
}
static inline void cairn_store_u32(void *p, uint32_t v)
{
    uint8_t *b = p;
    for (int i = 0; i < 4; i++)
        b[i] = (uint8_t)(v >> (8 * i));
}
static inline void cairn_store_u64(void *p, uint64_t v)
{
    uint8_t *b = p;
    for (int i = 0; i < 8; i++)
        b[i] = (uint8_t)(v >> (8 * i));
}

/* Writes value as a varint to out (at least 10 bytes) and returns its length, 1 to 10. */
size_t cairn_varint_encode(uint8_t *out, uint64_t value);

/* The length of value as a varint, 1 to 10. */
size_t cairn_varint_size(uint64_t value);

static inline uint64_t cairn_zigzag(int64_t v)
{
    return ((uint64_t)v << 1) ^ (uint64_t)(v >> 63);
}
static inline int64_t cairn_unzigzag(uint64_t v)
{
    return (int64_t)(v >> 1) ^ -(int64_t)(v & 1);
}

#endif
