/* SPDX-License-Identifier: MIT
 *
 * The law row_sum on hand-made weights.
 */
#include "driver.h"

#include <math.h>
#include <string.h>

#include "checks/law.h"

START_TEST(healthy_rows_pass)
{
    driver d;
    const txd_result *r;

    driver_init(&d);
    r = driver_run_weights(&d, "row_sum", -1, NULL);
    ck_assert_int_eq(r->verdict, TXD_VERDICT_PASS);
    ck_assert_uint_eq(r->evaluated, LAYERS * HEADS * LENGTH);
    ck_assert_uint_eq(r->finding_count, 0);
    ck_assert_double_le(r->worst, r->allowed);
    ck_assert_double_eq(r->allowed, 1e-6);
    driver_finish(&d);
}
END_TEST

static void lower_head_2_query_5(driver *d, double *weights)
{
    weights[driver_at(d, 0, 2, 5, 1)] -= 3e-6;
}

START_TEST(one_row_of_one_head_is_found_in_the_first_the_middle_and_the_last_layer)
{
    for (int layer = 0; layer < LAYERS; layer++) {
        driver d;
        const txd_result *r;
        char site[64];

        driver_init(&d);
        r = driver_run_weights(&d, "row_sum", layer, lower_head_2_query_5);
        txd_point_name(site, sizeof site, TXD_POINT_ATTN_WEIGHTS, layer);
        ck_assert_int_eq(r->verdict, TXD_VERDICT_FAIL);
        ck_assert_uint_eq(r->finding_count, 1);
        ck_assert_str_eq(r->findings[0].site, site);
        ck_assert_int_eq(r->findings[0].layer, layer);
        ck_assert_int_eq(r->findings[0].head, 2);
        ck_assert_int_eq(r->findings[0].query, 5);
        ck_assert_double_eq_tol(r->findings[0].measured, 3e-6, 1e-12);
        ck_assert_ptr_nonnull(strstr(r->findings[0].message,
                                     "sum to 0.999997 instead of 1, off by 3e-06"));
        driver_finish(&d);
    }
}
END_TEST

static void lower_below_the_allowance(driver *d, double *weights)
{
    weights[driver_at(d, 0, 2, 5, 1)] -= 9e-7;
}

START_TEST(an_error_within_the_allowance_passes_and_is_reported_as_the_worst)
{
    driver d;
    const txd_result *r;

    driver_init(&d);
    r = driver_run_weights(&d, "row_sum", 1, lower_below_the_allowance);
    ck_assert_int_eq(r->verdict, TXD_VERDICT_PASS);
    ck_assert_double_eq_tol(r->worst, 9e-7, 1e-12);
    driver_finish(&d);
}
END_TEST

START_TEST(the_configured_atol_decides)
{
    driver d;
    const txd_result *r;

    driver_init(&d);
    ck_assert_int_eq(txd_cfg_parse(&d.root, d.arena, "test",
                                   "checks : { row_sum : { atol = 1e-8; }; };"),
                     TXD_OK);
    r = driver_run_weights(&d, "row_sum", 1, lower_below_the_allowance);
    ck_assert_int_eq(r->verdict, TXD_VERDICT_FAIL);
    ck_assert_double_eq(r->findings[0].allowed, 1e-8);
    driver_finish(&d);
}
END_TEST

static void make_nan(driver *d, double *weights)
{
    weights[driver_at(d, 0, 0, 8, 3)] = NAN;
}

START_TEST(a_nan_fails_and_beats_every_number)
{
    driver d;
    const txd_result *r;

    driver_init(&d);
    r = driver_run_weights(&d, "row_sum", 2, make_nan);
    ck_assert_int_eq(r->verdict, TXD_VERDICT_FAIL);
    ck_assert(isnan(r->worst));
    ck_assert_int_eq(r->findings[0].query, 8);
    driver_finish(&d);
}
END_TEST

static void make_infinite(driver *d, double *weights)
{
    weights[driver_at(d, 0, 1, 4, 0)] = INFINITY;
}

START_TEST(an_infinity_fails)
{
    driver d;

    driver_init(&d);
    ck_assert_int_eq(driver_run_weights(&d, "row_sum", 0, make_infinite)->verdict,
                     TXD_VERDICT_FAIL);
    driver_finish(&d);
}
END_TEST

static void empty_last_row(driver *d, double *weights)
{
    memset(weights + driver_at(d, 0, 3, 8, 0), 0, LENGTH * sizeof *weights);
}

START_TEST(an_empty_row_of_a_query_that_sees_keys_fails)
{
    driver d;
    const txd_result *r;

    driver_init(&d);
    r = driver_run_weights(&d, "row_sum", 1, empty_last_row);
    ck_assert_int_eq(r->verdict, TXD_VERDICT_FAIL);
    ck_assert_double_eq(r->findings[0].measured, 1);
    ck_assert_int_eq(r->findings[0].head, 3);
    /* The driver's largest scores are 0: nothing was masked. */
    ck_assert_ptr_null(strstr(r->findings[0].message, "all keys were masked"));
    ck_assert_ptr_nonnull(strstr(r->findings[0].message, "the law `mask_sentinel`"));
    driver_finish(&d);
}
END_TEST

static void ruin_padded_rows(driver *d, double *weights)
{
    for (size_t q = 4; q < LENGTH; q++)
        weights[driver_at(d, 1, 0, q, 0)] = NAN;
}

START_TEST(rows_of_padded_queries_are_not_judged)
{
    const int lengths[2] = {9, 4};
    driver d;
    const txd_result *r;

    driver_init(&d);
    driver_inputs(&d, 2, lengths, false);
    r = driver_run_weights(&d, "row_sum", 0, ruin_padded_rows);
    ck_assert_int_eq(r->verdict, TXD_VERDICT_PASS);
    ck_assert_uint_eq(r->evaluated, LAYERS * HEADS * (9 + 4));
    driver_finish(&d);
}
END_TEST

START_TEST(the_batch_row_is_named_where_there_are_several)
{
    const int lengths[2] = {4, 9};
    driver d;
    const txd_result *r;

    driver_init(&d);
    driver_inputs(&d, 2, lengths, false);
    driver_start(&d, "row_sum");
    for (int l = 0; l < LAYERS; l++) {
        double *weights = driver_weights(&d, l);

        weights[driver_at(&d, 1, 2, 7, 0)] += l == 2 ? 0.5 : 0;
        driver_offer(&d, TXD_POINT_ATTN_WEIGHTS, l, weights);
    }
    r = driver_result(&d);
    ck_assert_int_eq(r->verdict, TXD_VERDICT_FAIL);
    ck_assert_int_eq(r->findings[0].batch, 1);
    ck_assert_ptr_nonnull(strstr(r->findings[0].message, "batch row 1, head 2: "));
    driver_finish(&d);
}
END_TEST

START_TEST(every_broken_layer_has_its_finding_and_all_rows_are_counted)
{
    driver d;
    const txd_result *r;

    driver_init(&d);
    driver_start(&d, "row_sum");
    for (int l = 0; l < LAYERS; l++) {
        double *weights = driver_weights(&d, l);

        weights[driver_at(&d, 0, 0, 3, 0)] += 0.1;
        weights[driver_at(&d, 0, 1, 4, 0)] += 0.2;
        driver_offer(&d, TXD_POINT_ATTN_WEIGHTS, l, weights);
    }
    r = driver_result(&d);
    ck_assert_uint_eq(r->finding_count, LAYERS);
    ck_assert_uint_eq(r->finding_total, 2 * LAYERS);
    ck_assert_int_eq(r->findings[0].head, 1);
    driver_finish(&d);
}
END_TEST

static void mask_after_softmax(driver *d, double *weights)
{
    for (size_t h = 0; h < HEADS; h++)
        for (size_t q = 0; q + 1 < LENGTH; q++)
            for (size_t k = 0; k <= q; k++)
                weights[driver_at(d, 0, h, q, k)] *= 0.9;
}

static void lower_every_row(driver *d, double *weights)
{
    mask_after_softmax(d, weights);
    for (size_t k = 0; k < LENGTH; k++)
        weights[driver_at(d, 0, 1, LENGTH - 1, k)] *= 0.9;
}

START_TEST(a_mask_after_the_softmax_is_named_only_if_full_rows_are_right)
{
    driver d;
    const txd_result *r;

    driver_init(&d);
    r = driver_run_weights(&d, "row_sum", 1, mask_after_softmax);
    ck_assert_ptr_nonnull(strstr(r->findings[0].message, "after the softmax"));
    r = driver_run_weights(&d, "row_sum", 1, lower_every_row);
    ck_assert_int_eq(r->verdict, TXD_VERDICT_FAIL);
    ck_assert_ptr_null(strstr(r->findings[0].message, "after the softmax"));
    driver_finish(&d);
}
END_TEST

START_TEST(the_bound_grows_with_the_keys_and_ends_where_there_is_none)
{
    ck_assert_double_eq(txd_law_gamma(0, 0x1p-24), 0);
    ck_assert_double_gt(txd_law_gamma(512, 0x1p-24), 3e-5);
    ck_assert_double_lt(txd_law_gamma(512, 0x1p-24), 3.1e-5);
    ck_assert(isinf(txd_law_gamma(256, 0x1p-8)));
}
END_TEST

START_TEST(a_row_too_long_for_any_bound_is_open_and_not_a_pass)
{
    driver d;

    driver_init(&d);
    d.pass.u_accumulate = 0.25;
    ck_assert_int_eq(driver_run_weights(&d, "row_sum", -1, NULL)->verdict,
                     TXD_VERDICT_OPEN);
    driver_finish(&d);
}
END_TEST

TEST_MAIN(healthy_rows_pass,
          one_row_of_one_head_is_found_in_the_first_the_middle_and_the_last_layer,
          an_error_within_the_allowance_passes_and_is_reported_as_the_worst,
          the_configured_atol_decides, a_nan_fails_and_beats_every_number,
          an_infinity_fails, an_empty_row_of_a_query_that_sees_keys_fails,
          rows_of_padded_queries_are_not_judged,
          the_batch_row_is_named_where_there_are_several,
          every_broken_layer_has_its_finding_and_all_rows_are_counted,
          a_mask_after_the_softmax_is_named_only_if_full_rows_are_right,
          the_bound_grows_with_the_keys_and_ends_where_there_is_none,
          a_row_too_long_for_any_bound_is_open_and_not_a_pass)
