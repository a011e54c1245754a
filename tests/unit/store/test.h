/* SPDX-License-Identifier: Apache-2.0
 *
 * test.h - cmocka with the headers it needs before it.
 */
#ifndef CAIRN_TESTS_UNIT_STORE_TEST_H
#define CAIRN_TESTS_UNIT_STORE_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* A small generator: the same numbers in every run. */
static inline uint64_t test_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static inline void test_fill(void *out, size_t len, uint64_t seed)
{
    uint8_t *bytes = out;
    uint64_t state = seed * 0x9e3779b97f4a7c15u + 1;
    for (size_t i = 0; i < len; i++)
        bytes[i] = (uint8_t)(test_random(&state) >> 24);
}

#endif
