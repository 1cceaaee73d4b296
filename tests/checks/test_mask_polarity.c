/* SPDX-License-Identifier: MIT
 *
 * The law mask_polarity on hand-made weights: the complement of the claim, and what is
 * near to it.
 */
#include "driver.h"

#include <math.h>
#include <string.h>

static unsigned weights_alone(const void *self, txd_site_kind kind, txd_point point,
                              int layer)
{
    (void)self;
    (void)layer;
    return kind == TXD_SITE_VALUE && point == TXD_POINT_ATTN_WEIGHTS
               ? TXD_ASK_VALUE | TXD_ASK_ROWS
               : 0;
}

static unsigned rows_alone(const void *self, txd_site_kind kind, txd_point point,
                           int layer)
{
    return weights_alone(self, kind, point, layer) & TXD_ASK_ROWS;
}

static const txd_offers evidence[] = {weights_alone, rows_alone};

/* Uniform over the later keys, or over these and some more. */
static void turn(driver *d, double *weights, size_t h, size_t q, bool all)
{
    double count = (double)(all ? LENGTH : LENGTH - 1 - q);

    for (size_t k = 0; k < LENGTH; k++)
        weights[driver_at(d, 0, h, q, k)] = all || k > q ? 1 / count : 0;
}

static void invert(driver *d, double *weights)
{
    for (size_t h = 0; h < HEADS; h++)
        for (size_t q = 0; q + 1 < LENGTH; q++)
            turn(d, weights, h, q, false);
}

static void invert_one(driver *d, double *weights)
{
    turn(d, weights, 2, 4, false);
}

static void lose(driver *d, double *weights)
{
    for (size_t h = 0; h < HEADS; h++)
        for (size_t q = 0; q < LENGTH; q++)
            turn(d, weights, h, q, true);
}

/* Most of a row is on the next key, next to nothing on the first: no complement. */
static void leak(driver *d, double *weights)
{
    for (size_t k = 0; k < LENGTH; k++)
        weights[driver_at(d, 0, 2, 4, k)] = k == 0 ? 1e-12 : (k == 5 ? 1 - 1e-12 : 0);
}

START_TEST(an_inverted_mask_is_found_in_every_layer_and_head)
{
    for (int e = 0; e < 2; e++)
        for (int layer = 0; layer < LAYERS; layer++) {
            driver d;
            const txd_result *r;

            driver_init(&d);
            d.offers = evidence[e];
            r = driver_run_weights(&d, "mask_polarity", layer, invert);
            ck_assert_int_eq(r->verdict, TXD_VERDICT_FAIL);
            ck_assert_int_eq(r->findings[0].layer, layer);
            ck_assert_uint_eq(r->finding_total, HEADS * (LENGTH - 1));
            ck_assert_ptr_nonnull(strstr(r->findings[0].message, "is inverted"));
            r = driver_run_weights(&d, "mask_polarity", layer, invert_one);
            ck_assert_int_eq(r->verdict, TXD_VERDICT_FAIL);
            ck_assert_uint_eq(r->finding_total, 1);
            ck_assert_int_eq(r->findings[0].head, 2);
            ck_assert_int_eq(r->findings[0].query, 4);
            driver_finish(&d);
        }
}
END_TEST

START_TEST(healthy_masks_lost_masks_and_leaks_are_not_inverted)
{
    for (int e = 0; e < 2; e++) {
        driver d;
        const txd_result *r;

        driver_init(&d);
        d.offers = evidence[e];
        r = driver_run_weights(&d, "mask_polarity", -1, NULL);
        ck_assert_int_eq(r->verdict, TXD_VERDICT_PASS);
        ck_assert_uint_eq(r->evaluated, LAYERS * HEADS * (LENGTH - 1));
        ck_assert_int_eq(driver_run_weights(&d, "mask_polarity", 1, lose)->verdict,
                         TXD_VERDICT_PASS);
        ck_assert_int_eq(driver_run_weights(&d, "mask_polarity", 1, leak)->verdict,
                         TXD_VERDICT_PASS);
        driver_finish(&d);
    }
}
END_TEST

static void make_nan(driver *d, double *weights)
{
    weights[driver_at(d, 0, 1, 3, 5)] = NAN;
}

START_TEST(a_nan_is_open_and_not_a_pass)
{
    for (int e = 0; e < 2; e++) {
        driver d;

        driver_init(&d);
        d.offers = evidence[e];
        ck_assert_int_eq(driver_run_weights(&d, "mask_polarity", 0, make_nan)->verdict,
                         TXD_VERDICT_OPEN);
        driver_finish(&d);
    }
}
END_TEST

TEST_MAIN(an_inverted_mask_is_found_in_every_layer_and_head,
          healthy_masks_lost_masks_and_leaks_are_not_inverted,
          a_nan_is_open_and_not_a_pass)
