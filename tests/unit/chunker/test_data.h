/* SPDX-License-Identifier: Apache-2.0
 *
 * Deterministic data of the kinds that chunkers trip over, for the tests of this folder. The golden
 * cuts depend on every byte of it.
 */
#ifndef CAIRN_TEST_CHUNKER_DATA_H
#define CAIRN_TEST_CHUNKER_DATA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* 0 random, 1 zeros, 2 0xff, 3 text, 4 DNA, 5 UTF-16 digits, 6 binary digits, 7 32-bit counters,
 * 8 random with long runs of zeros, 9 a repeated page, 10 sparse records */
#define DATA_KINDS 11

/* Whether the kind has enough variety everywhere to be cut by content at the usual rate. */
bool data_is_varied(int kind);

/* Fills data with len bytes of the kind; the same for the same seed, on every machine. */
void data_fill(uint8_t *data, size_t len, int kind, uint64_t seed);

/* Fills data with random bytes repeated at the period. */
void data_fill_period(uint8_t *data, size_t len, size_t period, uint64_t seed);

#endif
