/* SPDX-License-Identifier: MIT
 *
 * What is measured for taps: the same whoever else asks, once where that is enough, and
 * nothing at all when nobody listens.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "model/run_private.h"
#include "observe.h"
#include "ops/ref.h"
#include "steered.h"
#include "suite.h"

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

/* Statistics of queries before they are turned, and after: `stats` has both. */
struct queries {
    bool after;
    double stats[2][TXD_STAT_COUNT_OF];
};

static unsigned ask_queries(void *self, const txd_site *site)
{
    const struct queries *q = self;
    bool before = site->point == TXD_POINT_ATTN_Q_PROJ;

    return site->kind == TXD_SITE_VALUE && site->layer == 1 &&
                   (before || (q->after && site->point == TXD_POINT_ATTN_Q))
               ? TXD_ASK_STATS
               : 0;
}

static txd_status keep_queries(void *self, const txd_block *block, const void *slot)
{
    struct queries *q = self;

    (void)slot;
    memcpy(q->stats[block->site->point == TXD_POINT_ATTN_Q], block->stats,
           sizeof q->stats[0]);
    return TXD_OK;
}

static void ck_repeated(const char *positions, bool turns)
{
    struct queries q[2] = {{.after = false}, {.after = true}};
    size_t work[2];

    for (int i = 0; i < 2; i++) {
        observed o = {0};
        char cfg[300];
        txd_tap tap = {
            .name = "q", .self = &q[i], .ask = ask_queries, .merge = keep_queries};

        snprintf(cfg, sizeof cfg,
                 "model : { preset = \"mini\"; positions = \"%s\"; n_layers = 2; "
                 "d_model = 24; n_heads = 3; vocab = 50; max_seq_len = 30; };",
                 positions);
        OK(observe_cfg(&o, cfg, "ref64"));
        OK(observe_random(&o, 2, 20));
        OK(observe_rebind(&o));
        work[i] = observing_work(&o, &tap);
        observe_finish(&o);
    }
    ck_assert(work[0] > 0 && work[1] == (turns ? 2 * work[0] : work[0]));
    ck_assert(memcmp(q[0].stats[0], q[1].stats[0], sizeof q[0].stats[0]) == 0);
    ck_assert(q[1].stats[1][TXD_STAT_COUNT] == 2 * 20 * 24);
    ck_assert(turns || memcmp(q[1].stats[0], q[1].stats[1], sizeof q[1].stats[0]) == 0);
    ck_assert(!turns || q[1].stats[0][TXD_STAT_MAX] != q[1].stats[1][TXD_STAT_MAX]);
}

START_TEST(what_repeats_a_value_is_not_counted_again)
{
    ck_repeated("learned", false);
    ck_repeated("rotary", true);
}
END_TEST

START_TEST(statistics_are_those_of_their_own_pass)
{
    struct queries q = {.after = true};
    observed o = {0};
    txd_tap tap = {.name = "q", .self = &q, .ask = ask_queries, .merge = keep_queries};
    txd_tap *taps[1] = {&tap};
    txd_run_options options = {.claimed = &o.config, .taps = taps, .tap_count = 1};
    double first[TXD_STAT_COUNT_OF];

    prepare(&o, 5);
    OK(txd_run_create(&o.run, o.model, &options));
    OK(txd_run_pass(o.run, &o.inputs, 0));
    memcpy(first, q.stats[1], sizeof first);
    o.inputs.tokens[3] = !o.inputs.tokens[3];
    OK(txd_run_pass(o.run, &o.inputs, 1));
    ck_assert(first[TXD_STAT_MEAN] != q.stats[1][TXD_STAT_MEAN]);
    observe_finish(&o);
}
END_TEST

TEST_MAIN(a_tap_that_asks_what_is_finite_is_told_the_counts_of_the_statistics,
          statistics_do_not_depend_on_who_asks_for_rows,
          without_listeners_nothing_is_done_for_them,
          what_repeats_a_value_is_not_counted_again,
          statistics_are_those_of_their_own_pass)
