/* SPDX-License-Identifier: MIT
 *
 * Taps: asked before anything is formed, offered exactly what they asked for, stopped
 * when they fail. What is measured for them: test_tap_measures.c.
 */
#include <math.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "model/run_private.h"
#include "observe.h"
#include "ops/ref.h"
#include "steered.h"
#include "suite.h"

START_TEST(a_tap_is_asked_about_every_site_and_given_only_what_it_asked_for)
{
    observed o = {0};
    struct probe p = {.point = TXD_POINT_MLP_ACT,
                      .layer = 1,
                      .bits = TXD_ASK_VALUE,
                      .need = TXD_POINT_COUNT};
    txd_tap tap = {.name = "p", .self = &p, .ask = steered_ask, .merge = steered_merge};
    txd_stop *order;
    size_t stops;

    prepare(&o, 5);
    OK(pass_with(&o, &tap, 0));
    OK(txd_points_order(&order, &stops, o.arena, &o.config));
    ck_assert_uint_eq(p.asked, stops);
    ck_assert_uint_eq(p.merges, 1);
    ck_assert_uint_eq(p.lasts, 1);
    observe_finish(&o);
}
END_TEST

START_TEST(tiles_come_in_order_and_the_last_one_says_so)
{
    observed o = {0};
    struct probe p = {.point = TXD_POINT_ATTN_WEIGHTS,
                      .layer = 0,
                      .bits = TXD_ASK_VALUE,
                      .need = TXD_POINT_COUNT};
    txd_tap tap = {.name = "p", .self = &p, .ask = steered_ask, .merge = steered_merge};

    prepare(&o, 5);
    OK(pass_with(&o, &tap, 0));
    ck_assert_uint_eq(p.merges, (size_t)2 * 4);
    ck_assert_uint_eq(p.lasts, 1);
    observe_finish(&o);
}
END_TEST

START_TEST(a_failing_tap_stops_the_run_with_its_status)
{
    observed o = {0};
    struct probe p = {.point = TXD_POINT_ATTN_WEIGHTS,
                      .layer = 0,
                      .factor = 1,
                      .bits = TXD_ASK_VALUE,
                      .need = TXD_POINT_COUNT,
                      .answer = TXD_ERR_IO};
    txd_tap tap = {.name = "p", .self = &p, .ask = steered_ask, .merge = steered_merge};

    prepare(&o, 5);
    ck_assert_int_eq(pass_with(&o, &tap, 0), TXD_ERR_IO);
    ck_assert_uint_eq(p.merges, 1);
    ck_assert_ptr_null(observe_site(&o, "logits"));
    observe_finish(&o);
}
END_TEST

/* ---- taps that have nothing to do with one another ---- */

/* Meets another tap in its merge: at the embedding each waits for the other. */
struct meeting {
    atomic_int *arrived;
    size_t merges;
    bool met;
};

static unsigned ask_embedding(void *self, const txd_site *site)
{
    (void)self;
    return site->point == TXD_POINT_EMBED_OUT ? TXD_ASK_VALUE : 0;
}

static txd_status meet(void *self, const txd_block *block, const void *slot)
{
    struct meeting *m = self;
    time_t begin = time(NULL);

    (void)block;
    (void)slot;
    m->merges++;
    atomic_fetch_add(m->arrived, 1);
    while (atomic_load(m->arrived) < 2 && time(NULL) - begin < 20)
        sched_yield();
    m->met = atomic_load(m->arrived) == 2;
    return txd_fail(TXD_ERR_IO, "%0600d", 7);
}

START_TEST(independent_taps_see_a_whole_value_at_the_same_time)
{
    observed o = {0};
    atomic_int arrived = 0;
    struct meeting m[2] = {{&arrived, 0, false}, {&arrived, 0, false}};
    txd_tap tap[2];
    txd_tap *taps[2] = {&tap[0], &tap[1]};
    txd_run_options options = {
        .claimed = &o.config, .taps = taps, .tap_count = 2, .threads = 2};

    for (int i = 0; i < 2; i++)
        tap[i] = (txd_tap){.name = "meeting",
                           .self = &m[i],
                           .ask = ask_embedding,
                           .merge = meet,
                           .independent = true};
    OK(observe_cfg(&o,
                   "model : { preset = \"mini\"; n_layers = 1; d_model = 256; n_heads "
                   "= 4; vocab = 50; "
                   "max_seq_len = 1024; };",
                   "cpu32"));
    OK(observe_random(&o, 1, 1024));
    OK(txd_run_create(&o.run, o.model, &options));
    ck_assert_int_eq(txd_run_pass(o.run, &o.inputs, 0), TXD_ERR_IO);
    ck_assert_uint_eq(strlen(txd_message()), 600);
    for (int i = 0; i < 2; i++) {
        ck_assert_uint_eq(m[i].merges, 1);
        ck_assert(m[i].met);
    }
    observe_finish(&o);
}
END_TEST

static int stop_at_once(void *self, int step, size_t done, size_t total)
{
    (void)step;
    (void)total;
    *(size_t *)self = done;
    return 1;
}

START_TEST(a_pass_stops_between_layers_when_it_is_told_to)
{
    observed o = {0};
    size_t done = 0;
    txd_run_options options = {
        .claimed = &o.config, .progress = stop_at_once, .progress_self = &done};

    prepare(&o, 5);
    OK(txd_run_create(&o.run, o.model, &options));
    ck_assert_int_eq(txd_run_pass(o.run, &o.inputs, 0), TXD_ERR_INTERRUPTED);
    ck_assert_uint_eq(done, 1);
    observe_finish(&o);
}
END_TEST

START_TEST(the_measured_bytes_are_those_that_a_run_takes)
{
    observed o = {0};
    txd_run_options options = {.claimed = &o.config};
    size_t small, large;

    prepare(&o, 40);
    OK(txd_run_bytes(&small, o.model, &options, &(txd_extent){2, 40, 0, 0}));
    OK(txd_run_bytes(&large, o.model, &options, &(txd_extent){2, 400, 0, 0}));
    OK(txd_run_create(&o.run, o.model, &options));
    OK(txd_run_pass(o.run, &o.inputs, 0));
    ck_assert_uint_eq(
        o.run->memory_bytes + o.run->host_bytes + txd_arena_peak(o.run->arena), small);
    ck_assert_uint_gt(large, small);
    observe_finish(&o);
}
END_TEST

TEST_MAIN(a_tap_is_asked_about_every_site_and_given_only_what_it_asked_for,
          tiles_come_in_order_and_the_last_one_says_so,
          independent_taps_see_a_whole_value_at_the_same_time,
          a_failing_tap_stops_the_run_with_its_status,
          a_pass_stops_between_layers_when_it_is_told_to,
          the_measured_bytes_are_those_that_a_run_takes)
