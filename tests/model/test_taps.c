/* SPDX-License-Identifier: MIT
 *
 * Taps: asked before anything is formed, offered exactly what they asked for, edits
 * before reads, the same bits when whole matrices are formed; and no work at all when
 * nobody listens.
 */
#include <math.h>
#include <string.h>

#include "model/run_private.h"
#include "observe.h"
#include "ops/ref.h"
#include "suite.h"

#define OK(call) ck_assert_msg((call) == TXD_OK, "%s", txd_message())

#define CFG                                                                            \
    "model : { preset = \"llama\"; vocab = 17; d_model = 24; n_heads = 4; "            \
    "n_kv_heads = 2; n_layers = 2; d_ff = 40; };"

/* A tap that the tests steer. */
struct probe {
    txd_point point;
    int layer;
    unsigned bits;
    txd_point need; /* read in edit or merge; TXD_POINT_COUNT = none */
    size_t asked, edits, merges, lasts;
    bool edited_before_read;
    txd_status answer;
    double factor; /* edit multiplies by it */
    double need_sum;
};

static unsigned ask(void *self, const txd_site *site)
{
    struct probe *p = self;
    bool here = site->kind == TXD_SITE_VALUE && site->point == p->point &&
                site->layer == p->layer;

    p->asked++;
    return here ? p->bits : 0;
}

static double sum_of(const txd_tensor *t)
{
    double sum = 0;

    for (size_t i = 0; i < txd_tensor_count(t); i++)
        sum += txd_tensor_get(t, i);
    return sum;
}

static txd_status edit(void *self, txd_block *block)
{
    struct probe *p = self;
    txd_tensor need;

    p->edits++;
    for (size_t i = 0; i < txd_tensor_count(&block->value); i++)
        ((double *)block->value.data)[i] *= p->factor;
    if (p->need != TXD_POINT_COUNT) {
        TXD_TRY(txd_block_earlier(&need, block, p->need));
        p->need_sum = sum_of(&need);
    }
    return p->answer;
}

static txd_status merge(void *self, const txd_block *block, const void *slot)
{
    struct probe *p = self;

    ck_assert_ptr_null(slot);
    p->merges++;
    p->lasts += block->last;
    p->edited_before_read = p->edits > 0;
    return p->answer;
}

/* A pass of `o` with these taps after its own; ref64. */
static txd_status pass_with(observed *o, txd_tap *tap, size_t form_limit)
{
    txd_tap *taps[2] = {tap, &o->tap};
    txd_run_options options = {
        .claimed = &o->config, .taps = taps, .tap_count = 2, .form_limit = form_limit};
    txd_status status;

    o->sites = 0;
    memset(o->site, 0, OBSERVE_SITES * sizeof *o->site);
    txd_run_destroy(o->run);
    o->run = NULL;
    OK(txd_run_create(&o->run, o->model, &options));
    status = txd_run_forward(o->run, &o->inputs, 0);
    return status;
}

static void prepare(observed *o, size_t length)
{
    OK(observe_cfg(o, CFG, "ref64"));
    OK(observe_random(o, 2, length));
}

START_TEST(a_tap_is_asked_about_every_site_and_given_only_what_it_asked_for)
{
    observed o = {0};
    struct probe p = {.point = TXD_POINT_MLP_ACT,
                      .layer = 1,
                      .bits = TXD_ASK_VALUE,
                      .need = TXD_POINT_COUNT};
    txd_tap tap = {.name = "p", .self = &p, .ask = ask, .merge = merge};
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
    txd_tap tap = {.name = "p", .self = &p, .ask = ask, .merge = merge};

    prepare(&o, 5);
    OK(pass_with(&o, &tap, 0));
    ck_assert_uint_eq(p.merges, (size_t)2 * 4);
    ck_assert_uint_eq(p.lasts, 1);
    observe_finish(&o);
}
END_TEST

START_TEST(an_edit_runs_before_every_read_and_changes_what_follows)
{
    observed plain = {0}, edited = {0};
    struct probe p = {.point = TXD_POINT_ATTN_OUT,
                      .layer = 0,
                      .factor = 2,
                      .bits = TXD_ASK_EDIT | TXD_ASK_VALUE,
                      .need = TXD_POINT_COUNT};
    txd_tap tap = {.name = "p", .self = &p, .ask = ask, .edit = edit, .merge = merge};
    const double *before, *after, *mid, *pre;

    prepare(&plain, 5);
    OK(observe_pass(&plain));
    prepare(&edited, 5);
    OK(pass_with(&edited, &tap, 0));
    ck_assert(p.edited_before_read);
    before = observe_site(&plain, "layers.0.attn.out")->values;
    after = observe_site(&edited, "layers.0.attn.out")->values;
    mid = observe_site(&edited, "layers.0.resid.mid")->values;
    pre = observe_site(&edited, "layers.0.resid.pre")->values;
    for (size_t i = 0; i < (size_t)2 * 5 * 24; i++) {
        ck_assert(after[i] == 2 * before[i]);
        ck_assert(mid[i] == pre[i] + after[i]);
    }
    observe_finish(&plain);
    observe_finish(&edited);
}
END_TEST

START_TEST(an_edit_of_the_branch_leaves_the_output_before_it_alone)
{
    observed o = {0};
    struct probe p = {.point = TXD_POINT_ATTN_BRANCH,
                      .layer = 1,
                      .factor = 3,
                      .bits = TXD_ASK_EDIT,
                      .need = TXD_POINT_ATTN_OUT};
    txd_tap tap = {.name = "p", .self = &p, .ask = ask, .edit = edit};
    const struct observed_site *out, *branch;
    double sum = 0;

    prepare(&o, 5);
    OK(pass_with(&o, &tap, 0));
    out = observe_site(&o, "layers.1.attn.out");
    branch = observe_site(&o, "layers.1.attn.branch");
    for (size_t i = 0; i < out->count; i++) {
        ck_assert(branch->values[i] == 3 * out->values[i]);
        sum += out->values[i];
    }
    ck_assert(txd_close(p.need_sum, sum, 1e-12));
    observe_finish(&o);
}
END_TEST

static void forming_keeps_the_bits(txd_point point)
{
    observed plain = {0}, formed = {0};
    struct probe p = {.point = point,
                      .layer = 1,
                      .factor = 1,
                      .bits = TXD_ASK_EDIT,
                      .need = TXD_POINT_COUNT};
    txd_tap tap = {.name = "p", .self = &p, .ask = ask, .edit = edit};

    prepare(&plain, 300);
    OK(observe_pass(&plain));
    prepare(&formed, 300);
    OK(pass_with(&formed, &tap, 0));
    ck_assert_uint_eq(p.edits, 1);
    for (size_t i = 0; i < plain.sites; i++) {
        struct observed_site *a = &plain.site[i];
        struct observed_site *b = observe_site(&formed, a->name);

        ck_assert_msg(memcmp(a->values, b->values, a->count * sizeof(double)) == 0,
                      "%s differs", a->name);
    }
    observe_finish(&plain);
    observe_finish(&formed);
}

START_TEST(an_edit_that_changes_nothing_changes_no_bit)
{
    forming_keeps_the_bits(TXD_POINT_ATTN_SCORES);
    forming_keeps_the_bits(TXD_POINT_ATTN_WEIGHTS);
}
END_TEST

START_TEST(an_edit_of_weights_shows_in_rows_and_in_what_is_summed)
{
    observed plain = {0}, edited = {0};
    struct probe p = {.point = TXD_POINT_ATTN_WEIGHTS,
                      .layer = 0,
                      .factor = 0.5,
                      .bits = TXD_ASK_EDIT,
                      .need = TXD_POINT_ATTN_V};
    txd_tap tap = {.name = "p", .self = &p, .ask = ask, .edit = edit};
    const struct observed_site *heads, *half;

    prepare(&plain, 7);
    OK(observe_pass(&plain));
    prepare(&edited, 7);
    OK(pass_with(&edited, &tap, 0));
    heads = observe_site(&plain, "layers.0.attn.heads");
    half = observe_site(&edited, "layers.0.attn.heads");
    for (size_t i = 0; i < heads->count; i++)
        ck_assert(txd_close(half->values[i], heads->values[i] / 2, 1e-15));
    ck_assert(txd_close(
        observe_site(&edited, "layers.0.attn.weights")->rows[TXD_ROW_SUM], 0.5, 1e-15));
    observe_finish(&plain);
    observe_finish(&edited);
}
END_TEST

START_TEST(forming_whole_matrices_stops_at_the_byte_limit)
{
    observed o = {0};
    struct probe p = {.point = TXD_POINT_ATTN_SCORES,
                      .layer = 0,
                      .factor = 1,
                      .bits = TXD_ASK_EDIT,
                      .need = TXD_POINT_COUNT};
    txd_tap tap = {.name = "p", .self = &p, .ask = ask, .edit = edit};

    prepare(&o, 20);
    ck_assert_int_eq(pass_with(&o, &tap, 3 * 2 * 4 * 20 * 20 * 8 - 1), TXD_ERR_LIMIT);
    ck_assert_uint_eq(p.edits, 0);
    OK(pass_with(&o, &tap, 3 * 2 * 4 * 20 * 20 * 8));
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
    txd_tap tap = {.name = "p", .self = &p, .ask = ask, .merge = merge};

    prepare(&o, 5);
    ck_assert_int_eq(pass_with(&o, &tap, 0), TXD_ERR_IO);
    ck_assert_uint_eq(p.merges, 1);
    ck_assert_ptr_null(observe_site(&o, "logits"));
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
    ck_assert_int_eq(txd_run_forward(o.run, &o.inputs, 0), TXD_ERR_INTERRUPTED);
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
    OK(txd_model_create(&model, &counting, &o->config, o->params));
    OK(txd_run_create(&run, model, &options));
    OK(txd_run_forward(run, &o->inputs, 0));
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
    txd_tap tap = {.name = "p", .self = &p, .ask = ask, .merge = merge};

    prepare(&o, 5);
    ck_assert_uint_eq(observing_work(&o, NULL), 0);
    ck_assert_uint_eq(observing_work(&o, &tap), 0);
    p.bits = TXD_ASK_ROWS | TXD_ASK_STATS;
    ck_assert_uint_eq(observing_work(&o, &tap), (size_t)2 * 2 * 4);
    observe_finish(&o);
}
END_TEST

START_TEST(the_measured_bytes_are_those_that_a_run_takes)
{
    observed o = {0};
    txd_run_options options = {.claimed = &o.config};
    size_t small, large;

    prepare(&o, 40);
    OK(txd_run_bytes(&small, o.model, &options, 2, 40));
    OK(txd_run_bytes(&large, o.model, &options, 2, 400));
    OK(txd_run_create(&o.run, o.model, &options));
    OK(txd_run_forward(o.run, &o.inputs, 0));
    ck_assert_uint_eq(o.run->memory_bytes + txd_arena_peak(o.run->arena), small);
    ck_assert_uint_gt(large, small);
    observe_finish(&o);
}
END_TEST

TEST_MAIN(a_tap_is_asked_about_every_site_and_given_only_what_it_asked_for,
          tiles_come_in_order_and_the_last_one_says_so,
          an_edit_runs_before_every_read_and_changes_what_follows,
          an_edit_of_the_branch_leaves_the_output_before_it_alone,
          an_edit_that_changes_nothing_changes_no_bit,
          an_edit_of_weights_shows_in_rows_and_in_what_is_summed,
          forming_whole_matrices_stops_at_the_byte_limit,
          a_failing_tap_stops_the_run_with_its_status,
          a_pass_stops_between_layers_when_it_is_told_to,
          without_listeners_nothing_is_done_for_them,
          the_measured_bytes_are_those_that_a_run_takes)
