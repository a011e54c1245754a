/* SPDX-License-Identifier: Apache-2.0
 *
 * All implementations of the dynamic chunker cut the input alike, whole and in pieces.
 *
 * Input: the first byte picks the average and how often the rest is repeated, the second the key,
 * the third the size of the pieces; then the data.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "chunker/chunker.h"

#define DATA_MAX ((size_t)1 << 20)
#define IMPLEMENTATIONS 5

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size);

/* The chunk that begins at data, its bytes arriving in pieces of step. */
static size_t next_in_pieces(const struct cairn_chunker_handle *c, const uint8_t *data, size_t len,
                             size_t step)
{
    size_t scanned = 0, n = 0, have = 0;

    while (n == 0) {
        have = len - have > step ? have + step : len;
        n = cairn_chunker_next_resume(c, data, have, have == len, &scanned);
    }
    return n;
}

static void compare(const struct cairn_chunker_params *params, const uint8_t *data, size_t len,
                    size_t step)
{
    struct cairn_chunker_handle *c[IMPLEMENTATIONS] = {NULL};

    for (int i = 0; i < IMPLEMENTATIONS; i++)
        if (cairn_chunker_new_with(params, i, &c[i], NULL) != CAIRN_OK)
            c[i] = NULL;
    for (size_t at = 0, n; at < len; at += n) {
        n = cairn_chunker_next(c[CAIRN_CHUNKER_SCALAR], data + at, len - at, true);
        if (n == 0 || n > len - at)
            abort();
        for (int i = 0; i < IMPLEMENTATIONS; i++)
            if (c[i] != NULL && (cairn_chunker_next(c[i], data + at, len - at, true) != n ||
                                 next_in_pieces(c[i], data + at, len - at, step) != n))
                abort();
    }
    for (int i = 0; i < IMPLEMENTATIONS; i++)
        cairn_chunker_free(c[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size)
{
    struct cairn_chunker_params params = {.kind = CAIRN_CHUNKER_DYNAMIC};
    size_t repeat, len;
    uint8_t *data;

    if (size < 4)
        return 0;
    params.avg_bytes = 1024u << (input[0] & 3);
    memset(params.key, input[1], sizeof params.key);
    repeat = 1 + (size_t)(input[0] >> 2) * 16;
    if (repeat > DATA_MAX / (size - 3))
        repeat = DATA_MAX / (size - 3);
    len = repeat * (size - 3);
    data = malloc(len + 1);
    if (data == NULL)
        return 0;
    for (size_t i = 0; i < repeat; i++)
        memcpy(data + i * (size - 3), input + 3, size - 3);
    compare(&params, data, len, 1 + (size_t)input[2] * 37);
    free(data);
    return 0;
}
