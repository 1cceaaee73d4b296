/* SPDX-License-Identifier: MIT
 *
 * The law padding on hand-made weights.
 */
#include "driver.h"

#include <math.h>
#include <string.h>

static const int lengths[2] = {9, 6};

START_TEST(healthy_weights_pass_with_padding_on_either_side)
{
    for (int left = 0; left < 2; left++) {
        driver d;
        const txd_result *r;

        driver_init(&d);
        driver_inputs(&d, 2, lengths, left);
        r = driver_run_weights(&d, "padding", -1, NULL);
        ck_assert_int_eq(r->verdict, TXD_VERDICT_PASS);
        ck_assert_uint_eq(r->evaluated, LAYERS * HEADS * 6 * 3);
        driver_finish(&d);
    }
}
END_TEST

START_TEST(an_input_without_padding_is_skipped)
{
    driver d;
    const txd_result *r;

    driver_init(&d);
    r = driver_run_weights(&d, "padding", -1, NULL);
    ck_assert_int_eq(r->verdict, TXD_VERDICT_SKIP);
    ck_assert_str_eq(r->note, "no padding in the input");
    driver_finish(&d);
}
END_TEST

static void leak_in_one_head(driver *d, double *weights)
{
    weights[driver_at(d, 1, 0, 2, 7)] = 1e-20;
}

START_TEST(a_leak_in_one_row_of_one_head_is_found_in_every_layer)
{
    for (int layer = 0; layer < LAYERS; layer++) {
        driver d;
        const txd_result *r;

        driver_init(&d);
        driver_inputs(&d, 2, lengths, false);
        r = driver_run_weights(&d, "padding", layer, leak_in_one_head);
        ck_assert_int_eq(r->verdict, TXD_VERDICT_FAIL);
        ck_assert_int_eq(r->findings[0].layer, layer);
        ck_assert_int_eq(r->findings[0].batch, 1);
        ck_assert_int_eq(r->findings[0].head, 0);
        ck_assert_int_eq(r->findings[0].query, 2);
        ck_assert_int_eq(r->findings[0].key, 7);
        ck_assert_uint_eq(r->finding_total, 1);
        driver_finish(&d);
    }
}
END_TEST

static void leak_everywhere(driver *d, double *weights)
{
    for (size_t h = 0; h < HEADS; h++)
        for (size_t q = 0; q < 6; q++)
            for (size_t k = 6; k < LENGTH; k++)
                weights[driver_at(d, 1, h, q, k)] = 0.05;
}

START_TEST(leaks_in_every_row_are_named_padding_that_is_not_masked)
{
    driver d;
    const txd_result *r;

    driver_init(&d);
    driver_inputs(&d, 2, lengths, false);
    r = driver_run_weights(&d, "padding", 1, leak_everywhere);
    ck_assert_ptr_nonnull(strstr(r->findings[0].message, "padding is not masked"));
    ck_assert_uint_eq(r->finding_total, HEADS * 6);
    driver_finish(&d);
}
END_TEST

/* What a window of 3 shows of padding on the left: keys 1 and 2 to query 3, key 2 to
 * query 4. The window hides the others as well. */
static void leak_in_the_window(driver *d, double *weights)
{
    for (size_t h = 0; h < HEADS; h++) {
        weights[driver_at(d, 1, h, 3, 1)] = weights[driver_at(d, 1, h, 3, 2)] = 0.05;
        weights[driver_at(d, 1, h, 4, 2)] = 0.05;
    }
}

static void leak_in_a_part_of_it(driver *d, double *weights)
{
    for (size_t h = 0; h < HEADS; h++)
        weights[driver_at(d, 1, h, 3, 1)] = 0.05;
}

START_TEST(rows_whose_padding_a_window_hides_too_do_not_keep_the_cause_unsaid)
{
    for (int part = 0; part < 2; part++) {
        driver d;
        const txd_result *r;

        driver_init(&d);
        driver_inputs(&d, 2, lengths, true);
        for (int l = 0; l < LAYERS; l++)
            d.config.layers[l].window = 3;
        r = driver_run_weights(&d, "padding", 1,
                               part ? leak_in_a_part_of_it : leak_in_the_window);
        ck_assert_uint_eq(r->finding_total, part ? HEADS : HEADS * 2);
        ck_assert_msg(strstr(r->findings[0].message,
                             part ? "only query 3 does (4 of 8 rows in which"
                                  : "8 of 24 such rows do (8 of 8 rows in which") !=
                          NULL,
                      "%s", r->findings[0].message);
        ck_assert((strstr(r->findings[0].message, "padding is not masked") == NULL) ==
                  (part == 1));
        driver_finish(&d);
    }
}
END_TEST

static void ruin_padded_queries(driver *d, double *weights)
{
    for (size_t q = 6; q < LENGTH; q++)
        weights[driver_at(d, 1, 2, q, 8)] = q == 6 ? NAN : 0.5;
}

START_TEST(rows_of_padded_queries_are_not_judged)
{
    driver d;

    driver_init(&d);
    driver_inputs(&d, 2, lengths, false);
    ck_assert_int_eq(driver_run_weights(&d, "padding", 0, ruin_padded_queries)->verdict,
                     TXD_VERDICT_PASS);
    driver_finish(&d);
}
END_TEST

static void make_nan(driver *d, double *weights)
{
    weights[driver_at(d, 1, 2, 5, 8)] = NAN;
}

START_TEST(a_nan_at_a_padding_key_fails)
{
    driver d;

    driver_init(&d);
    driver_inputs(&d, 2, lengths, false);
    ck_assert_int_eq(driver_run_weights(&d, "padding", 2, make_nan)->verdict,
                     TXD_VERDICT_FAIL);
    driver_finish(&d);
}
END_TEST

START_TEST(padding_keys_that_were_not_computed_are_never_a_pass)
{
    driver d;
    const txd_result *r;

    driver_init(&d);
    driver_inputs(&d, 2, lengths, false);
    d.key_limit = 6;
    r = driver_run_weights(&d, "padding", -1, NULL);
    ck_assert_int_eq(r->verdict, TXD_VERDICT_SKIP);
    ck_assert_uint_eq(r->not_computed, LAYERS * HEADS * 6 * 3);
    driver_finish(&d);
}
END_TEST

TEST_MAIN(healthy_weights_pass_with_padding_on_either_side,
          an_input_without_padding_is_skipped,
          a_leak_in_one_row_of_one_head_is_found_in_every_layer,
          leaks_in_every_row_are_named_padding_that_is_not_masked,
          rows_whose_padding_a_window_hides_too_do_not_keep_the_cause_unsaid,
          rows_of_padded_queries_are_not_judged, a_nan_at_a_padding_key_fails,
          padding_keys_that_were_not_computed_are_never_a_pass)
