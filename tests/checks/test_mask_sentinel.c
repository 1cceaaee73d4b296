/* SPDX-License-Identifier: MIT
 *
 * The law mask_sentinel on hand-made masked scores: numbers that hide, from both sides
 * of what is far enough, and rows of which nothing is left.
 */
#include "driver.h"

#include <math.h>
#include <string.h>

/* What stands in one layer. */
typedef struct stand {
    int layer;
    double fill;   /* of hidden keys */
    double lowest; /* of shown keys; the others are up to 1 above */
    double weight; /* of hidden keys */
} stand;

/* All other layers are healthy. */
static const txd_result *run(driver *d, const stand *s)
{
    size_t count = driver_count(d, TXD_POINT_ATTN_MASKED);

    driver_start(d, "mask_sentinel");
    for (int l = 0; l < LAYERS; l++) {
        double *weights = driver_weights(d, l);
        double *masked = driver_random(d, TXD_POINT_ATTN_MASKED, 9);

        for (size_t i = 0; i < count; i++) {
            size_t k = i % LENGTH, q = i / LENGTH % LENGTH;
            bool here = l == s->layer;

            if (k <= q) {
                masked[i] = (here ? s->lowest : 0) + fabs(masked[i]) * (k != 0);
                continue;
            }
            masked[i] = here ? s->fill : d->config.layers[l].fill;
            weights[i] = here ? s->weight : 0;
        }
        driver_offer(d, TXD_POINT_ATTN_MASKED, l, masked);
        driver_offer(d, TXD_POINT_ATTN_WEIGHTS, l, weights);
    }
    return driver_result(d);
}

static void expect(const stand *s, const char *words)
{
    driver d;
    const txd_result *r;

    driver_init(&d);
    r = run(&d, s);
    if (!words) {
        ck_assert_int_eq(r->verdict, TXD_VERDICT_PASS);
        ck_assert_uint_eq(r->evaluated, LAYERS * HEADS * LENGTH);
    } else {
        ck_assert_int_eq(r->verdict, TXD_VERDICT_FAIL);
        ck_assert_uint_eq(r->finding_count, 1);
        ck_assert_int_eq(r->findings[0].layer, s->layer);
        ck_assert_uint_eq(r->finding_total, HEADS * (LENGTH - 2)); /* of one key */
        ck_assert_msg(strstr(r->findings[0].message, words) != NULL, "%s",
                      r->findings[0].message);
    }
    driver_finish(&d);
}

START_TEST(minus_infinity_and_numbers_far_below_the_scores_pass)
{
    expect(&(stand){1, -INFINITY, 0, 0}, NULL);
    expect(&(stand){1, -1e9, 0, 0}, NULL);
    expect(&(stand){1, -1e4, 0, 0}, NULL);
    expect(&(stand){1, -5e4, -4.9999e4, 0}, NULL);
}
END_TEST

START_TEST(a_number_that_is_not_below_the_scores_is_found_in_every_layer)
{
    for (int layer = 0; layer < LAYERS; layer++)
        expect(&(stand){layer, -5e4, -5.0001e4, 0},
               "hold -5e+04, which is not below the lowest score");
}
END_TEST

START_TEST(a_number_so_near_that_hidden_keys_get_weight_is_found)
{
    expect(&(stand){2, -10, 0, 4.5e-5}, "too near: key 1 gets the weight 4.5e-05");
    expect(&(stand){2, -10, 0, 1e-300}, "gets the weight 1e-300");
}
END_TEST

/* One shown key holds it as well: it is a score, and nothing hides. */
START_TEST(equal_scores_that_are_not_masked_are_no_number_that_hides)
{
    expect(&(stand){1, 0, 0, 0.1}, NULL);
}
END_TEST

START_TEST(minus_infinity_in_place_of_a_finite_fill_is_below_every_score)
{
    driver d;
    const txd_result *r;

    driver_init(&d);
    for (int l = 0; l < LAYERS; l++)
        d.config.layers[l].fill = -1e9;
    r = run(&d, &(stand){1, -INFINITY, 0, 0});
    ck_assert_int_eq(r->verdict, TXD_VERDICT_PASS);
    ck_assert_uint_gt(r->evaluated, 0);
    driver_finish(&d);
}
END_TEST

/* `score`: of the keys that the query is shown. */
static const txd_result *run_vanished(driver *d, bool has_sinks, size_t query,
                                      double score)
{
    double *weights, *masked;

    d->config.sinks = has_sinks;
    driver_start(d, "mask_sentinel");
    weights = driver_weights(d, 0);
    masked = driver_random(d, TXD_POINT_ATTN_MASKED, 9);
    for (size_t k = 0; k < LENGTH; k++) {
        weights[driver_at(d, 0, 2, query, k)] = 0;
        masked[driver_at(d, 0, 2, query, k)] = k <= query ? score : -INFINITY;
    }
    driver_offer(d, TXD_POINT_ATTN_MASKED, 0, masked);
    driver_offer(d, TXD_POINT_ATTN_WEIGHTS, 0, weights);
    return driver_result(d);
}

/* The driver's largest scores are 0 in every row, above -6e4. */
START_TEST(a_row_of_which_nothing_is_left_is_found)
{
    for (int has_sinks = 0; has_sinks < 2; has_sinks++) {
        driver d;
        const txd_result *r;

        driver_init(&d);
        r = run_vanished(&d, has_sinks, 5, -6e4);
        ck_assert_int_eq(r->verdict, TXD_VERDICT_FAIL);
        ck_assert_uint_eq(r->finding_total, 1);
        ck_assert_int_eq(r->findings[0].head, 2);
        ck_assert_int_eq(r->findings[0].query, 5);
        ck_assert_ptr_nonnull(strstr(r->findings[0].message,
                                     "takes 0 for the largest score, but that is "
                                     "-6e+04"));
        driver_finish(&d);
    }
}
END_TEST

/* What the softmax takes for the largest is the largest. */
START_TEST(weights_that_are_taken_away_are_not_laid_to_a_constant)
{
    driver d;
    const txd_result *r;

    driver_init(&d);
    r = run_vanished(&d, false, 5, 0);
    ck_assert_int_eq(r->verdict, TXD_VERDICT_FAIL);
    ck_assert_ptr_nonnull(
        strstr(r->findings[0].message, "taken away behind the softmax"));
    ck_assert_ptr_null(strstr(r->findings[0].message, "a constant stands"));
    ck_assert_double_gt(r->findings[0].measured, r->findings[0].allowed);
    ck_assert_double_gt(r->worst, r->allowed);
    driver_finish(&d);
}
END_TEST

START_TEST(a_nan_is_open_and_not_a_pass)
{
    driver d;

    driver_init(&d);
    ck_assert_int_eq(run(&d, &(stand){0, -INFINITY, 0, NAN})->verdict,
                     TXD_VERDICT_OPEN);
    driver_finish(&d);
}
END_TEST

TEST_MAIN(minus_infinity_and_numbers_far_below_the_scores_pass,
          a_number_that_is_not_below_the_scores_is_found_in_every_layer,
          a_number_so_near_that_hidden_keys_get_weight_is_found,
          equal_scores_that_are_not_masked_are_no_number_that_hides,
          minus_infinity_in_place_of_a_finite_fill_is_below_every_score,
          a_row_of_which_nothing_is_left_is_found,
          weights_that_are_taken_away_are_not_laid_to_a_constant,
          a_nan_is_open_and_not_a_pass)
