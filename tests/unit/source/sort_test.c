/* SPDX-License-Identifier: Apache-2.0 */
#include "helpers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "source/walk_internal.h"

struct names {
    char *bytes;
    struct walk_item *items;
    size_t count, len, cap;
};

static const char *base;

static int compare(const void *a, const void *b)
{
    const uint32_t *x = a, *y = b;
    return strcmp(base + *x, base + *y);
}

static void add(struct names *names, const char *name)
{
    size_t len = strlen(name) + 1;
    if (names->len + len > names->cap) {
        names->cap = names->cap * 2 + 4096;
        names->bytes = realloc(names->bytes, names->cap);
        names->items = realloc(names->items, names->cap * sizeof(*names->items));
        assert_true(names->bytes && names->items);
    }
    memcpy(names->bytes + names->len, name, len);
    names->items[names->count++].at = (uint32_t)names->len;
    names->len += len;
}

/* Sorts, compares with the library's sort, and frees. */
static void check(struct names *names)
{
    uint32_t *expected = malloc((names->count + 1) * sizeof(*expected));
    assert_non_null(expected);
    for (size_t i = 0; i < names->count; i++)
        expected[i] = names->items[i].at;
    base = names->bytes;
    qsort(expected, names->count, sizeof(*expected), compare);
    walk_sort(names->items, names->count, names->bytes);
    for (size_t i = 0; i < names->count; i++)
        assert_string_equal(base + names->items[i].at, base + expected[i]);
    free(expected);
    free(names->bytes);
    free(names->items);
    *names = (struct names){0};
}

static void test_random_names(void **state)
{
    (void)state;
    unsigned seed = 1;
    for (unsigned round = 0; round < 300; round++) {
        struct names names = {0};
        unsigned count = round < 100 ? round : (unsigned)rand_r(&seed) % 3000;
        unsigned letters = round % 3 == 0 ? 2 : 255;
        unsigned shared = (unsigned)rand_r(&seed) % 12;
        for (unsigned i = 0; i < count; i++) {
            char name[64];
            unsigned len = 1 + (unsigned)rand_r(&seed) % 20;
            memset(name, 'p', shared);
            for (unsigned k = 0; k < len; k++)
                name[shared + k] = (char)(255 - (unsigned)rand_r(&seed) % letters);
            name[shared + len] = '\0';
            add(&names, name);
        }
        check(&names);
    }
}

static void test_one_name_begins_the_others(void **state)
{
    (void)state;
    struct names names = {0};
    static const char *const all[] = {"abcdefghi", "abcdefgh", "abc", "abcdefgh\x01", "abcdefghia",
                                      "abcd",      "abcdefgh", "abc", "abc\xff"};
    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
        add(&names, all[i]);
    check(&names);
}

static void test_patterns(void **state)
{
    (void)state;
    for (unsigned pattern = 0; pattern < 5; pattern++) {
        struct names names = {0};
        const unsigned count = 20000;
        for (unsigned i = 0; i < count; i++) {
            char name[64];
            unsigned n = i;
            if (pattern == 1)
                n = count - i;
            else if (pattern == 2)
                n = 0;
            else if (pattern == 3)
                n = i % 2 ? i : count - i;
            else if (pattern == 4)
                n = i < count / 2 ? i : count - i; /* an organ pipe: bad for some pivots */
            (void)snprintf(name, sizeof(name), "some-long-common-part-%07u-tail", n);
            add(&names, name);
        }
        check(&names);
    }
}

/* The classical input against a median of three (McIlroy): the order is decided while the sort
 * runs, so here it is only made for a middle pivot, by undoing its swaps. */
static void test_input_against_the_pivot(void **state)
{
    (void)state;
    enum { COUNT = 4096 };
    static unsigned order[COUNT];
    for (unsigned i = 0; i < COUNT; i++)
        order[i] = i;
    for (unsigned i = 2; i < COUNT; i++) {
        unsigned t = order[i / 2];
        order[i / 2] = order[i];
        order[i] = t;
    }
    struct names names = {0};
    for (unsigned i = 0; i < COUNT; i++) {
        char name[32];
        (void)snprintf(name, sizeof(name), "%06u", order[i]);
        add(&names, name);
    }
    check(&names);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_names),
        cmocka_unit_test(test_one_name_begins_the_others),
        cmocka_unit_test(test_patterns),
        cmocka_unit_test(test_input_against_the_pivot),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
