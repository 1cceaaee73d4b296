/* SPDX-License-Identifier: MIT
 *
 * Tasks whose results are taken in order: by 1 to 5 threads, in memory for 1 to 7
 * results, with failures anywhere, and with loops within the taking.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

#include "ops/ops.h"
#include "suite.h"

enum { TASKS = 40, ROOM = 7, LOOP = 24 };

#define MUCH 1e9 /* operations: worth all threads */

/* What is seen is asserted afterwards, on the test's own thread. */
struct seen {
    size_t room;
    size_t memory[ROOM]; /* which task's result is here */
    size_t order[TASKS], merged;
    bool overwritten; /* a result, before it was merged */
    atomic_int makes[TASKS], shares[LOOP];
    atomic_int merging;                    /* merges at this moment */
    bool together;                         /* two merges at once */
    size_t bad_make, bad_merge, bad_share; /* who fails; TASKS = nobody */
    txd_ctx loop_ctx;
    bool loops; /* a loop in every merge */
    bool waits; /* result 1 is taken once task `room` is begun */
    bool waited_in_vain;
};

static txd_status make(void *self, size_t i, int worker)
{
    struct seen *s = self;

    (void)worker;
    atomic_fetch_add(&s->makes[i], 1);
    s->memory[i % s->room] = i;
    return i == s->bad_make ? txd_fail(TXD_ERR_CONFIG, "task %zu", i) : TXD_OK;
}

static txd_status share(void *self, size_t i, int worker)
{
    struct seen *s = self;

    if (worker >= s->loop_ctx.threads)
        return txd_fail(TXD_ERR_CONFIG, "worker %d", worker);
    atomic_fetch_add(&s->shares[i], 1);
    return i == s->bad_share ? txd_fail(TXD_ERR_CONFIG, "share %zu", i) : TXD_OK;
}

static void wait_for(struct seen *s, size_t task)
{
    const struct timespec nap = {0, 1000000};

    for (int tries = 0; atomic_load(&s->makes[task]) == 0 && tries < 20000; tries++)
        nanosleep(&nap, NULL);
    s->waited_in_vain |= atomic_load(&s->makes[task]) == 0;
}

static txd_status merge(void *self, size_t i)
{
    struct seen *s = self;
    txd_status status = TXD_OK;

    s->together |= atomic_fetch_add(&s->merging, 1) > 0;
    s->overwritten |= s->memory[i % s->room] != i;
    s->order[s->merged++] = i;
    if (s->waits && i == 1)
        wait_for(s, s->room);
    if (s->loops)
        status = txd_parallel(&s->loop_ctx, LOOP, MUCH, share, s);
    atomic_fetch_sub(&s->merging, 1);
    if (i == s->bad_merge)
        return txd_fail(TXD_ERR_CONFIG, "result %zu", i);
    return status;
}

static struct seen nothing_seen(size_t room)
{
    return (struct seen){.room = room,
                         .bad_make = TASKS,
                         .bad_merge = TASKS,
                         .bad_share = TASKS,
                         .loop_ctx = {1}};
}

static txd_status run(struct seen *s, int threads)
{
    txd_ctx ctx = {threads};
    bool made[ROOM];
    struct txd_in_order tasks = {.count = TASKS,
                                 .room = s->room,
                                 .made = made,
                                 .operations = MUCH,
                                 .make = make,
                                 .merge = merge,
                                 .self = s};

    return txd_parallel_in_order(&ctx, &tasks);
}

static void ck_in_order(const struct seen *s, size_t merged)
{
    ck_assert_uint_eq(s->merged, merged);
    for (size_t i = 0; i < merged; i++)
        ck_assert_uint_eq(s->order[i], i);
    ck_assert(!s->overwritten);
    ck_assert(!s->together);
}

START_TEST(results_are_taken_once_in_order_one_at_a_time_and_never_overwritten_before)
{
    for (int threads = 1; threads <= 5; threads++)
        for (size_t room = 1; room <= ROOM; room++) {
            struct seen s = nothing_seen(room);

            ck_assert_int_eq(run(&s, threads), TXD_OK);
            ck_in_order(&s, TASKS);
            for (size_t i = 0; i < TASKS; i++)
                ck_assert_int_eq(atomic_load(&s.makes[i]), 1);
        }
}
END_TEST

START_TEST(no_task_is_no_failure)
{
    struct seen s = nothing_seen(2);
    bool made[2];
    struct txd_in_order tasks = {0, 2, made, MUCH, make, merge, &s};

    for (int threads = 1; threads <= 3; threads++)
        ck_assert_int_eq(txd_parallel_in_order(&(txd_ctx){threads}, &tasks), TXD_OK);
    ck_in_order(&s, 0);
}
END_TEST

START_TEST(the_first_failure_is_told_and_nothing_behind_it_is_taken)
{
    for (int threads = 1; threads <= 5; threads++)
        for (size_t bad = 0; bad < TASKS; bad += 3) {
            struct seen s = nothing_seen(4);
            char message[40];

            s.bad_make = bad;
            s.bad_merge = bad + 1; /* never reached */
            snprintf(message, sizeof message, "task %zu", bad);
            ck_assert_int_eq(run(&s, threads), TXD_ERR_CONFIG);
            ck_assert_str_eq(txd_message(), message);
            ck_in_order(&s, bad);

            s = nothing_seen(4);
            s.bad_merge = bad;
            s.bad_make = bad + 1; /* behind it, though it may come to pass before */
            snprintf(message, sizeof message, "result %zu", bad);
            ck_assert_int_eq(run(&s, threads), TXD_ERR_CONFIG);
            ck_assert_str_eq(txd_message(), message);
            ck_in_order(&s, bad + 1);
        }
}
END_TEST

START_TEST(what_follows_is_made_while_a_result_is_taken)
{
    struct seen s = nothing_seen(4);

    if (txd_threads_available() == 1 && txd_threads_of(0) == 1)
        test_skip("one thread: built without OpenMP, or told so by the environment");
    s.waits = true;
    ck_assert_int_eq(run(&s, 2), TXD_OK);
    ck_assert(!s.waited_in_vain);
    ck_in_order(&s, TASKS);
}
END_TEST

START_TEST(
    a_loop_within_the_taking_of_a_result_is_run_whole_by_its_own_number_of_threads)
{
    for (int threads = 1; threads <= 5; threads++)
        for (int inner = 1; inner <= 3; inner++) {
            struct seen s = nothing_seen(3);

            s.loops = true;
            s.loop_ctx.threads = inner;
            ck_assert_int_eq(run(&s, threads), TXD_OK);
            ck_in_order(&s, TASKS);
            for (size_t i = 0; i < LOOP; i++)
                ck_assert_int_eq(atomic_load(&s.shares[i]), TASKS);
        }
}
END_TEST

START_TEST(a_failure_in_such_a_loop_is_the_results_with_its_message)
{
    for (int threads = 1; threads <= 5; threads++) {
        struct seen s = nothing_seen(3);

        s.loops = true;
        s.loop_ctx.threads = 4;
        s.bad_share = 5;
        ck_assert_int_eq(run(&s, threads), TXD_ERR_CONFIG);
        ck_assert_str_eq(txd_message(), "share 5");
        ck_in_order(&s, 1);
    }
}
END_TEST

TEST_MAIN(
    results_are_taken_once_in_order_one_at_a_time_and_never_overwritten_before,
    no_task_is_no_failure, the_first_failure_is_told_and_nothing_behind_it_is_taken,
    what_follows_is_made_while_a_result_is_taken,
    a_loop_within_the_taking_of_a_result_is_run_whole_by_its_own_number_of_threads,
    a_failure_in_such_a_loop_is_the_results_with_its_message)
