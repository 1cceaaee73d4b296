/* SPDX-License-Identifier: MIT
 *
 * Masks as data: padding, documents, windows, rows that see nothing; hidden keys that
 * are computed for the laws but never multiplied; what row statistics say of it all.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "observe.h"
#include "on.h"
#include "suite.h"

#define BASE                                                                           \
    "vocab = 17; d_model = 24; n_heads = 4; n_layers = 3; d_ff = 40; "                 \
    "max_seq_len = 64; "

static void run_random(observed *o, const char *cfg, const char *backend, size_t batch,
                       size_t length)
{
    OK(observe_cfg(o, cfg, backend));
    OK(observe_random(o, batch, length));
    OK(observe_pass(o));
}

static const double *values(observed *o, const char *site)
{
    struct observed_site *s = observe_site(o, site);

    ck_assert_msg(s != NULL, "%s was not offered", site);
    return s->values;
}

START_TEST(left_padding_changes_nothing_but_the_place)
{
    const char *cfg = "model : { preset = \"gpt2\"; " BASE "};";
    observed alone = {0}, padded = {0};
    const double *a, *b;

    run_random(&alone, cfg, "ref64", 1, 7);
    OK(observe_cfg(&padded, cfg, "ref64"));
    OK(txd_inputs_make(&padded.inputs, padded.arena, 1, 10));
    for (size_t t = 0; t < 10; t++) {
        padded.inputs.valid[t] = t >= 3;
        padded.inputs.tokens[t] = t >= 3 ? alone.inputs.tokens[t - 3] : 0;
    }
    txd_inputs_count_positions(&padded.inputs);
    OK(observe_pass(&padded));
    a = values(&alone, "logits");
    b = values(&padded, "logits") + (ptrdiff_t)3 * 17;
    for (size_t i = 0; i < 7 * 17; i++)
        ck_assert(txd_close(b[i], a[i], 1e-13));
    ck_assert(txd_close(txd_run_loss(padded.run), txd_run_loss(alone.run), 1e-13));
    observe_finish(&alone);
    observe_finish(&padded);
}
END_TEST

START_TEST(documents_side_by_side_do_not_see_each_other)
{
    const char *cfg = "model : { preset = \"llama\"; " BASE "n_kv_heads = 2; };";
    observed alone = {0}, packed = {0};
    const double *a, *b;

    run_random(&alone, cfg, "ref64", 1, 6);
    OK(observe_cfg(&packed, cfg, "ref64"));
    OK(observe_random(&packed, 1, 10));
    for (size_t t = 4; t < 10; t++) {
        packed.inputs.document[t] = 1;
        packed.inputs.positions[t] = (int32_t)t - 4;
        packed.inputs.tokens[t] = alone.inputs.tokens[t - 4];
    }
    OK(observe_pass(&packed));
    a = values(&alone, "logits");
    b = values(&packed, "logits") + (ptrdiff_t)4 * 17;
    for (size_t i = 0; i < 6 * 17; i++)
        ck_assert(txd_close(b[i], a[i], 1e-13));
    observe_finish(&alone);
    observe_finish(&packed);
}
END_TEST

START_TEST(a_window_of_3_shows_three_keys_the_query_included)
{
    observed o = {0};
    const double *w;

    run_random(&o, "model : { preset = \"mini\"; " BASE "}; mask : { window = 3; };",
               "ref64", 1, 9);
    w = values(&o, "layers.2.attn.weights");
    for (size_t q = 0; q < 9; q++)
        for (size_t k = 0; k < 9; k++)
            ck_assert_int_eq(w[q * 9 + k] != 0, k <= q && q - k < 3);
    observe_finish(&o);
}
END_TEST

/* 0 x NaN: a NaN value at a later key must not reach an earlier query. */
START_TEST(a_nan_behind_the_mask_never_reaches_an_earlier_query)
{
    static const char *const backends[] = {"ref64", "ref32", "cpu32"};

    for (size_t i = 0; i < 3; i++) {
        observed o = {0};
        txd_param *table;
        const double *logits;

        OK(observe_cfg(&o, "model : { preset = \"mini\"; " BASE "};", backends[i]));
        OK(observe_random(&o, 1, 8));
        table = txd_params_get(o.params, TXD_PARAM_EMBED_POS, -1);
        ((float *)table->value.data)[5 * 24] = NAN;
        txd_model_destroy(o.model);
        {
            const txd_backend *backend;

            OK(test_backend_find(&backend, backends[i]));
            OK(txd_model_create(&o.model, backend, &o.config, o.params, 1));
        }
        OK(observe_pass(&o));
        logits = values(&o, "logits");
        for (size_t j = 0; j < 5 * 17; j++)
            ck_assert_msg(isfinite(logits[j]), "%s: logit %zu", backends[i], j);
        for (size_t j = 5 * 17; j < 6 * 17; j++)
            ck_assert(isnan(logits[j]));
        observe_finish(&o);
    }
}
END_TEST

static void check_masked_row(const char *policy, double expected)
{
    observed o = {0};
    char cfg[512];
    const double *w;

    snprintf(cfg, sizeof cfg,
             "model : { preset = \"mini\"; " BASE "}; mask : { masked_row = \"%s\"; };",
             policy);
    OK(observe_cfg(&o, cfg, "ref64"));
    OK(observe_random(&o, 1, 4));
    OK(observe_faults(&o,
                      "faults = ( { name = \"fully_masked_row\"; queries = 2; } );"));
    OK(observe_pass(&o));
    w = values(&o, "layers.0.attn.weights") + (ptrdiff_t)2 * 4;
    for (size_t k = 0; k < 4; k++)
        ck_assert(isnan(expected) ? isnan(w[k]) : w[k] == expected);
    observe_finish(&o);
}

START_TEST(a_row_that_sees_nothing_follows_masked_row)
{
    check_masked_row("zero", 0);
    check_masked_row("nan", NAN);
    check_masked_row("uniform", 0.25);
}
END_TEST

START_TEST(row_statistics_describe_the_weights)
{
    observed o = {0};
    const struct observed_site *site;

    run_random(&o, "model : { preset = \"gpt2\"; " BASE "};", "ref64", 2, 9);
    site = observe_site(&o, "layers.1.attn.weights");
    for (size_t r = 0; r < (size_t)2 * 4 * 9; r++) {
        const double *row = site->rows + r * TXD_ROW_COUNT, *w = site->values + r * 9;
        double sum = 0, entropy = 0, distance = 0;
        size_t q = r % 9, peak = 0;

        for (size_t k = 0; k < 9; k++) {
            sum += w[k];
            entropy -= w[k] > 0 ? w[k] * log(w[k]) : 0;
            distance += w[k] * ((double)q - (double)k);
            peak = w[k] > w[peak] ? k : peak;
        }
        ck_assert(txd_close(row[TXD_ROW_SUM], sum, 1e-14));
        ck_assert(txd_close(row[TXD_ROW_ENTROPY], entropy, 1e-13));
        ck_assert(txd_close(row[TXD_ROW_DISTANCE], distance, 1e-13));
        ck_assert_double_eq(row[TXD_ROW_PEAK_KEY], (double)peak);
        ck_assert_double_eq(row[TXD_ROW_FIRST], w[0]);
        ck_assert_double_eq(row[TXD_ROW_SELF], w[q]);
        ck_assert_double_eq(row[TXD_ROW_SEEN], (double)q + 1);
        ck_assert_double_eq(row[TXD_ROW_FUTURE_COUNT], 8.0 - (double)q);
        ck_assert_double_eq(row[TXD_ROW_HIDDEN_KEY], -1);
    }
    observe_finish(&o);
}
END_TEST

START_TEST(statistics_leave_out_padding)
{
    observed o = {0};
    const struct observed_site *site;
    double sum = 0;

    OK(observe_cfg(&o, "model : { preset = \"gpt2\"; " BASE "};", "ref64"));
    OK(observe_random(&o, 2, 6));
    o.inputs.valid[5] = o.inputs.valid[4] = 0;
    OK(observe_pass(&o));
    site = observe_site(&o, "layers.0.norm1.out");
    ck_assert_double_eq(site->stats[TXD_STAT_COUNT], 10 * 24);
    for (size_t i = 0; i < site->count; i++)
        sum += i / 24 == 4 || i / 24 == 5 ? 0 : site->values[i];
    ck_assert(txd_close(site->stats[TXD_STAT_MEAN], sum / 240, 1e-13));
    site = observe_site(&o, "layers.0.attn.weights");
    ck_assert(isnan(site->rows[4 * TXD_ROW_COUNT + TXD_ROW_SUM]));
    ck_assert_double_eq(site->rows[4 * TXD_ROW_COUNT + TXD_ROW_PEAK_KEY], -1);
    observe_finish(&o);
}
END_TEST

/* Above 512 keys hidden cells are computed only if somebody wants them. */
START_TEST(computing_hidden_cells_changes_no_bit_of_the_others)
{
    const char *cfg = "model : { preset = \"llama\"; vocab = 17; d_model = 16; "
                      "n_heads = 2; n_layers = 2; d_ff = 8; };";
    observed with = {.extra = TXD_ASK_HIDDEN}, without = {0};
    struct observed_site *full, *part;

    run_random(&with, cfg, "cpu32", 1, 600);
    run_random(&without, cfg, "cpu32", 1, 600);
    full = observe_site(&with, "layers.1.attn.weights");
    part = observe_site(&without, "layers.1.attn.weights");
    ck_assert_uint_eq(full->cells, full->count);
    ck_assert_uint_lt(part->cells, part->count);
    for (size_t i = 0; i < part->count; i++)
        ck_assert(isnan(part->values[i]) ? full->values[i] == 0
                                         : full->values[i] == part->values[i]);
    ck_assert_mem_eq(values(&with, "logits"), values(&without, "logits"),
                     600 * 17 * sizeof(double));
    observe_finish(&with);
    observe_finish(&without);
}
END_TEST

TEST_MAIN(left_padding_changes_nothing_but_the_place,
          documents_side_by_side_do_not_see_each_other,
          a_window_of_3_shows_three_keys_the_query_included,
          a_nan_behind_the_mask_never_reaches_an_earlier_query,
          a_row_that_sees_nothing_follows_masked_row,
          row_statistics_describe_the_weights, statistics_leave_out_padding,
          computing_hidden_cells_changes_no_bit_of_the_others)
