/* SPDX-License-Identifier: Apache-2.0
 *
 * The queue and the pool, with several threads on both sides.
 */
#include "../store/test.h"

#include <signal.h>
#include <stdatomic.h>

#include "base/pool.h"
#include "base/threads.h"

#define PRODUCERS 3
#define CONSUMERS 4
#define ITEMS 20000

struct traffic {
    struct cairn_queue *queue;
    atomic_uint next_producer;
    atomic_uint taken[PRODUCERS * ITEMS];
    atomic_uint disorder;
};

/* An item is its number and 1, as a pointer that is never followed. */
static void *item_of(size_t number)
{
    return (void *)(uintptr_t)(number + 1);
}

static void *produce(void *ctx)
{
    struct traffic *t = ctx;
    const size_t me = atomic_fetch_add(&t->next_producer, 1);
    for (size_t i = 0; i < ITEMS; i++)
        (void)cairn_queue_push(t->queue, item_of(me * ITEMS + i));
    return NULL;
}

static void *consume(void *ctx)
{
    struct traffic *t = ctx;
    size_t last[PRODUCERS] = {0};
    for (void *item; (item = cairn_queue_pop(t->queue)) != NULL;) {
        const size_t number = (size_t)(uintptr_t)item - 1;
        const size_t from = number / ITEMS, place = number % ITEMS + 1;
        atomic_fetch_add(&t->taken[number], 1);
        if (place <= last[from]) /* what one consumer sees of one producer stays in order */
            atomic_fetch_add(&t->disorder, 1);
        last[from] = place;
    }
    return NULL;
}

static void everything_arrives_once(void **state)
{
    static struct traffic t;
    pthread_t producers[PRODUCERS], consumers[CONSUMERS];
    size_t started;
    (void)state;
    assert_int_equal(cairn_queue_new(7, &t.queue, NULL), CAIRN_OK);
    assert_int_equal(cairn_threads_start(consumers, CONSUMERS, consume, &t, &started, NULL),
                     CAIRN_OK);
    assert_int_equal(started, CONSUMERS);
    assert_int_equal(cairn_threads_start(producers, PRODUCERS, produce, &t, &started, NULL),
                     CAIRN_OK);
    cairn_threads_join(producers, PRODUCERS);
    cairn_queue_close(t.queue);
    cairn_threads_join(consumers, CONSUMERS);
    assert_int_equal(t.disorder, 0);
    for (size_t i = 0; i < PRODUCERS * ITEMS; i++)
        assert_int_equal(t.taken[i], 1);
    cairn_queue_free(t.queue);
}

static void a_queue_is_bounded_and_ordered(void **state)
{
    struct cairn_queue *queue = NULL;
    (void)state;
    assert_int_equal(cairn_queue_new(0, &queue, NULL), CAIRN_MISUSE);
    assert_null(queue);
    assert_int_equal(cairn_queue_new(3, &queue, NULL), CAIRN_OK);
    for (int round = 0; round < 5; round++) {
        assert_null(cairn_queue_try_pop(queue));
        for (size_t i = 0; i < 3; i++)
            assert_true(cairn_queue_try_push(queue, item_of(i)));
        assert_false(cairn_queue_try_push(queue, item_of(3)));
        assert_ptr_equal(cairn_queue_pop(queue), item_of(0));
        assert_true(cairn_queue_push(queue, item_of(3)));
        for (size_t i = 1; i < 4; i++)
            assert_ptr_equal(cairn_queue_try_pop(queue), item_of(i));
    }
    assert_true(cairn_queue_push(queue, item_of(9)));
    cairn_queue_close(queue);
    assert_false(cairn_queue_push(queue, item_of(1)));
    assert_false(cairn_queue_try_push(queue, item_of(1)));
    assert_ptr_equal(cairn_queue_pop(queue), item_of(9)); /* what is in it still comes out */
    assert_null(cairn_queue_pop(queue));
    cairn_queue_free(queue);
    cairn_queue_free(NULL);
}

static void *push_one(void *ctx)
{
    return cairn_queue_push(ctx, item_of(5)) ? ctx : NULL;
}

static void closing_wakes_who_waits(void **state)
{
    struct cairn_queue *queue = NULL;
    pthread_t thread;
    void *result;
    (void)state;
    assert_int_equal(cairn_queue_new(1, &queue, NULL), CAIRN_OK);
    assert_true(cairn_queue_push(queue, item_of(1)));
    assert_int_equal(pthread_create(&thread, NULL, push_one, queue), 0);
    cairn_queue_close(queue);
    assert_int_equal(pthread_join(thread, &result), 0);
    assert_null(result);
    cairn_queue_free(queue);
}

#define BUFFERS 3

struct sharing {
    struct cairn_pool *pool;
    atomic_uint out, most, clashes, served;
};

static void *borrow(void *ctx)
{
    struct sharing *s = ctx;
    for (unsigned i = 0; i < 5000; i++) {
        atomic_uint *buffer = cairn_pool_get(s->pool);
        if (buffer == NULL)
            break;
        const unsigned out = atomic_fetch_add(&s->out, 1) + 1;
        if (out > atomic_load(&s->most))
            atomic_store(&s->most, out);
        /* The first word counts who uses the buffer now. */
        atomic_fetch_add(&s->clashes, atomic_fetch_add(buffer, 1) != 0);
        atomic_fetch_sub(buffer, 1);
        atomic_fetch_sub(&s->out, 1);
        atomic_fetch_add(&s->served, 1);
        cairn_pool_put(s->pool, buffer);
    }
    return NULL;
}

static void a_buffer_has_one_borrower(void **state)
{
    struct sharing s = {NULL, 0, 0, 0, 0};
    pthread_t threads[6];
    void *all[BUFFERS];
    size_t started;
    (void)state;
    assert_int_equal(cairn_pool_new(BUFFERS, 5000, &s.pool, NULL), CAIRN_OK);
    assert_int_equal(cairn_pool_buffer_size(s.pool), 5000);
    for (size_t i = 0; i < BUFFERS; i++) {
        all[i] = cairn_pool_try_get(s.pool);
        assert_non_null(all[i]);
        assert_int_equal((uintptr_t)all[i] % 4096, 0);
        memset(all[i], 0, 5000);
    }
    assert_null(cairn_pool_try_get(s.pool));
    for (size_t i = 0; i < BUFFERS; i++)
        cairn_pool_put(s.pool, all[i]);
    cairn_pool_put(s.pool, NULL);
    assert_int_equal(cairn_threads_start(threads, 6, borrow, &s, &started, NULL), CAIRN_OK);
    cairn_threads_join(threads, 6);
    assert_int_equal(s.clashes, 0);
    assert_int_equal(s.served, 6 * 5000);
    assert_in_range(s.most, 1, BUFFERS);
    cairn_pool_free(s.pool);
    cairn_pool_free(NULL);
}

static void *get_one(void *ctx)
{
    return cairn_pool_get(ctx);
}

static void closing_a_pool_wakes_who_waits(void **state)
{
    struct cairn_pool *pool = NULL;
    pthread_t thread;
    void *result;
    (void)state;
    assert_int_equal(cairn_pool_new(1, 10, &pool, NULL), CAIRN_OK);
    void *only = cairn_pool_get(pool);
    assert_non_null(only);
    assert_int_equal(pthread_create(&thread, NULL, get_one, pool), 0);
    cairn_pool_close(pool);
    assert_int_equal(pthread_join(thread, &result), 0);
    assert_null(result);
    cairn_pool_put(pool, only);
    assert_null(cairn_pool_get(pool));
    assert_null(cairn_pool_try_get(pool));
    cairn_pool_free(pool);
}

static void *blocked_signals(void *ctx)
{
    sigset_t set;
    (void)pthread_sigmask(SIG_SETMASK, NULL, &set);
    *(int *)ctx = sigismember(&set, SIGINT) == 1 && sigismember(&set, SIGTERM) == 1;
    return NULL;
}

static void workers_leave_signals_to_the_caller(void **state)
{
    pthread_t thread;
    size_t started;
    sigset_t set;
    int all_blocked = 0;
    (void)state;
    assert_int_equal(cairn_threads_start(&thread, 1, blocked_signals, &all_blocked, &started, NULL),
                     CAIRN_OK);
    cairn_threads_join(&thread, 1);
    assert_int_equal(all_blocked, 1);
    (void)pthread_sigmask(SIG_SETMASK, NULL, &set);
    assert_int_equal(sigismember(&set, SIGINT), 0);
    assert_true(cairn_cpu_count() >= 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_arrives_once),
        cmocka_unit_test(a_queue_is_bounded_and_ordered),
        cmocka_unit_test(closing_wakes_who_waits),
        cmocka_unit_test(a_buffer_has_one_borrower),
        cmocka_unit_test(closing_a_pool_wakes_who_waits),
        cmocka_unit_test(workers_leave_signals_to_the_caller),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
