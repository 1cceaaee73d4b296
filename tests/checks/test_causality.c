/* SPDX-License-Identifier: MIT
 *
 * The law causality on hand-made weights: leaks anywhere, whatever else is healthy.
 */
#include "driver.h"

#include <math.h>
#include <string.h>

static bool says(const txd_result *r, const char *words)
{
    return r->finding_count > 0 && strstr(r->findings[0].message, words) != NULL;
}

START_TEST(healthy_weights_pass_and_every_hidden_cell_is_judged)
{
    driver d;
    const txd_result *r;

    driver_init(&d);
    r = driver_run_weights(&d, "causality", -1, NULL);
    ck_assert_int_eq(r->verdict, TXD_VERDICT_PASS);
    ck_assert_uint_eq(r->evaluated, LAYERS * HEADS * LENGTH * (LENGTH - 1) / 2);
    ck_assert_uint_eq(r->not_computed, 0);
    driver_finish(&d);
}
END_TEST

static void leak_at_query_5(driver *d, double *weights)
{
    weights[driver_at(d, 0, 3, 5, 6)] = 1e-30;
}

START_TEST(a_leak_at_query_5_of_one_head_alone_is_found_in_every_layer)
{
    for (int layer = 0; layer < LAYERS; layer++) {
        driver d;
        const txd_result *r;

        driver_init(&d);
        r = driver_run_weights(&d, "causality", layer, leak_at_query_5);
        ck_assert_int_eq(r->verdict, TXD_VERDICT_FAIL);
        ck_assert_uint_eq(r->finding_total, 1);
        ck_assert_int_eq(r->findings[0].layer, layer);
        ck_assert_int_eq(r->findings[0].head, 3);
        ck_assert_int_eq(r->findings[0].query, 5);
        ck_assert_int_eq(r->findings[0].key, 6);
        ck_assert(says(r, "only query 5"));
        ck_assert(says(r, "1 of 4 heads"));
        driver_finish(&d);
    }
}
END_TEST

static void shift_diagonal(driver *d, double *weights)
{
    for (size_t h = 0; h < HEADS; h++)
        for (size_t q = 0; q + 1 < LENGTH; q++)
            weights[driver_at(d, 0, h, q, q + 1)] = 0.01 * (double)(q + 1);
}

START_TEST(leaks_at_the_next_key_alone_are_named_off_by_one)
{
    driver d;
    const txd_result *r;

    driver_init(&d);
    r = driver_run_weights(&d, "causality", 1, shift_diagonal);
    ck_assert_int_eq(r->verdict, TXD_VERDICT_FAIL);
    ck_assert(says(r, "off by one"));
    ck_assert_uint_eq(r->finding_total, HEADS * (LENGTH - 1));
    ck_assert_int_eq(r->findings[0].query, 7);
    driver_finish(&d);
}
END_TEST

static void shift_by_two(driver *d, double *weights)
{
    shift_diagonal(d, weights);
    weights[driver_at(d, 0, 0, 0, 2)] = 0.001;
}

START_TEST(two_leaks_in_a_row_are_not_named_off_by_one)
{
    driver d;
    const txd_result *r;

    driver_init(&d);
    r = driver_run_weights(&d, "causality", 1, shift_by_two);
    ck_assert_int_eq(r->verdict, TXD_VERDICT_FAIL);
    ck_assert(!says(r, "off by one"));
    driver_finish(&d);
}
END_TEST

static void fill_all(driver *d, double *weights)
{
    for (size_t h = 0; h < HEADS; h++)
        for (size_t q = 0; q < LENGTH; q++)
            for (size_t k = 0; k < LENGTH; k++)
                weights[driver_at(d, 0, h, q, k)] = (double)(k + 1) / 45;
}

START_TEST(leaks_at_all_later_keys_are_named_a_missing_mask)
{
    driver d;
    const txd_result *r;

    driver_init(&d);
    r = driver_run_weights(&d, "causality", 0, fill_all);
    ck_assert(says(r, "the mask is missing"));
    ck_assert(!says(r, "inverted"));
    driver_finish(&d);
}
END_TEST

static void invert(driver *d, double *weights)
{
    for (size_t h = 0; h < HEADS; h++)
        for (size_t q = 0; q < LENGTH; q++)
            for (size_t k = 0; k < LENGTH; k++)
                weights[driver_at(d, 0, h, q, k)] =
                    k > q ? 1.0 / (double)(LENGTH - 1 - q) : 0;
}

START_TEST(weight_on_later_keys_and_nothing_else_is_named_an_inverted_mask)
{
    driver d;
    const txd_result *r;

    driver_init(&d);
    r = driver_run_weights(&d, "causality", 2, invert);
    ck_assert(says(r, "inverted"));
    driver_finish(&d);
}
END_TEST

static void make_nan(driver *d, double *weights)
{
    weights[driver_at(d, 0, 1, 2, 8)] = NAN;
}

START_TEST(a_nan_at_a_later_key_fails)
{
    driver d;
    const txd_result *r;

    driver_init(&d);
    r = driver_run_weights(&d, "causality", 1, make_nan);
    ck_assert_int_eq(r->verdict, TXD_VERDICT_FAIL);
    ck_assert(isnan(r->findings[0].measured));
    ck_assert(says(r, "is NaN"));
    driver_finish(&d);
}
END_TEST

static void make_minus_zero(driver *d, double *weights)
{
    weights[driver_at(d, 0, 1, 2, 8)] = -0.0;
}

static void make_negative(driver *d, double *weights)
{
    weights[driver_at(d, 0, 1, 2, 8)] = -1e-12;
}

START_TEST(minus_zero_is_zero_and_a_negative_weight_is_not)
{
    driver d;

    driver_init(&d);
    ck_assert_int_eq(driver_run_weights(&d, "causality", 1, make_minus_zero)->verdict,
                     TXD_VERDICT_PASS);
    ck_assert_int_eq(driver_run_weights(&d, "causality", 1, make_negative)->verdict,
                     TXD_VERDICT_FAIL);
    driver_finish(&d);
}
END_TEST

START_TEST(cells_that_were_not_computed_are_counted_and_never_a_pass)
{
    driver d;
    const txd_result *r;

    driver_init(&d);
    d.key_limit = 1; /* only key 0, which is nobody's later key */
    r = driver_run_weights(&d, "causality", -1, NULL);
    ck_assert_int_eq(r->verdict, TXD_VERDICT_SKIP);
    ck_assert_uint_eq(r->not_computed, LAYERS * HEADS * LENGTH * (LENGTH - 1) / 2);
    ck_assert_ptr_nonnull(strstr(r->note, "not computed by this path"));
    driver_finish(&d);
}
END_TEST

START_TEST(a_model_that_is_not_causal_is_skipped)
{
    driver d;
    const txd_result *r;

    driver_init(&d);
    for (int l = 0; l < LAYERS; l++)
        d.config.layers[l].causal = false;
    driver_start(&d, "causality");
    r = driver_result(&d);
    ck_assert_int_eq(r->verdict, TXD_VERDICT_SKIP);
    ck_assert_ptr_nonnull(strstr(r->note, "not causal"));
    driver_finish(&d);
}
END_TEST

START_TEST(only_the_causal_layers_are_judged)
{
    driver d;
    const txd_result *r;

    driver_init(&d);
    d.config.layers[1].causal = false;
    r = driver_run_weights(&d, "causality", -1, NULL);
    ck_assert_int_eq(r->verdict, TXD_VERDICT_PASS);
    ck_assert_uint_eq(r->evaluated, 2 * HEADS * LENGTH * (LENGTH - 1) / 2);
    ck_assert_uint_eq(r->not_computed, 0);
    driver_finish(&d);
}
END_TEST

START_TEST(left_padding_moves_places_but_not_positions)
{
    const int lengths[2] = {9, 5};
    driver d;
    const txd_result *r;

    driver_init(&d);
    driver_inputs(&d, 2, lengths, true);
    r = driver_run_weights(&d, "causality", -1, NULL);
    ck_assert_int_eq(r->verdict, TXD_VERDICT_PASS);
    ck_assert_uint_eq(r->evaluated, LAYERS * HEADS * (36 + 10));
    driver_finish(&d);
}
END_TEST

TEST_MAIN(healthy_weights_pass_and_every_hidden_cell_is_judged,
          a_leak_at_query_5_of_one_head_alone_is_found_in_every_layer,
          leaks_at_the_next_key_alone_are_named_off_by_one,
          two_leaks_in_a_row_are_not_named_off_by_one,
          leaks_at_all_later_keys_are_named_a_missing_mask,
          weight_on_later_keys_and_nothing_else_is_named_an_inverted_mask,
          a_nan_at_a_later_key_fails, minus_zero_is_zero_and_a_negative_weight_is_not,
          cells_that_were_not_computed_are_counted_and_never_a_pass,
          a_model_that_is_not_causal_is_skipped, only_the_causal_layers_are_judged,
          left_padding_moves_places_but_not_positions)
