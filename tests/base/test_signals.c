/* SPDX-License-Identifier: MIT
 *
 * Signals that wait.
 */
#include "suite.h"

#include <signal.h>

#include "base/signals.h"

static volatile sig_atomic_t arrived;

static void count(int number)
{
    (void)number;
    arrived = arrived + 1;
}

static void watch(int number)
{
    struct sigaction action = {0};

    sigemptyset(&action.sa_mask);
    action.sa_handler = count;
    ck_assert_int_eq(sigaction(number, &action, NULL), 0);
}

START_TEST(what_is_held_arrives_after_the_release)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};

    for (int i = 0; i < 3; i++) {
        txd_signals signals;

        watch(numbers[i]);
        arrived = 0;
        txd_signals_hold(&signals);
        ck_assert(!txd_signals_waiting());
        raise(numbers[i]);
        ck_assert_int_eq(arrived, 0);
        ck_assert(txd_signals_waiting());
        txd_signals_release(&signals);
        ck_assert_int_eq(arrived, 1);
        ck_assert(!txd_signals_waiting());
    }
}
END_TEST

START_TEST(the_outermost_release_counts)
{
    txd_signals outer, inner;

    watch(SIGTERM);
    arrived = 0;
    txd_signals_hold(&outer);
    txd_signals_hold(&inner);
    raise(SIGTERM);
    txd_signals_release(&inner);
    ck_assert_int_eq(arrived, 0);
    txd_signals_release(&outer);
    ck_assert_int_eq(arrived, 1);
}
END_TEST

TEST_MAIN(what_is_held_arrives_after_the_release, the_outermost_release_counts)
