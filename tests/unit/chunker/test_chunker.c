/* SPDX-License-Identifier: Apache-2.0
 *
 * The chunkers: against the written algorithm, against each other, at every buffer split.
 *
 * model_next() is cairn-cdc-1 once more, straight from docs/design/chunker.md: one position after
 * the other, OpenSSL's AES, nothing shared with the code under test.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

#include "chunker/chunker.h"
#include "test_data.h"

#define IMPLEMENTATIONS 5

/* ---- the model ------------------------------------------------------------------------------ */

struct model {
    EVP_CIPHER_CTX *ctx;
    uint16_t w[8]; /* the eight little-endian words of the encrypted zero block */
    uint32_t avg, min, max;
};

static void aes(EVP_CIPHER_CTX *ctx, uint8_t block[16])
{
    uint8_t out[16];
    int n;

    assert_int_equal(EVP_EncryptUpdate(ctx, out, &n, block, 16), 1);
    memcpy(block, out, 16);
}

static EVP_CIPHER_CTX *aes_new(const uint8_t key[16])
{
    EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();

    assert_non_null(ctx);
    assert_int_equal(EVP_EncryptInit_ex(ctx, EVP_aes_128_ecb(), NULL, key, NULL), 1);
    return ctx;
}

static void model_init(struct model *m, const struct cairn_chunker_params *params)
{
    EVP_CIPHER_CTX *ctx = aes_new(params->key + 16);
    uint8_t zero[16] = {0};

    m->ctx = aes_new(params->key);
    aes(ctx, zero);
    EVP_CIPHER_CTX_free(ctx);
    for (int i = 0; i < 8; i++)
        m->w[i] = (uint16_t)(zero[2 * i] + 256 * zero[2 * i + 1]);
    m->avg = params->avg_bytes;
    m->min = params->min_bytes != 0 ? params->min_bytes : m->avg / 4;
    m->max = params->max_bytes != 0 ? params->max_bytes : m->avg * 4;
}

static uint16_t model_sum(const struct model *m, const uint8_t *p)
{
    unsigned sum = 0;

    for (int k = 0; k < 4; k++)
        sum += (unsigned)(p[2 * k - 8] + 256 * p[2 * k - 7]) * (m->w[k] | 1u);
    return (uint16_t)sum;
}

static bool model_fires(const struct model *m, const uint8_t *data, uint32_t p)
{
    unsigned sum = model_sum(m, data + p);

    if (sum >> 9 == m->w[5] >> 9)
        return true;
    sum += (m->w[4] | 1u) * model_sum(m, data + p - 8);
    return p >= 2 * m->avg && (sum & 0xffff) >> 11 == m->w[6] >> 11;
}

static size_t model_next(const struct model *m, const uint8_t *data, size_t len)
{
    uint32_t end = len < m->max ? (uint32_t)len : m->max;
    uint32_t p = m->min;

    while (p <= end) {
        uint8_t mac[16] = {0};
        uint64_t r, limit = ((uint64_t)(p < m->avg / 16 * 13 ? 48 : 768) << 32) / m->avg;

        if (!model_fires(m, data, p)) {
            p++;
            continue;
        }
        for (int i = 0; i < 64; i++) {
            mac[i % 16] ^= data[p - 64 + i];
            if (i % 16 == 15)
                aes(m->ctx, mac);
        }
        r = mac[0] | (uint64_t)mac[1] << 8 | (uint64_t)mac[2] << 16 | (uint64_t)mac[3] << 24;
        if (r < limit) {
            p += (mac[4] | (uint32_t)mac[5] << 8 | (uint32_t)mac[6] << 16) % (m->avg / 64);
            return p < end ? p : end;
        }
        p += 64;
    }
    return end;
}

/* ---- helpers -------------------------------------------------------------------------------- */

static struct cairn_chunker_params params_of(uint32_t avg, uint8_t seed)
{
    struct cairn_chunker_params params = {.kind = CAIRN_CHUNKER_DYNAMIC, .avg_bytes = avg};

    for (int i = 0; i < CAIRN_CHUNKER_KEY_BYTES; i++)
        params.key[i] = (uint8_t)(seed + 37 * i);
    return params;
}

static struct cairn_chunker_handle *make(const struct cairn_chunker_params *params, int which)
{
    struct cairn_chunker_handle *c = NULL;
    struct cairn_error err;
    int rc = cairn_chunker_new_with(params, which, &c, &err);

    if (rc == CAIRN_UNSUPPORTED)
        return NULL;
    assert_int_equal(rc, CAIRN_OK);
    return c;
}

/* Every implementation against the model, over the whole of data. Returns the chunks' number. */
static size_t compare_all(const struct cairn_chunker_params *params, const uint8_t *data,
                          size_t len)
{
    struct cairn_chunker_handle *c[IMPLEMENTATIONS];
    struct model m;
    size_t chunks = 0;

    model_init(&m, params);
    for (int i = 0; i < IMPLEMENTATIONS; i++)
        c[i] = make(params, i);
    for (size_t at = 0; at < len; chunks++) {
        size_t want = model_next(&m, data + at, len - at);

        for (int i = 0; i < IMPLEMENTATIONS; i++) {
            size_t got;

            if (c[i] == NULL)
                continue;
            got = cairn_chunker_next(c[i], data + at, len - at, true);
            if (got != want)
                print_error("%s, chunk at %zu: %zu, not %zu\n",
                            cairn_chunker_implementation_name(c[i]), at, got, want);
            assert_int_equal(got, want);
        }
        at += want;
    }
    for (int i = 0; i < IMPLEMENTATIONS; i++)
        cairn_chunker_free(c[i]);
    EVP_CIPHER_CTX_free(m.ctx);
    return chunks;
}

/* ---- tests ---------------------------------------------------------------------------------- */

static void test_against_model(void **state)
{
    const size_t len = 200000;
    uint8_t *data = malloc(len);

    (void)state;
    assert_non_null(data);
    for (int kind = 0; kind < DATA_KINDS; kind++)
        for (uint8_t seed = 0; seed < 6; seed++) {
            struct cairn_chunker_params params = params_of(1024u << (seed % 3 * 2), seed);

            data_fill(data, len, kind, seed);
            compare_all(&params, data, len);
        }
    free(data);
}

static void test_every_period(void **state)
{
    const size_t len = 40000;
    uint8_t *data = malloc(len);

    (void)state;
    assert_non_null(data);
    for (size_t period = 1; period <= 300; period++) {
        struct cairn_chunker_params params = params_of(4096, (uint8_t)period);

        data_fill_period(data, len, period, period);
        /* a flaw in the repetition, at a place that wanders */
        data[20000 + 31 * period] ^= 1;
        compare_all(&params, data, len);
    }
    free(data);
}

/* Chunks large enough that repetition is noticed and skipped, and flaws that must not be. */
static void test_long_repeats(void **state)
{
    const size_t len = 300000;
    uint8_t *data = malloc(len);

    (void)state;
    assert_non_null(data);
    for (size_t period = 1; period <= 20000; period += 1 + period * 2 / 7) {
        struct cairn_chunker_params params = params_of(65536, (uint8_t)period);

        for (size_t flaw = 60000; flaw + 200 <= len; flaw += 29989) {
            data_fill_period(data, len, period, period + 1);
            data_fill(data + flaw, 200, 0, flaw);
            compare_all(&params, data, len);
        }
    }
    free(data);
}

static void test_large(void **state)
{
    const size_t len = 12u << 20;
    uint8_t *data = malloc(len);

    (void)state;
    assert_non_null(data);
    for (int kind = 0; kind < DATA_KINDS; kind++) {
        struct cairn_chunker_params params = params_of(1u << (16 + 2 * (kind % 3)), 77);
        struct cairn_chunker_handle *a = make(&params, CAIRN_CHUNKER_AUTO);
        struct cairn_chunker_handle *b = make(&params, CAIRN_CHUNKER_SCALAR);

        data_fill(data, len, kind, 5);
        for (size_t at = 0, n; at < len; at += n) {
            n = cairn_chunker_next(a, data + at, len - at, true);
            assert_int_equal(n, cairn_chunker_next(b, data + at, len - at, true));
        }
        cairn_chunker_free(a);
        cairn_chunker_free(b);
    }
    free(data);
}

/* At every split of the buffer, with and without the hint, the same chunk comes out. */
static void test_every_split(void **state)
{
    uint8_t *data = malloc(5000);

    (void)state;
    assert_non_null(data);
    for (int kind = 0; kind < DATA_KINDS; kind++)
        for (int which = 0; which < IMPLEMENTATIONS; which++) {
            struct cairn_chunker_params params = params_of(1024, (uint8_t)kind);
            struct cairn_chunker_handle *c = make(&params, which);
            size_t want, all = 0;

            if (c == NULL)
                continue;
            data_fill(data, 5000, kind, 9);
            want = cairn_chunker_next(c, data, 5000, false);
            assert_in_range(want, 256, 4096);
            for (size_t split = 0; split <= 5000; split++) {
                /* a block of just this size, so that a sanitizer sees what is read beyond */
                uint8_t *part = malloc(split + 1);
                size_t scanned = 0, one;

                assert_non_null(part);
                memcpy(part + 1, data, split);
                one = cairn_chunker_next_resume(c, part + 1, split, false, &scanned);
                assert_int_equal(one, split >= want ? want : 0);
                if (split > 0)
                    assert_int_equal(cairn_chunker_next(c, part + 1, split, true),
                                     split >= want ? want : split);
                if (one == 0)
                    one = cairn_chunker_next_resume(c, data, 5000, false, &scanned);
                assert_int_equal(one, want);
                /* the hint that walks along */
                if (split < want)
                    assert_int_equal(cairn_chunker_next_resume(c, data, split, false, &all), 0);
                free(part);
            }
            assert_int_equal(cairn_chunker_next_resume(c, data, 5000, false, &all), want);
            cairn_chunker_free(c);
        }
    free(data);
}

/* A buffer that ends just behind a candidate: the hint must carry that the next is not yet free. */
static void test_split_behind_candidates(void **state)
{
    uint8_t data[5000];

    (void)state;
    for (uint8_t seed = 0; seed < 200; seed++) {
        struct cairn_chunker_params params = params_of(1024, seed);
        struct cairn_chunker_handle *c = make(&params, CAIRN_CHUNKER_AUTO);
        size_t want;

        data_fill(data, sizeof data, 0, seed);
        want = cairn_chunker_next(c, data, sizeof data, true);
        for (size_t split = 256; split < want; split++) {
            size_t scanned = 0;

            assert_int_equal(cairn_chunker_next_resume(c, data, split, false, &scanned), 0);
            assert_int_equal(cairn_chunker_next_resume(c, data, sizeof data, true, &scanned), want);
        }
        cairn_chunker_free(c);
    }
}

static void test_fixed(void **state)
{
    struct cairn_chunker_params params = {.kind = CAIRN_CHUNKER_FIXED, .avg_bytes = 100};
    struct cairn_chunker_handle *c = make(&params, CAIRN_CHUNKER_AUTO);
    uint8_t data[250] = {0};
    size_t scanned = 0;

    (void)state;
    assert_string_equal(cairn_chunker_implementation_name(c), "fixed");
    assert_int_equal(cairn_chunker_max_bytes(c), 100);
    assert_int_equal(cairn_chunker_next(c, data, 250, true), 100);
    assert_int_equal(cairn_chunker_next(c, data, 100, false), 100);
    assert_int_equal(cairn_chunker_next(c, data, 99, false), 0);
    assert_int_equal(cairn_chunker_next(c, data, 50, true), 50);
    assert_int_equal(cairn_chunker_next(c, NULL, 0, true), 0);
    assert_int_equal(cairn_chunker_next_resume(c, data, 101, false, &scanned), 100);
    cairn_chunker_free(c);
    params.avg_bytes = 0;
    c = make(&params, CAIRN_CHUNKER_AUTO);
    assert_int_equal(cairn_chunker_max_bytes(c), 4u << 20);
    cairn_chunker_free(c);
}

static void test_short_ends(void **state)
{
    struct cairn_chunker_params params = params_of(1024, 1);
    struct cairn_chunker_handle *c = make(&params, CAIRN_CHUNKER_AUTO);
    uint8_t data[300];

    (void)state;
    data_fill(data, sizeof data, 0, 1);
    assert_int_equal(cairn_chunker_next(c, NULL, 0, true), 0);
    assert_int_equal(cairn_chunker_next(c, NULL, 0, false), 0);
    for (size_t n = 1; n <= 256; n++)
        assert_int_equal(cairn_chunker_next(c, data, n, true), n);
    assert_int_equal(cairn_chunker_next(c, data, 255, false), 0);
    cairn_chunker_free(c);
}

static void test_parameters(void **state)
{
    static const struct {
        struct cairn_chunker_params params;
        int status;
    } cases[] = {
        {{.kind = CAIRN_CHUNKER_DEFAULT}, CAIRN_OK},
        {{.kind = CAIRN_CHUNKER_DYNAMIC, .avg_bytes = 1000}, CAIRN_MISUSE},
        {{.kind = CAIRN_CHUNKER_DYNAMIC, .avg_bytes = 512}, CAIRN_MISUSE},
        {{.kind = CAIRN_CHUNKER_DYNAMIC, .avg_bytes = 1024}, CAIRN_OK},
        {{.kind = CAIRN_CHUNKER_DYNAMIC, .avg_bytes = 4u << 20}, CAIRN_OK},
        {{.kind = CAIRN_CHUNKER_DYNAMIC, .avg_bytes = 8u << 20}, CAIRN_MISUSE},
        {{.kind = CAIRN_CHUNKER_DYNAMIC, .avg_bytes = 1024, .min_bytes = 255}, CAIRN_MISUSE},
        {{.kind = CAIRN_CHUNKER_DYNAMIC, .avg_bytes = 1024, .min_bytes = 1025}, CAIRN_MISUSE},
        {{.kind = CAIRN_CHUNKER_DYNAMIC, .avg_bytes = 1024, .max_bytes = 2047}, CAIRN_MISUSE},
        {{.kind = CAIRN_CHUNKER_DYNAMIC, .avg_bytes = 1024, .max_bytes = 2048}, CAIRN_OK},
        {{.kind = CAIRN_CHUNKER_DYNAMIC, .avg_bytes = 1024, .max_bytes = (16u << 20) + 1},
         CAIRN_MISUSE},
        {{.kind = CAIRN_CHUNKER_FIXED, .avg_bytes = 1}, CAIRN_OK},
        {{.kind = CAIRN_CHUNKER_FIXED, .avg_bytes = (16u << 20) + 1}, CAIRN_MISUSE},
        {{.kind = 3}, CAIRN_MISUSE},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct cairn_chunker_handle *c = NULL;
        struct cairn_error err = {0};

        assert_int_equal(cairn_chunker_new(&cases[i].params, &c, &err), cases[i].status);
        assert_int_equal(err.status, cases[i].status);
        assert_true((c != NULL) == (cases[i].status == CAIRN_OK));
        cairn_chunker_free(c);
    }
}

static void test_unknown_implementation(void **state)
{
    struct cairn_chunker_params params = params_of(1024, 0);
    struct cairn_chunker_handle *c = NULL;

    (void)state;
    assert_int_equal(cairn_chunker_new_with(&params, 5, &c, NULL), CAIRN_UNSUPPORTED);
    assert_int_equal(cairn_chunker_new_with(&params, -1, &c, NULL), CAIRN_UNSUPPORTED);
    assert_null(c);
    cairn_chunker_free(NULL);
}

/* An insertion moves the cuts only near it. */
static void test_cuts_follow_content(void **state)
{
    const size_t len = 4u << 20, gap = 2u << 20;
    struct cairn_chunker_params params = params_of(16384, 3);
    struct cairn_chunker_handle *c = make(&params, CAIRN_CHUNKER_AUTO);

    (void)state;
    for (int kind = 0; kind < DATA_KINDS; kind++) {
        uint8_t *data = malloc(len + 1000);
        uint8_t *is_cut = calloc(1, len + 1);
        size_t total = 0, again = 0;

        assert_non_null(data);
        assert_non_null(is_cut);
        data_fill(data, len, kind, 8);
        for (size_t at = 0; at < len;) {
            at += cairn_chunker_next(c, data + at, len - at, true);
            is_cut[at] = 1;
        }
        memmove(data + gap + 777, data + gap, len - gap);
        data_fill(data + gap, 777, 0, 4);
        for (size_t at = 0; at < len + 777;) {
            at += cairn_chunker_next(c, data + at, len + 777 - at, true);
            if (at > gap + 777) {
                total++;
                again += is_cut[at - 777];
            }
        }
        if (data_is_varied(kind)) {
            assert_true(total > 64);
            assert_true(again * 100 >= total * 93);
        }
        free(data);
        free(is_cut);
    }
    cairn_chunker_free(c);
}

/* The mean is the average, and where the first predicate is blind the second still cuts. */
static void test_mean(void **state)
{
    const size_t len = 16u << 20;
    uint8_t *data = malloc(len);

    (void)state;
    assert_non_null(data);
    for (int kind = 0; kind < DATA_KINDS; kind++) {
        struct cairn_chunker_params params = params_of(16384, 21);
        struct cairn_chunker_handle *c = make(&params, CAIRN_CHUNKER_AUTO);
        size_t chunks = 0, mean;

        data_fill(data, len, kind, 2);
        for (size_t at = 0; at < len; chunks++) {
            size_t n = cairn_chunker_next(c, data + at, len - at, true);

            if (at + n < len)
                assert_in_range(n, 4096, 65536);
            at += n;
        }
        mean = len / chunks;
        if (data_is_varied(kind))
            assert_in_range(mean, 14500, 18500);
        cairn_chunker_free(c);
    }
    free(data);
}

/* Another key cuts elsewhere: the cuts two keys share are not more than chance. */
static void test_key_matters(void **state)
{
    const size_t len = 8u << 20;
    uint8_t *data = malloc(len), *is_cut = calloc(1, len + 1);
    size_t shared = 0, total = 0;

    (void)state;
    assert_non_null(data);
    assert_non_null(is_cut);
    data_fill(data, len, 0, 6);
    for (uint8_t half = 0; half < 3; half++) {
        struct cairn_chunker_params params = params_of(4096, 50);
        struct cairn_chunker_handle *c;

        if (half != 0)
            params.key[half == 1 ? 15 : 31] ^= 1; /* one bit of either half is enough */
        c = make(&params, CAIRN_CHUNKER_AUTO);
        for (size_t at = 0; at < len;) {
            at += cairn_chunker_next(c, data + at, len - at, true);
            if (half == 0)
                is_cut[at] = 1;
            else if (at < len) {
                total++;
                shared += is_cut[at];
            }
        }
        cairn_chunker_free(c);
    }
    assert_true(total > 3000);
    assert_true(shared * 50 < total);
    free(data);
    free(is_cut);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_against_model),
        cmocka_unit_test(test_every_period),
        cmocka_unit_test(test_long_repeats),
        cmocka_unit_test(test_large),
        cmocka_unit_test(test_every_split),
        cmocka_unit_test(test_split_behind_candidates),
        cmocka_unit_test(test_fixed),
        cmocka_unit_test(test_short_ends),
        cmocka_unit_test(test_parameters),
        cmocka_unit_test(test_unknown_implementation),
        cmocka_unit_test(test_cuts_follow_content),
        cmocka_unit_test(test_mean),
        cmocka_unit_test(test_key_matters),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
