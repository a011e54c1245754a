/* SPDX-License-Identifier: Apache-2.0
 *
 * Cuts that must never change: repositories hold them. `chunker_golden_test print` writes the
 * table anew, for a new algorithm only.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "chunker/chunker.h"
#include "test_data.h"

#define LENGTH (3u << 20)
#define SHOWN 4

struct golden {
    uint32_t avg;
    int kind;
    size_t chunks;
    uint32_t first[SHOWN]; /* the lengths of the first chunks */
    uint64_t all;          /* FNV-1a over all lengths, each as four little-endian bytes */
};

static const struct golden table[] = {
#include "golden_cuts.inc"
};

static struct golden cut(uint32_t avg, int kind, const uint8_t *data)
{
    struct cairn_chunker_params params = {.kind = CAIRN_CHUNKER_DYNAMIC, .avg_bytes = avg};
    struct golden g = {.avg = avg, .kind = kind, .all = 0xcbf29ce484222325u};
    struct cairn_chunker_handle *c;

    for (int i = 0; i < CAIRN_CHUNKER_KEY_BYTES; i++)
        params.key[i] = (uint8_t)i;
    if (cairn_chunker_new(&params, &c, NULL) != CAIRN_OK)
        abort();
    for (size_t at = 0; at < LENGTH; g.chunks++) {
        uint32_t n = (uint32_t)cairn_chunker_next(c, data + at, LENGTH - at, true);

        if (g.chunks < SHOWN)
            g.first[g.chunks] = n;
        for (unsigned i = 0; i < 4; i++)
            g.all = (g.all ^ (n >> (8 * i) & 0xff)) * 0x100000001b3u;
        at += n;
    }
    cairn_chunker_free(c);
    return g;
}

static void test_golden(void **state)
{
    uint8_t *data = malloc(LENGTH);

    (void)state;
    assert_non_null(data);
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        struct golden g;

        data_fill(data, LENGTH, table[i].kind, 1);
        g = cut(table[i].avg, table[i].kind, data);
        assert_int_equal(g.chunks, table[i].chunks);
        assert_memory_equal(g.first, table[i].first, sizeof g.first);
        assert_true(g.all == table[i].all);
    }
    free(data);
}

static void print(void)
{
    uint8_t *data = malloc(LENGTH);

    if (data == NULL)
        abort();
    for (uint32_t avg = 1024; avg <= 1u << 20; avg *= 32)
        for (int kind = 0; kind < DATA_KINDS; kind++) {
            struct golden g;

            data_fill(data, LENGTH, kind, 1);
            g = cut(avg, kind, data);
            printf("    {%" PRIu32 ", %d, %zu, {%" PRIu32 ", %" PRIu32 ", %" PRIu32 ", %" PRIu32
                   "}, 0x%016" PRIx64 "u},\n",
                   avg, kind, g.chunks, g.first[0], g.first[1], g.first[2], g.first[3], g.all);
        }
    free(data);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_golden)};

    if (argc > 1 && strcmp(argv[1], "print") == 0) {
        print();
        return 0;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
