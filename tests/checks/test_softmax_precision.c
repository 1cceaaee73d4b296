/* SPDX-License-Identifier: MIT
 *
 * The law softmax_precision on hand-made scores and weights, and in real passes.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "driver.h"
#include "live.h"

/* What is done to the weights (b, h, q, k) of one layer. */
typedef void (*plant)(driver *d, double *weights);

static double *masked_of(driver *d, int layer)
{
    double *masked = driver_random(d, TXD_POINT_ATTN_SCORES, 5 + (uint64_t)layer);
    size_t n = d->inputs.length, count = driver_count(d, TXD_POINT_ATTN_MASKED);

    for (size_t i = 0; i < count; i++) {
        txd_mask_view mask =
            txd_mask_of(&d->config.layers[layer], &d->inputs, i / (HEADS * n * n));

        masked[i] *= 6;
        if (txd_mask_hides(&mask, i / n % n, i % n) != TXD_SEEN)
            masked[i] = -INFINITY;
    }
    return masked;
}

static double *softmax_of(driver *d, const double *masked)
{
    size_t n = d->inputs.length, count = driver_count(d, TXD_POINT_ATTN_MASKED);
    double *weights = txd_arena_alloc(d->arena, count, sizeof *weights);

    for (size_t row = 0; row < count / n; row++) {
        double sum = 0;

        for (size_t j = 0; j < n; j++)
            sum += weights[row * n + j] = exp(masked[row * n + j]);
        for (size_t j = 0; j < n && sum > 0; j++)
            weights[row * n + j] /= sum;
    }
    return weights;
}

static const txd_result *run(driver *d, int layer, plant change)
{
    driver_start(d, "softmax_precision");
    for (int l = 0; l < LAYERS; l++) {
        double *masked = masked_of(d, l), *weights = softmax_of(d, masked);

        if (l == layer && change)
            change(d, weights);
        driver_offer(d, TXD_POINT_ATTN_MASKED, l, masked);
        driver_offer(d, TXD_POINT_ATTN_WEIGHTS, l, weights);
    }
    return driver_result(d);
}

START_TEST(a_softmax_in_float64_passes)
{
    const txd_result *r;
    driver d;

    driver_init(&d);
    r = run(&d, -1, NULL);
    ck_assert_int_eq(r->verdict, TXD_VERDICT_PASS);
    ck_assert_uint_eq(r->evaluated, LAYERS * HEADS * LENGTH * LENGTH);
    ck_assert_double_lt(r->allowed, 100);
    driver_finish(&d);
}
END_TEST

static void in_bf16(driver *d, double *weights)
{
    for (size_t i = 0; i < driver_count(d, TXD_POINT_ATTN_WEIGHTS); i++)
        weights[i] = (double)txd_bf16_to_f32(txd_f64_to_bf16(weights[i]));
}

static void in_f16(driver *d, double *weights)
{
    for (size_t i = 0; i < driver_count(d, TXD_POINT_ATTN_WEIGHTS); i++)
        weights[i] = (double)txd_f16_to_f32(txd_f64_to_f16(weights[i]));
}

START_TEST(a_softmax_in_a_narrow_format_is_named_in_every_layer)
{
    static const struct {
        plant change;
        const char *words;
    } formats[] = {{in_bf16, "ran in bfloat16"}, {in_f16, "ran in float16"}};

    for (int layer = 0; layer < LAYERS; layer++)
        for (size_t f = 0; f < 2; f++) {
            const txd_result *r;
            char site[64];
            driver d;

            driver_init(&d);
            r = run(&d, layer, formats[f].change);
            txd_point_name(site, sizeof site, TXD_POINT_ATTN_WEIGHTS, layer);
            ck_assert_int_eq(r->verdict, TXD_VERDICT_FAIL);
            ck_assert_uint_eq(r->finding_count, 1);
            ck_assert_str_eq(r->findings[0].site, site);
            ck_assert_msg(strstr(r->findings[0].message, formats[f].words) != NULL,
                          "%s", r->findings[0].message);
            driver_finish(&d);
        }
}
END_TEST

static void one_cell(driver *d, double *weights)
{
    weights[driver_at(d, 0, 2, 5, 3)] *= 1 + 1e-12;
}

static void one_nan(driver *d, double *weights)
{
    weights[driver_at(d, 0, 2, 5, 3)] = NAN;
}

START_TEST(one_cell_is_found_and_a_nan_is_never_close)
{
    static const plant plants[] = {one_cell, one_nan};

    for (size_t i = 0; i < 2; i++) {
        const txd_result *r;
        driver d;

        driver_init(&d);
        r = run(&d, 1, plants[i]);
        ck_assert_int_eq(r->verdict, TXD_VERDICT_FAIL);
        ck_assert_uint_eq(r->finding_total, 1);
        ck_assert_int_eq(r->findings[0].head, 2);
        ck_assert_int_eq(r->findings[0].query, 5);
        ck_assert_int_eq(r->findings[0].key, 3);
        driver_finish(&d);
    }
}
END_TEST

static void wreck_padding(driver *d, double *weights)
{
    for (size_t h = 0; h < HEADS; h++)
        for (size_t k = 0; k < LENGTH; k++)
            weights[driver_at(d, 1, h, 7, k)] = NAN;
}

START_TEST(queries_that_are_padding_are_not_judged)
{
    static const int lengths[] = {9, 6};
    driver d;

    driver_init(&d);
    driver_inputs(&d, 2, lengths, false);
    ck_assert_int_eq(run(&d, 1, wreck_padding)->verdict, TXD_VERDICT_PASS);
    driver_finish(&d);
}
END_TEST

#define MODEL                                                                          \
    "model : { preset = \"mini\"; vocab = 64; d_model = 16; n_heads = 2; n_layers = "  \
    "3; d_ff = 32; max_seq_len = 600; }; input : { random = { batch = 1; length = "    \
    "600; }; }; "

START_TEST(many_rows_are_judged_in_part_the_same_for_any_threads)
{
    double worst = 0, allowed = 0;

    for (int threads = 1; threads <= 3; threads++) {
        const live_plant planted = {.threads = threads};
        const txd_result *r;
        live l;

        live_run_planted(&l, MODEL "mask : { evaluate_hidden = \"always\"; };",
                         "softmax_precision", &planted);
        r = live_result(&l, "softmax_precision");
        ck_assert_int_eq(r->verdict, TXD_VERDICT_PASS);
        ck_assert_uint_eq(r->evaluated, 3 * 2 * 13 * 600);
        ck_assert_ptr_nonnull(strstr(r->note, "13 queries of each head"));
        ck_assert(threads == 1 || (r->worst == worst && r->allowed == allowed));
        ck_assert(r->worst > 0);
        worst = r->worst;
        allowed = r->allowed;
        live_finish(&l);
    }
}
END_TEST

START_TEST(the_fault_is_found_in_its_layer_alone)
{
    for (int layer = 0; layer < 3; layer++) {
        char cfg[1024], site[64];
        const txd_result *r;
        live l;

        snprintf(cfg, sizeof cfg,
                 MODEL "faults : ( { name = \"softmax_bf16\"; layers = \"%d\"; } );",
                 layer);
        live_run(&l, cfg, "softmax_precision");
        r = live_result(&l, "softmax_precision");
        txd_point_name(site, sizeof site, TXD_POINT_ATTN_WEIGHTS, layer);
        ck_assert_int_eq(r->verdict, TXD_VERDICT_FAIL);
        ck_assert_uint_eq(r->finding_count, 1);
        ck_assert_str_eq(r->findings[0].site, site);
        live_finish(&l);
    }
}
END_TEST

/* The driver offers tiles of 4 queries: sums over the heads show in them, sums over the
 * queries in none. */
START_TEST(a_softmax_over_the_heads_is_named)
{
    const txd_result *r;
    double *masked, *weights;
    driver d;

    driver_init(&d);
    driver_start(&d, "softmax_precision");
    masked = driver_random(&d, TXD_POINT_ATTN_MASKED, 3);
    weights = driver_random(&d, TXD_POINT_ATTN_WEIGHTS, 4);
    for (size_t q = 0; q < LENGTH; q++)
        for (size_t k = 0; k < LENGTH; k++) {
            double sum = 0;

            for (size_t h = 0; h < HEADS; h++)
                sum += exp(masked[driver_at(&d, 0, h, q, k)]);
            for (size_t h = 0; h < HEADS; h++) {
                size_t at = driver_at(&d, 0, h, q, k);

                weights[at] = k <= q ? exp(masked[at]) / sum : 0;
                masked[at] = k <= q ? masked[at] : -INFINITY;
            }
        }
    driver_offer(&d, TXD_POINT_ATTN_MASKED, 0, masked);
    driver_offer(&d, TXD_POINT_ATTN_WEIGHTS, 0, weights);
    r = driver_result(&d);
    ck_assert_int_eq(r->verdict, TXD_VERDICT_FAIL);
    ck_assert_msg(strstr(r->findings[0].message,
                         "sum to 1 over the heads: the softmax runs along the wrong"),
                  "%s", r->findings[0].message);
    driver_finish(&d);
}
END_TEST

START_TEST(a_softmax_over_the_queries_is_named_and_no_other_fault_is)
{
    static const char *const faults[] = {"softmax_over_queries", "mask_after_softmax",
                                         "softmax_bf16"};

    for (int f = 0; f < 3; f++) {
        const txd_result *r;
        char cfg[512];
        live l;

        snprintf(cfg, sizeof cfg,
                 "model : { preset = \"mini\"; vocab = 9; d_model = 8; n_heads = 2; "
                 "n_layers = 2; d_ff = 8; max_seq_len = 16; }; input : { pad = "
                 "\"left\"; tokens = ([1, 2, 3, 4, 5, 6, 7], [3, 4, 5]); }; "
                 "faults : ( { name = \"%s\"; } );",
                 faults[f]);
        live_run(&l, cfg, "softmax_precision");
        r = live_result(&l, "softmax_precision");
        ck_assert_int_eq(r->verdict, TXD_VERDICT_FAIL);
        for (size_t i = 0; i < r->finding_count; i++)
            ck_assert_msg((strstr(r->findings[i].message,
                                  "each key's weights sum to 1 over the queries: the "
                                  "softmax runs along the wrong axis") != NULL) ==
                              (f == 0),
                          "%s: %s", faults[f], r->findings[i].message);
        live_finish(&l);
    }
}
END_TEST

TEST_MAIN(a_softmax_in_float64_passes,
          a_softmax_in_a_narrow_format_is_named_in_every_layer,
          one_cell_is_found_and_a_nan_is_never_close,
          queries_that_are_padding_are_not_judged,
          many_rows_are_judged_in_part_the_same_for_any_threads,
          the_fault_is_found_in_its_layer_alone, a_softmax_over_the_heads_is_named,
          a_softmax_over_the_queries_is_named_and_no_other_fault_is)
