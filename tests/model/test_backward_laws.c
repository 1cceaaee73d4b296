/* SPDX-License-Identifier: MIT
 *
 * What holds of all gradients exactly: the mean loss, points that are one value, rows
 * of a softmax, hidden cells, padding in statistics, loss scaling; and what a run says
 * of them.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "slopes.h"
#include "suite.h"

#define SIZES                                                                          \
    "vocab = 11; d_model = 12; n_heads = 4; n_layers = 3; d_ff = 10; "                 \
    "max_seq_len = 16; "
#define LLAMA "model : { preset = \"llama\"; n_kv_heads = 2; " SIZES "};"
#define CROSS                                                                          \
    "model : { preset = \"gpt2\"; cross = true; norm_placement = \"post\"; " SIZES "}" \
    ";"

static void begin(observed *o, const char *cfg)
{
    const size_t real[2] = {4, 3};

    slopes_model(o, cfg);
    OK(observe_random(o, 2, 7));
    o->inputs.valid[0] = o->inputs.valid[12] = o->inputs.valid[13] = 0;
    txd_inputs_count_positions(&o->inputs);
    if (o->config.cross)
        OK(observe_memory(o, 4, real));
    o->backward = true;
}

/* "POINT", or "layers.N.POINT". */
static const struct observed_site *site(observed *o, int layer, const char *point)
{
    const struct observed_site *found;
    char name[96];

    if (layer < 0)
        snprintf(name, sizeof name, "%s", point);
    else
        snprintf(name, sizeof name, "layers.%d.%s", layer, point);
    found = observe_site(o, name);
    ck_assert_msg(found != NULL, "%s was not offered", name);
    ck_assert_uint_eq(found->cells, found->count);
    return found;
}

static void same(const struct observed_site *a, const struct observed_site *b)
{
    ck_assert_uint_eq(a->count, b->count);
    for (size_t i = 0; i < a->count; i++)
        ck_assert_msg(a->values[i] == b->values[i], "%s and %s differ at %zu", a->name,
                      b->name, i);
}

START_TEST(the_loss_is_a_mean_over_pairs)
{
    observed o = {0};
    const struct observed_site *loss, *d;
    size_t pairs = 0;

    begin(&o, LLAMA);
    OK(observe_pass(&o));
    loss = site(&o, -1, "loss.token");
    d = site(&o, -1, "loss.token@grad");
    for (size_t i = 0; i < 14; i++)
        pairs += !isnan(loss->values[i]);
    ck_assert_uint_eq(pairs, 9);
    for (size_t i = 0; i < 14; i++)
        ck_assert(d->values[i] == (isnan(loss->values[i]) ? 0 : 1.0 / 9));
    ck_assert_double_eq(d->stats[TXD_STAT_COUNT], 9);
    observe_finish(&o);
}
END_TEST

START_TEST(points_with_the_same_value_have_the_same_gradient)
{
    observed o = {0};

    begin(&o, CROSS);
    OK(observe_pass(&o));
    for (int l = 0; l < 3; l++) {
        same(site(&o, l, "attn.q@grad"), site(&o, l, "attn.q_proj@grad"));
        same(site(&o, l, "cross.k@grad"), site(&o, l, "cross.k_proj@grad"));
        same(site(&o, l, "attn.out@grad"), site(&o, l, "attn.branch@grad"));
        same(site(&o, l, "mlp.out@grad"), site(&o, l, "mlp.branch@grad"));
    }
    same(site(&o, 0, "norm2.out@grad"), site(&o, 1, "resid.pre@grad"));
    same(site(&o, -1, "embed.out@grad"), site(&o, 0, "resid.pre@grad"));
    same(site(&o, -1, "embed.out@grad"), site(&o, -1, "embed.tok@grad"));
    observe_finish(&o);
}
END_TEST

/* Every row of d_masked sums to 0 but for the bound of softmax_back on each of its
 * terms: gamma_{keys + 3} weight (|d_weight| + sum of weight |d_weight|). */
static void check_rows(observed *o, int layer)
{
    const double *d = site(o, layer, "attn.masked@grad")->values;
    const double *scores = site(o, layer, "attn.scores@grad")->values;
    const double *w = site(o, layer, "attn.weights")->values;
    const double *d_w = site(o, layer, "attn.weights@grad")->values;
    size_t keys = o->inputs.length, rows = site(o, layer, "attn.weights")->count / keys;

    for (size_t r = 0; r < rows; r++) {
        double sum = 0, size = 0;

        for (size_t k = r * keys; k < (r + 1) * keys; k++) {
            sum += d[k];
            size += 2 * w[k] * fabs(d_w[k]);
            if (k - r * keys > r % keys) /* the future */
                ck_assert(d[k] == 0 && scores[k] == 0);
        }
        ck_assert_msg(fabs(sum) <= (double)(keys + 4) * 0x1p-53 * size,
                      "row %zu sums to %g", r, sum);
    }
}

START_TEST(gradients_of_a_softmax_row_cancel_and_hidden_cells_have_none)
{
    observed o = {0};

    begin(&o, LLAMA);
    OK(observe_pass(&o));
    for (int l = 0; l < 3; l++)
        check_rows(&o, l);
    ck_assert_double_gt(site(&o, 2, "attn.masked@grad")->stats[TXD_STAT_RMS], 1e-6);
    observe_finish(&o);
}
END_TEST

START_TEST(statistics_leave_padding_out)
{
    observed o = {0};
    const struct observed_site *mid, *memory;
    double low = INFINITY, sum = 0, count = 0;

    begin(&o, CROSS);
    OK(observe_pass(&o));
    mid = site(&o, 1, "resid.mid@grad");
    for (size_t i = 0; i < mid->count; i++)
        if (o.inputs.valid[i / 12]) {
            count++;
            sum += mid->values[i];
            low = fmin(low, mid->values[i]);
        }
    ck_assert_double_eq(mid->stats[TXD_STAT_COUNT], count);
    ck_assert_double_eq(mid->stats[TXD_STAT_MIN], low);
    ck_assert(txd_close(mid->stats[TXD_STAT_MEAN], sum / count, 1e-12));
    memory = site(&o, -1, "input.memory@grad");
    ck_assert_double_eq(memory->stats[TXD_STAT_COUNT], 7 * 12);
    for (size_t e = 0; e < 12; e++) /* a padded row of the memory */
        ck_assert(memory->values[7 * 12 + e] == 0);
    observe_finish(&o);
}
END_TEST

START_TEST(a_loss_scale_multiplies_gradients_of_values_alone)
{
    observed plain = {0}, scaled = {0};

    begin(&plain, LLAMA);
    OK(observe_pass(&plain));
    begin(&scaled, LLAMA "precision : { loss_scale = 1024; };");
    OK(observe_pass(&scaled));
    for (size_t s = 0; s < plain.sites; s++) {
        const struct observed_site *a = &plain.site[s], *b = &scaled.site[s];
        bool point =
            strstr(a->name, "@grad") != NULL && strstr(a->name, "weight") == NULL;
        double factor = point || strstr(a->name, "weights@") != NULL ? 1024 : 1;

        ck_assert_str_eq(a->name, b->name);
        for (size_t i = 0; i < a->count; i++)
            ck_assert_msg(b->values[i] == factor * a->values[i] ||
                              (isnan(a->values[i]) && isnan(b->values[i])),
                          "%s", a->name);
    }
    observe_finish(&plain);
    observe_finish(&scaled);
}
END_TEST

/* ---- what a run says ---- */

START_TEST(a_run_gives_its_gradients_and_their_length)
{
    observed o = {0};
    double squares = 0;
    char name[96];
    txd_tensor g;

    begin(&o, LLAMA);
    OK(observe_pass(&o));
    for (size_t i = 0; i < txd_params_count(o.params); i++) {
        const txd_param *param = txd_params_at(o.params, i);
        const struct observed_site *offered;

        OK(txd_run_gradient(&g, o.run, i));
        ck_assert_int_eq(g.rank, param->value.rank);
        ck_assert_mem_eq(g.dims, param->value.dims, (size_t)g.rank * sizeof *g.dims);
        snprintf(name, sizeof name, "%s@grad", param->name);
        offered = observe_site(&o, name);
        ck_assert_msg(offered != NULL && offered->cells == txd_tensor_count(&g), "%s",
                      name);
        ck_assert_mem_eq(g.data, offered->values, offered->count * sizeof(double));
        ck_assert_double_eq(offered->stats[TXD_STAT_COUNT], (double)offered->count);
        squares += slopes_dot(g.data, g.data, offered->count);
    }
    ck_assert(txd_close(txd_run_gradient_norm(o.run), sqrt(squares), 1e-13));
    ck_assert_int_eq(txd_run_gradient(&g, o.run, txd_params_count(o.params)),
                     TXD_ERR_MISSING);
    observe_finish(&o);
}
END_TEST

START_TEST(a_run_forgets_the_gradients_of_the_pass_before)
{
    observed o = {0}, other = {0};
    txd_tensor g;
    double norm, first;

    begin(&o, CROSS);
    begin(&other, CROSS);
    o.only = "nothing";
    OK(observe_random(&other, 1, 3));
    OK(observe_memory(&other, 5, NULL));
    OK(observe_pass(&o));
    norm = txd_run_gradient_norm(o.run);
    OK(txd_run_gradient(&g, o.run, 0));
    first = *(double *)g.data;
    OK(txd_run_pass(o.run, &o.inputs, 1));
    ck_assert_double_eq(txd_run_gradient_norm(o.run), norm);
    OK(txd_run_pass(o.run, &other.inputs, 2));
    ck_assert_double_ne(txd_run_gradient_norm(o.run), norm);
    OK(txd_run_pass(o.run, &o.inputs, 3));
    ck_assert_double_eq(txd_run_gradient_norm(o.run), norm);
    OK(txd_run_gradient(&g, o.run, 0));
    ck_assert_double_eq(*(double *)g.data, first);
    observe_finish(&o);
    observe_finish(&other);
}
END_TEST

struct calls {
    size_t count, stop_at, done[8];
};

static int count_calls(void *self, int step, size_t done, size_t total)
{
    struct calls *calls = self;

    ck_assert_int_eq(step, 4);
    ck_assert_uint_eq(total, 6);
    calls->done[calls->count++] = done;
    return calls->count == calls->stop_at;
}

START_TEST(layers_of_the_way_back_are_progress_and_can_be_interrupted)
{
    struct calls calls = {0};
    observed o = {0};
    txd_run_options options = {
        .backward = true, .progress = count_calls, .progress_self = &calls};
    txd_run *run;

    begin(&o, LLAMA);
    options.claimed = &o.config;
    OK(txd_run_create(&run, o.model, &options));
    OK(txd_run_pass(run, &o.inputs, 4));
    ck_assert_uint_eq(calls.count, 6);
    for (size_t i = 0; i < 6; i++)
        ck_assert_uint_eq(calls.done[i], i + 1);
    calls.count = 0;
    calls.stop_at = 5;
    ck_assert_int_eq(txd_run_pass(run, &o.inputs, 4), TXD_ERR_INTERRUPTED);
    ck_assert_str_eq(txd_message(), "interrupted at layer 1, on the way back");
    txd_run_destroy(run);
    observe_finish(&o);
}
END_TEST

START_TEST(without_a_backward_half_there_is_no_gradient)
{
    observed o = {0};
    txd_tensor g;

    begin(&o, LLAMA);
    o.backward = false;
    OK(observe_pass(&o));
    ck_assert_ptr_null(observe_site(&o, "layers.0.attn.q@grad"));
    ck_assert_ptr_null(observe_site(&o, "embed.tok.weight@grad"));
    ck_assert(isnan(txd_run_gradient_norm(o.run)));
    ck_assert_int_eq(txd_run_gradient(&g, o.run, 0), TXD_ERR_MISSING);
    observe_finish(&o);
}
END_TEST

START_TEST(without_a_pair_every_gradient_is_zero)
{
    observed o = {0};

    slopes_model(&o, LLAMA);
    OK(observe_random(&o, 2, 1));
    o.backward = true;
    OK(observe_pass(&o));
    ck_assert(isnan(txd_run_loss(o.run)));
    ck_assert(txd_run_gradient_norm(o.run) == 0);
    observe_finish(&o);
}
END_TEST

TEST_MAIN(the_loss_is_a_mean_over_pairs,
          points_with_the_same_value_have_the_same_gradient,
          gradients_of_a_softmax_row_cancel_and_hidden_cells_have_none,
          statistics_leave_padding_out,
          a_loss_scale_multiplies_gradients_of_values_alone,
          a_run_gives_its_gradients_and_their_length,
          a_run_forgets_the_gradients_of_the_pass_before,
          layers_of_the_way_back_are_progress_and_can_be_interrupted,
          without_a_backward_half_there_is_no_gradient,
          without_a_pair_every_gradient_is_zero)
