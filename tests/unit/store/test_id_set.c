/* SPDX-License-Identifier: Apache-2.0
 *
 * The set against a sorted array as the model.
 */
#include "test.h"

#include "base/alloc.h"
#include "store/id_set.h"

#define COUNT 5000

static int compare(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(struct cairn_id));
}

static void count_each(void *ctx, const struct cairn_id *id)
{
    (void)id;
    (*(size_t *)ctx)++;
}

static void behaves_like_a_model(void **state)
{
    static struct cairn_id model[COUNT];
    struct cairn_id_set set = {0};
    size_t count = 0, each = 0;
    uint64_t random = 42;
    (void)state;
    for (int i = 0; i < 3 * COUNT; i++) {
        struct cairn_id id = {{0}};
        bool added;
        /* Few distinct ids, all with the same last bytes now and then: collisions and repeats. */
        uint64_t pick = test_random(&random) % COUNT;
        memcpy(id.bytes, &pick, sizeof(pick));
        if (pick % 3 == 0)
            memcpy(id.bytes + 24, &pick, sizeof(pick));
        bool is_member = bsearch(&id, model, count, sizeof(id), compare) != NULL;
        assert_int_equal(cairn_id_set_has(&set, &id), is_member);
        assert_int_equal(cairn_id_set_add(&set, &id, &added, NULL), CAIRN_OK);
        assert_int_equal(added, !is_member);
        if (!is_member) {
            model[count++] = id;
            qsort(model, count, sizeof(id), compare);
        }
        assert_true(cairn_id_set_has(&set, &id));
    }
    cairn_id_set_each(&set, count_each, &each);
    assert_int_equal(each, count);
    cairn_id_set_release(&set);
}

static void a_failed_growth_loses_nothing(void **state)
{
    struct cairn_id_set set = {0};
    struct cairn_id id = {{0}};
    bool added;
    int status = CAIRN_OK;
    (void)state;
    for (uint32_t i = 1; status == CAIRN_OK && i < 100000; i++) {
        memcpy(id.bytes, &i, 4);
        if (set.count == 700)
            cairn_alloc_fail_after(0, 1);
        status = cairn_id_set_add(&set, &id, &added, NULL);
    }
    cairn_alloc_fail_after(-1, 0);
    assert_int_equal(status, CAIRN_NO_MEMORY);
    for (uint32_t i = 1; i <= 700; i++) {
        memcpy(id.bytes, &i, 4);
        assert_true(cairn_id_set_has(&set, &id));
    }
    cairn_id_set_release(&set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(behaves_like_a_model),
        cmocka_unit_test(a_failed_growth_loses_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
