/* SPDX-License-Identifier: Apache-2.0
 *
 * Measures the chunkers; not a test.
 *
 *   bench_chunker [-a AVG] [-n MIB]          speed on one core, beside FastCDC and Buzhash
 *   bench_chunker [-a AVG] -d FILE FILE...   unique bytes of a version series, beside FastCDC
 *
 * The references are scalar, one byte a step, with the same minimum and maximum: FastCDC with
 * normalised chunking (a Gear hash; a quarter of the cut probability before the average, four
 * times it from there on) and Buzhash over 64 bytes. Both compare the hash with a limit instead
 * of masking it, so that their mean can be brought to the one they are compared with.
 */
#include "chunker/chunker.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define RUNS 7
#define BUZ_WINDOW 64

struct cutter {
    const char *name;
    size_t (*next)(const struct cutter *, const uint8_t *, size_t);
    struct cairn_chunker_handle *c;
    uint32_t avg;
    double scale; /* of the references' cut probability */
};

static uint64_t table[256];

static uint64_t splitmix(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static size_t next_cairn(const struct cutter *k, const uint8_t *data, size_t len)
{
    return cairn_chunker_next(k->c, data, len, true);
}

static uint64_t limit(const struct cutter *k, double cuts)
{
    return (uint64_t)(18446744073709551616.0 * (cuts * k->scale / k->avg));
}

static size_t next_fastcdc(const struct cutter *k, const uint8_t *data, size_t len)
{
    const uint64_t low = limit(k, 0.25), high = limit(k, 4);
    size_t max = len < 4 * (size_t)k->avg ? len : 4 * (size_t)k->avg;
    size_t middle = max < k->avg ? max : k->avg;
    size_t i = k->avg / 4;
    uint64_t h = 0;

    if (len <= i)
        return len;
    for (; i < middle; i++) {
        h = (h << 1) + table[data[i]];
        if (h < low)
            return i + 1;
    }
    for (; i < max; i++) {
        h = (h << 1) + table[data[i]];
        if (h < high)
            return i + 1;
    }
    return max;
}

static uint64_t rotate(uint64_t v)
{
    return v << 1 | v >> 63;
}

static size_t next_buzhash(const struct cutter *k, const uint8_t *data, size_t len)
{
    const uint64_t cut = limit(k, 1);
    size_t max = len < 4 * (size_t)k->avg ? len : 4 * (size_t)k->avg;
    size_t i = k->avg / 4;
    uint64_t h = 0;

    if (len <= i)
        return len;
    for (size_t j = i - BUZ_WINDOW; j < i; j++)
        h = rotate(h) ^ table[data[j]];
    for (; i < max; i++) {
        /* 64 rotations by one are none, so the leaving byte's value needs no rotation here. */
        h = rotate(h) ^ table[data[i - BUZ_WINDOW]] ^ table[data[i]];
        if (h < cut)
            return i + 1;
    }
    return max;
}

/* CPU time of this thread: what other programs take from the core is not counted. */
static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static size_t count_chunks(const struct cutter *k, const uint8_t *data, size_t len)
{
    size_t chunks = 0;

    for (size_t at = 0; at < len; chunks++)
        at += k->next(k, data + at, len - at);
    return chunks;
}

static int compare_double(const void *a, const void *b)
{
    const double *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

static void measure(const struct cutter *k, const char *what, const uint8_t *data, size_t len)
{
    double rate[RUNS];
    size_t chunks = count_chunks(k, data, len);

    for (int r = 0; r < RUNS; r++) {
        double start = now();

        if (count_chunks(k, data, len) != chunks)
            abort();
        rate[r] = (double)len / (now() - start) / 1e9;
    }
    qsort(rate, RUNS, sizeof rate[0], compare_double);
    printf("%-8s %-12s %6.2f GB/s (%.2f to %.2f)  mean chunk %.0f\n", k->name, what, rate[RUNS / 2],
           rate[0], rate[RUNS - 1], (double)len / (double)chunks);
}

/* ---- data ----------------------------------------------------------------------------------- */

static void fill_random(uint8_t *p, size_t len)
{
    uint64_t s = 1;

    for (size_t i = 0; i + 8 <= len; i += 8) {
        uint64_t v = splitmix(&s);

        memcpy(p + i, &v, 8);
    }
}

static void fill_text(uint8_t *p, size_t len)
{
    char words[512][12];
    uint64_t s = 2;
    size_t at = 0;

    for (int w = 0; w < 512; w++) {
        size_t n = 1 + splitmix(&s) % 10;

        for (size_t i = 0; i < n; i++)
            words[w][i] = (char)('a' + (splitmix(&s) % 26 * (splitmix(&s) % 26)) / 26);
        words[w][n] = '\0';
    }
    while (at < len) {
        uint64_t r = splitmix(&s);
        const char *w = words[(r % 512) * ((r >> 16) % 512) / 512];

        while (*w != '\0' && at < len)
            p[at++] = (uint8_t)*w++;
        if (at < len)
            p[at++] = (r >> 32) % 12 == 0 ? '\n' : ' ';
    }
}

static void fill_period(uint8_t *p, size_t len, size_t period)
{
    fill_random(p, period + 8);
    for (size_t i = period; i < len; i++)
        p[i] = p[i - period];
}

static void fill_dna(uint8_t *p, size_t len)
{
    uint64_t s = 3;

    for (size_t i = 0; i < len; i++)
        p[i] = (uint8_t) "ACGT"[splitmix(&s) >> 62];
}

static void fill_utf16(uint8_t *p, size_t len)
{
    uint64_t s = 4;

    for (size_t i = 0; i < len; i++)
        p[i] = i % 2 == 0 ? (uint8_t)('0' + splitmix(&s) % 10) : 0;
}

/* ---- modes ---------------------------------------------------------------------------------- */

static void speed(const struct cutter *cutters, int count, size_t len)
{
    uint8_t *p = malloc(len);

    if (p == NULL)
        abort();
    for (int d = 0; d < 9; d++) {
        static const char *const names[] = {"random",   "zeros",     "text",       "dna", "utf16",
                                            "period 7", "period 64", "period 256", "0xff"};

        switch (d) {
        case 0:
            fill_random(p, len);
            break;
        case 1:
            memset(p, 0, len);
            break;
        case 2:
            fill_text(p, len);
            break;
        case 3:
            fill_dna(p, len);
            break;
        case 4:
            fill_utf16(p, len);
            break;
        case 5:
            fill_period(p, len, 7);
            break;
        case 6:
            fill_period(p, len, 64);
            break;
        case 7:
            fill_period(p, len, 256);
            break;
        default:
            memset(p, 0xff, len);
            break;
        }
        for (int k = 0; k < count; k++)
            measure(&cutters[k], names[d], p, len);
    }
    free(p);
}

struct file {
    uint8_t *data;
    size_t len;
};

static struct file read_file(const char *path)
{
    FILE *f = fopen(path, "rb");
    struct file r = {NULL, 0};

    if (f == NULL) {
        perror(path);
        exit(1);
    }
    fseek(f, 0, SEEK_END);
    r.len = (size_t)ftell(f);
    rewind(f);
    r.data = malloc(r.len + 1);
    if (r.data == NULL || fread(r.data, 1, r.len, f) != r.len)
        abort();
    fclose(f);
    return r;
}

struct name {
    uint64_t hash;
    uint64_t len;
};

static struct name name_of(const uint8_t *p, size_t len)
{
    struct name n = {len, len};
    size_t i = 0;
    uint64_t v;

    for (; i + 8 <= len; i += 8) {
        memcpy(&v, p + i, 8);
        n.hash = (n.hash ^ v) * 0x9fb21c651e98df25u;
        n.hash ^= n.hash >> 29;
    }
    for (; i < len; i++)
        n.hash = (n.hash ^ p[i]) * 0x9fb21c651e98df25u;
    n.hash ^= n.hash >> 32;
    return n;
}

static int compare_name(const void *a, const void *b)
{
    const struct name *x = a, *y = b;

    if (x->hash != y->hash)
        return x->hash < y->hash ? -1 : 1;
    return (x->len > y->len) - (x->len < y->len);
}

struct result {
    double unique, total;
    size_t chunks;
    double deviation;
};

static struct result deduplicate(const struct cutter *k, const struct file *files, int count)
{
    struct result r = {0};
    size_t cap = 0;
    struct name *names;
    double squares = 0, mean;

    for (int f = 0; f < count; f++)
        cap += files[f].len / (k->avg / 4) + 1;
    names = calloc(cap, sizeof *names);
    if (names == NULL)
        abort();
    for (int f = 0; f < count; f++)
        for (size_t at = 0; at < files[f].len;) {
            size_t n = k->next(k, files[f].data + at, files[f].len - at);

            names[r.chunks++] = name_of(files[f].data + at, n);
            r.total += (double)n;
            squares += (double)n * (double)n;
            at += n;
        }
    qsort(names, r.chunks, sizeof *names, compare_name);
    for (size_t i = 0; i < r.chunks; i++)
        if (i == 0 || compare_name(&names[i - 1], &names[i]) != 0)
            r.unique += (double)names[i].len;
    free(names);
    mean = r.total / (double)r.chunks;
    r.deviation = squares / (double)r.chunks / mean / mean - 1;
    return r;
}

#define KEYS 5

static void make_key(struct cairn_chunker_params *params, uint64_t *seed)
{
    for (size_t i = 0; i < sizeof params->key; i++)
        params->key[i] = (uint8_t)splitmix(seed);
}

/* The references run with KEYS hash tables, this chunker with as many keys: with few chunks the
 * luck of one key is larger than the differences looked for. */
static void series(struct cutter *cutters, struct cairn_chunker_params *params, char **paths,
                   int count)
{
    struct file *files = calloc((size_t)count, sizeof *files);
    struct cutter ours = {.name = "cairn", .next = next_cairn, .avg = params->avg_bytes};
    struct result sum[3] = {{0}};
    uint64_t seed = 99;

    if (files == NULL)
        abort();
    for (int f = 0; f < count; f++)
        files[f] = read_file(paths[f]);
    for (int t = 0; t < KEYS; t++) {
        struct result r[3];

        make_key(params, &seed);
        if (cairn_chunker_new(params, &ours.c, NULL) != CAIRN_OK)
            abort();
        r[2] = deduplicate(&ours, files, count);
        cairn_chunker_free(ours.c);
        for (int i = 0; i < 256; i++)
            table[i] = splitmix(&seed);
        for (int k = 0; k < 2; k++)
            for (int i = 0; i < 8; i++) {
                r[k] = deduplicate(&cutters[k], files, count);
                cutters[k].scale *= (double)r[2].chunks / (double)r[k].chunks;
            }
        for (int k = 0; k < 3; k++) {
            sum[k].unique += r[k].unique / KEYS;
            sum[k].deviation += r[k].deviation / KEYS;
            sum[k].chunks += r[k].chunks;
            sum[k].total = r[k].total;
        }
    }
    for (int k = 0; k < 3; k++)
        printf("%-8s unique %.0f of %.0f bytes (%+.2f %%), mean chunk %.0f, variance %.3f\n",
               k < 2 ? cutters[k].name : ours.name, sum[k].unique, sum[k].total,
               100 * (sum[k].unique / sum[0].unique - 1),
               sum[k].total * KEYS / (double)sum[k].chunks, sum[k].deviation);
    for (int f = 0; f < count; f++)
        free(files[f].data);
    free(files);
}

int main(int argc, char **argv)
{
    static const int kinds[] = {CAIRN_CHUNKER_SCALAR, CAIRN_CHUNKER_AVX2, CAIRN_CHUNKER_AVX512,
                                CAIRN_CHUNKER_NEON};
    struct cairn_chunker_params params = {.kind = CAIRN_CHUNKER_DYNAMIC, .avg_bytes = 1u << 20};
    struct cutter cutters[2 + 4] = {{.name = "fastcdc", .next = next_fastcdc, .scale = 1},
                                    {.name = "buzhash", .next = next_buzhash, .scale = 1}};
    size_t mib = 256;
    bool dedup = false;
    uint64_t seed = 99;
    int opt, count = 2;

    while ((opt = getopt(argc, argv, "a:n:d")) != -1) {
        if (opt == 'a')
            params.avg_bytes = (uint32_t)strtoul(optarg, NULL, 0);
        else if (opt == 'n')
            mib = strtoul(optarg, NULL, 0);
        else
            dedup = true;
    }
    for (int i = 0; i < 256; i++)
        table[i] = splitmix(&seed);
    make_key(&params, &seed);
    for (int i = 0; i < 4; i++) {
        struct cutter *k = &cutters[count];

        if (cairn_chunker_new_with(&params, kinds[i], &k->c, NULL) != CAIRN_OK)
            continue;
        k->name = cairn_chunker_implementation_name(k->c);
        k->next = next_cairn;
        count++;
    }
    for (int k = 0; k < count; k++)
        cutters[k].avg = params.avg_bytes;
    if (dedup)
        series(cutters, &params, argv + optind, argc - optind);
    else
        speed(cutters, count, mib << 20);
    for (int k = 2; k < count; k++)
        cairn_chunker_free(cutters[k].c);
    return 0;
}
