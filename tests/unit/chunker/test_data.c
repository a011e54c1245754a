/* SPDX-License-Identifier: Apache-2.0 */
#include "test_data.h"

#include <string.h>

/* splitmix64 */
static uint64_t draw(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static void fill_from(uint8_t *data, size_t len, const char *letters, uint64_t count, uint64_t seed)
{
    for (size_t i = 0; i < len; i++)
        data[i] = (uint8_t)letters[draw(&seed) % count];
}

static void fill_text(uint8_t *data, size_t len, uint64_t seed)
{
    uint8_t words[256][8];
    size_t at = 0;

    for (int w = 0; w < 256; w++)
        for (int i = 0; i < 8; i++)
            words[w][i] = (uint8_t)("etaoinshrdlucmfw"[draw(&seed) % 16]);
    while (at < len) {
        uint64_t r = draw(&seed);
        size_t n = 1 + (r >> 16) % 8;

        for (size_t i = 0; i < n && at < len; i++)
            data[at++] = words[r % 256][i];
        if (at < len)
            data[at++] = (r >> 32) % 12 == 0 ? '\n' : ' ';
    }
}

static void fill_counters(uint8_t *data, size_t len, uint64_t seed)
{
    for (size_t i = 0; i < len; i++)
        data[i] = (uint8_t)((seed * 1000 + i / 4) >> (8 * (i % 4)));
}

static void fill_with_holes(uint8_t *data, size_t len, uint64_t seed)
{
    for (size_t at = 0; at < len;) {
        uint64_t r = draw(&seed);
        size_t n = 1 + r % 40000;

        for (size_t i = 0; i < n && at < len; i++)
            data[at++] = (r >> 32) % 2 == 0 ? 0 : (uint8_t)draw(&seed);
    }
}

static void fill_records(uint8_t *data, size_t len, uint64_t seed)
{
    memset(data, 0, len);
    for (size_t at = 0; at + 2 <= len; at += 48) {
        uint64_t r = draw(&seed);

        data[at] = (uint8_t)r;
        data[at + 1] = (uint8_t)(r >> 8);
    }
}

bool data_is_varied(int kind)
{
    return kind == 0 || kind == 3 || kind == 4 || kind == 5;
}

void data_fill_period(uint8_t *data, size_t len, size_t period, uint64_t seed)
{
    for (size_t i = 0; i < len; i++)
        data[i] = i < period ? (uint8_t)draw(&seed) : data[i - period];
}

void data_fill(uint8_t *data, size_t len, int kind, uint64_t seed)
{
    switch (kind) {
    case 0:
        data_fill_period(data, len, len, seed);
        break;
    case 1:
        memset(data, 0, len);
        break;
    case 2:
        memset(data, 0xff, len);
        break;
    case 3:
        fill_text(data, len, seed);
        break;
    case 4:
        fill_from(data, len, "ACGT", 4, seed);
        break;
    case 5:
        fill_from(data, len, "0123456789", 10, seed);
        for (size_t i = 1; i < len; i += 2)
            data[i] = 0;
        break;
    case 6:
        fill_from(data, len, "01", 2, seed);
        break;
    case 7:
        fill_counters(data, len, seed);
        break;
    case 8:
        fill_with_holes(data, len, seed);
        break;
    case 9:
        data_fill_period(data, len, 4096, seed);
        break;
    default:
        fill_records(data, len, seed);
        break;
    }
}
