/* SPDX-License-Identifier: MIT
 *
 * What the law heads_distinct says of heads that attend alike without being one.
 */
#include "driver.h"

#include <string.h>

/* Every head rests on the first key and looks elsewhere with what is left: `shared` of
 * that at the query itself, as all the others. */
static void rest_on_first(driver *d, double *weights, size_t heads, double shared)
{
    const size_t n = LENGTH;

    for (size_t h = 0; h < heads; h++)
        for (size_t q = 1; q < n; q++) {
            double *row = weights + driver_at(d, 0, h, q, 0);
            double rest = 1 - row[0];

            for (size_t k = 1; k <= q; k++)
                row[k] = 0.03 * (shared * (k == q) + (1 - shared) * row[k] / rest);
            row[0] = 0.97;
        }
}

static const txd_result *run_resting(driver *d, size_t heads, double shared)
{
    driver_init(d);
    driver_start(d, "heads_distinct");
    for (int l = 0; l < LAYERS; l++) {
        double *weights = driver_weights(d, l);

        rest_on_first(d, weights, heads, shared);
        driver_offer(d, TXD_POINT_ATTN_WEIGHTS, l, weights);
    }
    return driver_result(d);
}

START_TEST(what_most_heads_give_the_first_key_is_no_likeness)
{
    for (size_t heads = 2; heads <= HEADS; heads++) {
        driver d;
        const txd_result *r = run_resting(&d, heads, 0);

        ck_assert_msg(r->verdict == TXD_VERDICT_PASS, "%zu heads: %s", heads,
                      r->finding_count ? r->findings[0].message : r->note);
        ck_assert_uint_eq(r->evaluated, LAYERS * HEADS * (HEADS - 1) / 2);
        ck_assert(r->worst < 0.9);
        driver_finish(&d);
    }
}
END_TEST

START_TEST(what_all_heads_share_is_one_line_of_information_and_no_likeness_of_two)
{
    driver d;
    const txd_result *r = run_resting(&d, HEADS, 0.5);

    ck_assert_int_eq(r->verdict, TXD_VERDICT_PASS);
    driver_finish(&d);
    r = run_resting(&d, HEADS, 0.98);
    ck_assert_int_eq(r->verdict, TXD_VERDICT_INFO);
    ck_assert_uint_eq(r->finding_total, 1);
    ck_assert_ptr_nonnull(
        strstr(r->findings[0].message, "all 4 heads attend alike: cosine "));
    ck_assert_ptr_nonnull(strstr(r->findings[0].message, ", in 3 of 3 layers"));
    driver_finish(&d);
}
END_TEST

/* Layers in which two heads are alike, and one in which two are one (-1: none). */
static const txd_result *run_alike(driver *d, int one)
{
    driver_init(d);
    driver_start(d, "heads_distinct");
    for (int l = 0; l < LAYERS; l++) {
        double *weights = driver_weights(d, l);

        for (size_t i = 0; i < LENGTH * LENGTH; i++)
            weights[driver_at(d, 0, 2, 0, 0) + i] =
                weights[driver_at(d, 0, 0, 0, 0) + i] * (l == one ? 1 : 1.001);
        driver_offer(d, TXD_POINT_ATTN_WEIGHTS, l, weights);
    }
    return driver_result(d);
}

START_TEST(a_short_text_shows_no_likeness)
{
    for (int length = 6; length <= 8; length += 2) {
        driver d;
        double *weights;
        size_t cells;

        driver_init(&d);
        driver_inputs(&d, 1, &length, false);
        cells = d.inputs.length * d.inputs.length;
        driver_start(&d, "heads_distinct");
        weights = driver_weights(&d, 0);
        for (size_t i = 0; i < cells; i++)
            weights[driver_at(&d, 0, 2, 0, 0) + i] =
                weights[driver_at(&d, 0, 0, 0, 0) + i] * 1.001;
        driver_offer(&d, TXD_POINT_ATTN_WEIGHTS, 0, weights);
        ck_assert_int_eq(driver_result(&d)->verdict,
                         length == 6 ? TXD_VERDICT_PASS : TXD_VERDICT_INFO);
        driver_finish(&d);
    }
}
END_TEST

START_TEST(what_fails_comes_first_and_all_likenesses_are_one_line)
{
    for (int one = -1; one < LAYERS; one++) {
        driver d;
        const txd_result *r = run_alike(&d, one);
        size_t likes = one < 0 ? 0 : 1;

        ck_assert_uint_eq(r->finding_count, 1 + likes);
        ck_assert_uint_eq(r->finding_total, 1 + likes);
        ck_assert_ptr_nonnull(strstr(r->findings[likes].message,
                                     one < 0
                                         ? "3 of 18 pairs are as similar, in 3 of 3"
                                         : "2 of 12 pairs are as similar, in 2 of 3"));
        ck_assert_int_eq(r->findings[likes].verdict, TXD_VERDICT_INFO);
        if (one >= 0) {
            ck_assert_int_eq(r->findings[0].verdict, TXD_VERDICT_FAIL);
            ck_assert_int_eq(r->findings[0].layer, one);
        }
        driver_finish(&d);
    }
}
END_TEST

TEST_MAIN(what_most_heads_give_the_first_key_is_no_likeness,
          what_all_heads_share_is_one_line_of_information_and_no_likeness_of_two,
          a_short_text_shows_no_likeness,
          what_fails_comes_first_and_all_likenesses_are_one_line)
