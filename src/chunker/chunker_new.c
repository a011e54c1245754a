/* SPDX-License-Identifier: Apache-2.0 */
#include "chunker/chunker_internal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

#define FIXED_DEFAULT_BYTES (4u * 1024u * 1024u)
#define DYNAMIC_DEFAULT_BYTES (1024u * 1024u)

/* Expected cuts per average chunk, times the mean distance of candidates in random data (192):
 * 0.25 up to 13/16 of the average, 4 from there on, as normalised FastCDC has them. Together with
 * the minimum and the displacement the mean chunk of random data is then the average. */
#define CUTS_LOW 48u
#define CUTS_HIGH 768u
#define TURN_SIXTEENTHS 13u

static bool is_power_of_two(uint32_t v)
{
    return v != 0 && (v & (v - 1)) == 0;
}

static int set_fixed(struct cairn_chunker_handle *c, const struct cairn_chunker_params *params,
                     struct cairn_error *err)
{
    c->avg = params->avg_bytes != 0 ? params->avg_bytes : FIXED_DEFAULT_BYTES;
    if (c->avg > CAIRN_CHUNKER_BYTES_MAX)
        return cairn_error_set(err, CAIRN_MISUSE, 0,
                               "a fixed chunk of %" PRIu32 " bytes is above the limit of %u",
                               c->avg, CAIRN_CHUNKER_BYTES_MAX);
    c->min = c->avg;
    c->max = c->avg;
    return CAIRN_OK;
}

static int set_sizes(struct cairn_chunker_handle *c, const struct cairn_chunker_params *params,
                     struct cairn_error *err)
{
    c->avg = params->avg_bytes != 0 ? params->avg_bytes : DYNAMIC_DEFAULT_BYTES;
    if (!is_power_of_two(c->avg) || c->avg < CAIRN_CHUNKER_AVG_BYTES_MIN ||
        c->avg > CAIRN_CHUNKER_AVG_BYTES_MAX)
        return cairn_error_set(err, CAIRN_MISUSE, 0,
                               "an average chunk of %" PRIu32
                               " bytes is not a power of two from %u to %u",
                               c->avg, CAIRN_CHUNKER_AVG_BYTES_MIN, CAIRN_CHUNKER_AVG_BYTES_MAX);
    c->min = params->min_bytes != 0 ? params->min_bytes : c->avg / 4;
    c->max = params->max_bytes != 0 ? params->max_bytes : c->avg * 4;
    if (c->min < CDC_MIN_BYTES || c->min > c->avg || c->max / 2 < c->avg ||
        c->max > CAIRN_CHUNKER_BYTES_MAX)
        return cairn_error_set(err, CAIRN_MISUSE, 0,
                               "chunks of %" PRIu32 " to %" PRIu32
                               " bytes do not fit an average of %" PRIu32,
                               c->min, c->max, c->avg);
    return CAIRN_OK;
}

/* The second half of the key is expanded to the predicates' constants: the encryption of a zero
 * block under it. */
static void set_predicates(struct cairn_chunker_handle *c, const uint8_t key[16])
{
    uint8_t round_keys[CDC_AES_ROUNDS + 1][16];
    uint8_t stream[16] = {0};
    uint16_t words[8];

    cairn_chunker_aes_expand(key, round_keys);
    cairn_chunker_aes_encrypt(round_keys, stream);
    for (unsigned i = 0; i < 8; i++)
        words[i] = (uint16_t)(stream[2 * i] | stream[2 * i + 1] << 8);
    for (unsigned k = 0; k < CDC_TAPS; k++)
        c->mult[k] = words[k] | 1;
    c->chain = words[4] | 1;
    c->match1 = words[5] & CDC_MATCH1;
    c->match2 = words[6] & CDC_MATCH2;
    explicit_bzero(round_keys, sizeof round_keys);
    explicit_bzero(stream, sizeof stream);
    explicit_bzero(words, sizeof words);
}

static int set_dynamic(struct cairn_chunker_handle *c, const struct cairn_chunker_params *params,
                       struct cairn_error *err)
{
    int rc = set_sizes(c, params, err);

    if (rc != CAIRN_OK)
        return rc;
    c->displace_mask = c->avg / 64 - 1;
    c->turn = c->avg / 16 * TURN_SIXTEENTHS;
    c->limit_low = (uint32_t)(((uint64_t)CUTS_LOW << 32) / c->avg);
    c->limit_high = (uint32_t)(((uint64_t)CUTS_HIGH << 32) / c->avg);
    cairn_chunker_aes_expand(params->key, c->round_keys);
    set_predicates(c, params->key + 16);
    return CAIRN_OK;
}

static const struct cairn_chunker_ops *choose(int implementation)
{
    const struct cairn_chunker_ops *ops = NULL;

    switch (implementation) {
    case CAIRN_CHUNKER_AUTO:
        ops = cairn_chunker_ops_avx512();
        if (ops == NULL)
            ops = cairn_chunker_ops_avx2();
        if (ops == NULL)
            ops = cairn_chunker_ops_neon();
        if (ops == NULL)
            ops = cairn_chunker_ops_scalar();
        break;
    case CAIRN_CHUNKER_SCALAR:
        ops = cairn_chunker_ops_scalar();
        break;
    case CAIRN_CHUNKER_AVX2:
        ops = cairn_chunker_ops_avx2();
        break;
    case CAIRN_CHUNKER_AVX512:
        ops = cairn_chunker_ops_avx512();
        break;
    case CAIRN_CHUNKER_NEON:
        ops = cairn_chunker_ops_neon();
        break;
    default:
        break;
    }
    return ops;
}

int cairn_chunker_new_with(const struct cairn_chunker_params *params, int implementation,
                           struct cairn_chunker_handle **out, struct cairn_error *err)
{
    struct cairn_chunker_handle *c = calloc(1, sizeof *c);
    int rc;

    if (c == NULL)
        return cairn_error_set(err, CAIRN_NO_MEMORY, 0, "no memory for a chunker");
    c->kind = params->kind == CAIRN_CHUNKER_DEFAULT ? CAIRN_CHUNKER_DYNAMIC : params->kind;
    c->ops = choose(implementation);
    if (c->ops == NULL)
        rc = cairn_error_set(err, CAIRN_UNSUPPORTED, 0,
                             "this processor or build lacks chunker implementation %d",
                             implementation);
    else if (c->kind == CAIRN_CHUNKER_FIXED)
        rc = set_fixed(c, params, err);
    else if (c->kind == CAIRN_CHUNKER_DYNAMIC)
        rc = set_dynamic(c, params, err);
    else
        rc = cairn_error_set(err, CAIRN_MISUSE, 0, "%d is no kind of chunker", c->kind);
    if (rc != CAIRN_OK) {
        cairn_chunker_free(c);
        return rc;
    }
    *out = c;
    return CAIRN_OK;
}

int cairn_chunker_new(const struct cairn_chunker_params *params, struct cairn_chunker_handle **out,
                      struct cairn_error *err)
{
    return cairn_chunker_new_with(params, CAIRN_CHUNKER_AUTO, out, err);
}

void cairn_chunker_free(struct cairn_chunker_handle *c)
{
    if (c == NULL)
        return;
    explicit_bzero(c, sizeof *c);
    free(c);
}

const char *cairn_chunker_implementation_name(const struct cairn_chunker_handle *c)
{
    return c->kind == CAIRN_CHUNKER_FIXED ? "fixed" : c->ops->name;
}

size_t cairn_chunker_max_bytes(const struct cairn_chunker_handle *c)
{
    return c->max;
}
