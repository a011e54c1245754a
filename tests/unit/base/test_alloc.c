/* SPDX-License-Identifier: Apache-2.0
 *
 * Allocation: overflow is refused, and any of it can be made to fail.
 */
#include "../store/test.h"

#include <errno.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "base/pool.h"
#include "base/threads.h"

static void products_do_not_overflow(void **state)
{
    (void)state;
    assert_null(cairn_alloc(SIZE_MAX / 2, 3));
    assert_null(cairn_alloc_zero(SIZE_MAX, SIZE_MAX));
    assert_null(cairn_alloc((size_t)PTRDIFF_MAX + 1, 1));
    assert_null(cairn_alloc_aligned(4096, (size_t)PTRDIFF_MAX + 1));
    assert_null(cairn_strndup("", SIZE_MAX));
    uint8_t *block = cairn_alloc(3, 5);
    assert_non_null(block);
    memset(block, 7, 15);
    assert_null(cairn_realloc(block, SIZE_MAX / 2, 3));
    assert_int_equal(block[14], 7); /* the old block is as it was */
    block = cairn_realloc(block, 100, 1);
    assert_non_null(block);
    assert_int_equal(block[14], 7);
    errno = 5;
    cairn_free(block);
    cairn_free(NULL);
    assert_int_equal(errno, 5);
}

static void nothing_is_a_block_too(void **state)
{
    (void)state;
    void *none = cairn_alloc(0, 8), *zeroed = cairn_alloc_zero(100, 3);
    char *copy = cairn_strndup("abcdef", 3), *empty = cairn_strndup(NULL, 0);
    assert_non_null(none);
    assert_non_null(zeroed);
    for (size_t i = 0; i < 300; i++)
        assert_int_equal(((uint8_t *)zeroed)[i], 0);
    assert_string_equal(copy, "abc");
    assert_string_equal(empty, "");
    assert_null(cairn_strdup(NULL));
    memset(zeroed, 9, 300);
    cairn_wipe(zeroed, 299);
    assert_int_equal(((uint8_t *)zeroed)[298], 0);
    assert_int_equal(((uint8_t *)zeroed)[299], 9);
    cairn_free(none);
    cairn_free(zeroed);
    cairn_free(copy);
    cairn_free(empty);
}

/* How many of ten allocations come back. */
static unsigned pattern(void)
{
    unsigned got = 0;
    for (unsigned i = 0; i < 10; i++) {
        void *block = i % 2 ? cairn_alloc_zero(1, 1) : cairn_alloc(1, 1);
        got |= (unsigned)(block != NULL) << i;
        cairn_free(block);
    }
    return got;
}

static void allocations_fail_on_demand(void **state)
{
    (void)state;
    cairn_alloc_fail_after(-1, 0);
    assert_int_equal(pattern(), 0x3ff);
    cairn_alloc_fail_after(4, 0);
    assert_int_equal(pattern(), 0x3ff & ~(1u << 4));
    assert_int_equal(pattern(), 0x3ff);
    cairn_alloc_fail_after(4, 1);
    assert_int_equal(pattern(), 0xf);
    assert_int_equal(pattern(), 0);
    cairn_alloc_fail_after(-1, 1);
    assert_int_equal(pattern(), 0x3ff);
}

static void who_needs_memory_says_so(void **state)
{
    struct cairn_queue *queue = NULL;
    struct cairn_pool *pool = NULL;
    struct cairn_error err;
    struct cairn_buf buf = CAIRN_BUF_INIT;
    (void)state;
    cairn_alloc_fail_after(0, 0);
    assert_int_equal(cairn_queue_new(4, &queue, &err), CAIRN_NO_MEMORY);
    assert_null(queue);
    assert_string_equal(err.message, "out of memory for a queue");
    cairn_alloc_fail_after(0, 0);
    assert_int_equal(cairn_pool_new(4, 16, &pool, &err), CAIRN_NO_MEMORY);
    assert_null(pool);
    cairn_buf_put(&buf, "held", 4);
    cairn_alloc_fail_after(0, 0);
    cairn_buf_put_zero(&buf, 4096);
    assert_true(buf.failed);
    assert_int_equal(buf.len, 4);
    assert_memory_equal(buf.data, "held", 4);
    cairn_buf_release(&buf);
}

/* With no buffer out and no memory, waiting would be for ever; with one out it is not. */
static void an_empty_pool_does_not_wait(void **state)
{
    struct cairn_pool *pool = NULL;
    (void)state;
    assert_int_equal(cairn_pool_new(2, 16, &pool, NULL), CAIRN_OK);
    cairn_alloc_fail_after(0, 1);
    assert_null(cairn_pool_get(pool));
    assert_null(cairn_pool_try_get(pool));
    cairn_alloc_fail_after(-1, 0);
    void *buffer = cairn_pool_get(pool);
    assert_non_null(buffer);
    cairn_pool_put(pool, buffer);
    cairn_pool_free(pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_do_not_overflow),    cmocka_unit_test(nothing_is_a_block_too),
        cmocka_unit_test(allocations_fail_on_demand),  cmocka_unit_test(who_needs_memory_says_so),
        cmocka_unit_test(an_empty_pool_does_not_wait),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
