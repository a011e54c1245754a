/* SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static atomic_long fail_countdown = -1;
static atomic_int fail_forever;

void cairn_alloc_fail_after(long skip, int forever)
{
    atomic_store(&fail_forever, forever);
    atomic_store(&fail_countdown, skip < 0 ? -1 : skip);
}

static int must_fail(void)
{
    long left = atomic_load_explicit(&fail_countdown, memory_order_relaxed);
    if (left < 0)
        return 0;
    left = atomic_fetch_sub(&fail_countdown, 1);
    if (left > 0)
        return 0;
    if (atomic_load(&fail_forever))
        atomic_store(&fail_countdown, 0);
    return left == 0;
}

static int product(size_t count, size_t size, size_t *total)
{
    return __builtin_mul_overflow(count, size, total) || *total > PTRDIFF_MAX;
}

void *cairn_alloc(size_t count, size_t size)
{
    size_t total;
    if (product(count, size, &total) || must_fail())
        return NULL;
    return malloc(total ? total : 1);
}

void *cairn_alloc_zero(size_t count, size_t size)
{
    size_t total;
    if (product(count, size, &total) || must_fail())
        return NULL;
    return calloc(1, total ? total : 1);
}

void *cairn_realloc(void *block, size_t count, size_t size)
{
    size_t total;
    if (product(count, size, &total) || must_fail())
        return NULL;
    return realloc(block, total ? total : 1);
}

void *cairn_alloc_aligned(size_t align, size_t size)
{
    void *block = NULL;
    if (size > PTRDIFF_MAX || must_fail() || posix_memalign(&block, align, size ? size : 1) != 0)
        return NULL;
    return block;
}

char *cairn_strndup(const char *bytes, size_t len)
{
    char *copy = len < SIZE_MAX ? cairn_alloc(len + 1, 1) : NULL;
    if (copy == NULL)
        return NULL;
    if (len > 0)
        memcpy(copy, bytes, len);
    copy[len] = '\0';
    return copy;
}

char *cairn_strdup(const char *string)
{
    return string ? cairn_strndup(string, strlen(string)) : NULL;
}

void cairn_free(void *block)
{
    int saved = errno;
    free(block);
    errno = saved;
}

void cairn_wipe(void *block, size_t len)
{
    explicit_bzero(block, len);
}
