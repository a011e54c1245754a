/* SPDX-License-Identifier: Apache-2.0 */
#include "base/buffer.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"

void cairn_buf_release(struct cairn_buf *buf)
{
    cairn_free(buf->data);
    *buf = (struct cairn_buf)CAIRN_BUF_INIT;
}

void cairn_buf_clear(struct cairn_buf *buf)
{
    buf->len = 0;
    buf->failed = false;
}

bool cairn_buf_reserve(struct cairn_buf *buf, size_t extra)
{
    if (buf->failed)
        return false;
    size_t need;
    if (__builtin_add_overflow(buf->len, extra, &need)) {
        buf->failed = true;
        return false;
    }
    if (need <= buf->cap)
        return true;
    size_t cap = buf->cap ? buf->cap : 64;
    while (cap < need)
        cap = cap > SIZE_MAX / 2 ? need : cap * 2;
    uint8_t *data = cairn_realloc(buf->data, cap, 1);
    if (data == NULL) {
        buf->failed = true;
        return false;
    }
    buf->data = data;
    buf->cap = cap;
    return true;
}

void cairn_buf_put(struct cairn_buf *buf, const void *bytes, size_t len)
{
    if (len == 0 || !cairn_buf_reserve(buf, len))
        return;
    memcpy(buf->data + buf->len, bytes, len);
    buf->len += len;
}

void cairn_buf_put_zero(struct cairn_buf *buf, size_t len)
{
    if (len == 0 || !cairn_buf_reserve(buf, len))
        return;
    memset(buf->data + buf->len, 0, len);
    buf->len += len;
}

void cairn_buf_put_u8(struct cairn_buf *buf, uint8_t value)
{
    cairn_buf_put(buf, &value, 1);
}

void cairn_buf_put_u16(struct cairn_buf *buf, uint16_t value)
{
    uint8_t b[2];
    cairn_store_u16(b, value);
    cairn_buf_put(buf, b, sizeof(b));
}

void cairn_buf_put_u32(struct cairn_buf *buf, uint32_t value)
{
    uint8_t b[4];
    cairn_store_u32(b, value);
    cairn_buf_put(buf, b, sizeof(b));
}

void cairn_buf_put_u64(struct cairn_buf *buf, uint64_t value)
{
    uint8_t b[8];
    cairn_store_u64(b, value);
    cairn_buf_put(buf, b, sizeof(b));
}

void cairn_buf_put_varint(struct cairn_buf *buf, uint64_t value)
{
    uint8_t b[10];
    cairn_buf_put(buf, b, cairn_varint_encode(b, value));
}

void cairn_buf_put_svarint(struct cairn_buf *buf, int64_t value)
{
    cairn_buf_put_varint(buf, cairn_zigzag(value));
}

void cairn_buf_put_bytes(struct cairn_buf *buf, const void *bytes, size_t len)
{
    cairn_buf_put_varint(buf, len);
    cairn_buf_put(buf, bytes, len);
}

int cairn_buf_check(const struct cairn_buf *buf, const char *what, struct cairn_error *err)
{
    return buf->failed ? cairn_error_no_memory(err, what) : CAIRN_OK;
}
