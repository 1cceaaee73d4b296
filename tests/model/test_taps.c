/* SPDX-License-Identifier: MIT
 *
 * Taps: asked before anything is formed, offered exactly what they asked for, stopped
 * when they fail; and no work at all when nobody listens.
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

/* ---- what is finite ---- */

/* Compares the statistics of every site with those that another tap was told. */
struct measures {
    unsigned asks;
    size_t count;
    double stats[256][TXD_STAT_COUNT_OF];
};

static unsigned ask_measures(void *self, const txd_site *site)
{
    const struct measures *m = self;
    bool weights =
        site->kind == TXD_SITE_VALUE && site->point == TXD_POINT_ATTN_WEIGHTS;

    return !txd_site_is_parameter(site->kind) &&
                   txd_point_get(site->point)->place == TXD_PLACE_INPUT
               ? 0
               : (weights ? m->asks : m->asks & ~(unsigned)TXD_ASK_ROWS);
}

static txd_status keep_measures(void *self, const txd_block *block, const void *slot)
{
    struct measures *m = self;

    (void)slot;
    ck_assert_uint_lt(m->count, 256);
    if (block->last)
        memcpy(m->stats[m->count++], block->stats, sizeof m->stats[0]);
    return TXD_OK;
}

static struct measures measured(unsigned asks, const char *backend, bool poisoned)
{
    struct measures m = {.asks = asks};
    observed o = {0};
    txd_tap tap = {.name = "measures",
                   .self = &m,
                   .gradients = true,
                   .ask = ask_measures,
                   .merge = keep_measures};
    txd_tap *taps[1] = {&tap};
    txd_run_options options = {
        .claimed = &o.config, .taps = taps, .tap_count = 1, .backward = true};

    OK(observe_cfg(
        &o,
        "model : { preset = \"mini\"; n_layers = 2; d_model = 24; n_heads = 3; "
        "vocab = 50; max_seq_len = 300; };",
        backend));
    OK(observe_random(&o, 2, 150));
    o.inputs.valid[7] = 0;
    if (poisoned)
        ((float *)txd_params_find(o.params, "layers.1.norm1.weight")->value.data)[5] =
            NAN;
    OK(observe_rebind(&o));
    OK(txd_run_create(&o.run, o.model, &options));
    OK(txd_run_pass(o.run, &o.inputs, 0));
    observe_finish(&o);
    return m;
}

START_TEST(a_tap_that_asks_what_is_finite_is_told_the_counts_of_the_statistics)
{
    static const txd_stat same[] = {TXD_STAT_COUNT, TXD_STAT_NONFINITE, TXD_STAT_FIRST};
    static const char *const backends[] = {"cpu32", "ref64", "bf16"};

    for (int i = 0; i < 6; i++) {
        bool poisoned = i % 2 == 1;
        struct measures stats = measured(TXD_ASK_STATS, backends[i / 2], poisoned);
        struct measures finite = measured(TXD_ASK_FINITE, backends[i / 2], poisoned);
        size_t wrong = 0;

        ck_assert_uint_eq(stats.count, finite.count);
        for (size_t s = 0; s < stats.count; s++) {
            wrong += stats.stats[s][TXD_STAT_NONFINITE] > 0;
            for (size_t j = 0; j < sizeof same / sizeof *same; j++)
                ck_assert_double_eq(stats.stats[s][same[j]], finite.stats[s][same[j]]);
        }
        ck_assert((wrong > 10) == poisoned);
    }
}
END_TEST

START_TEST(statistics_do_not_depend_on_who_asks_for_rows)
{
    static const char *const backends[] = {"cpu32", "ref64", "bf16"};

    for (int i = 0; i < 6; i++) {
        bool poisoned = i % 2 == 1;
        struct measures alone = measured(TXD_ASK_STATS, backends[i / 2], poisoned),
                        both = measured(TXD_ASK_STATS | TXD_ASK_ROWS, backends[i / 2],
                                        poisoned);

        ck_assert_uint_eq(alone.count, both.count);
        ck_assert(memcmp(alone.stats, both.stats, alone.count * sizeof *alone.stats) ==
                  0);
    }
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

/* Counts the operations that exist only for observers. */
static size_t observing;

static txd_status counted_rows(txd_ctx *ctx, const struct txd_rows_args *args)
{
    observing++;
    return txd_ref64_rows(ctx, args);
}

static txd_status counted_stats(txd_ctx *ctx, const struct txd_stats_args *args)
{
    observing++;
    return txd_ref64_stats(ctx, args);
}

static size_t observing_work(observed *o, txd_tap *tap)
{
    txd_tap *taps[1] = {tap};
    txd_backend counting = *o->model->backend;
    txd_run_options options = {.claimed = &o->config,
                               .taps = taps,
                               .threads = 1,
                               .tap_count = tap == NULL ? 0 : 1};
    txd_model *model;
    txd_run *run;

    counting.ops.rows = counted_rows;
    counting.ops.stats = counted_stats;
    observing = 0;
    OK(txd_model_create(&model, &counting, &o->config, o->params, 1));
    OK(txd_run_create(&run, model, &options));
    OK(txd_run_pass(run, &o->inputs, 0));
    txd_run_destroy(run);
    txd_model_destroy(model);
    return observing;
}

START_TEST(without_listeners_nothing_is_done_for_them)
{
    observed o = {0};
    struct probe p = {.point = TXD_POINT_ATTN_WEIGHTS,
                      .layer = 0,
                      .bits = 0,
                      .need = TXD_POINT_COUNT};
    txd_tap tap = {.name = "p", .self = &p, .ask = steered_ask, .merge = steered_merge};

    prepare(&o, 5);
    ck_assert_uint_eq(observing_work(&o, NULL), 0);
    ck_assert_uint_eq(observing_work(&o, &tap), 0);
    p.bits = TXD_ASK_ROWS | TXD_ASK_STATS;
    ck_assert_uint_eq(observing_work(&o, &tap), (size_t)2 * 4); /* at one go */
    p.bits = TXD_ASK_STATS;
    ck_assert_uint_eq(observing_work(&o, &tap), (size_t)2 * 4);
    observe_finish(&o);
}
END_TEST

START_TEST(the_measured_bytes_are_those_that_a_run_takes)
{
    observed o = {0};
    txd_run_options options = {.claimed = &o.config};
    size_t small, large;

    prepare(&o, 40);
    OK(txd_run_bytes(&small, o.model, &options, &(txd_extent){2, 40, 0}));
    OK(txd_run_bytes(&large, o.model, &options, &(txd_extent){2, 400, 0}));
    OK(txd_run_create(&o.run, o.model, &options));
    OK(txd_run_pass(o.run, &o.inputs, 0));
    ck_assert_uint_eq(o.run->memory_bytes + txd_arena_peak(o.run->arena), small);
    ck_assert_uint_gt(large, small);
    observe_finish(&o);
}
END_TEST

TEST_MAIN(a_tap_is_asked_about_every_site_and_given_only_what_it_asked_for,
          tiles_come_in_order_and_the_last_one_says_so,
          independent_taps_see_a_whole_value_at_the_same_time,
          a_tap_that_asks_what_is_finite_is_told_the_counts_of_the_statistics,
          statistics_do_not_depend_on_who_asks_for_rows,
          a_failing_tap_stops_the_run_with_its_status,
          a_pass_stops_between_layers_when_it_is_told_to,
          without_listeners_nothing_is_done_for_them,
          the_measured_bytes_are_those_that_a_run_takes)
