/* SPDX-License-Identifier: MIT
 *
 * The law mask_added on hand-made scores: both signs, both bounds, and what is no
 * number that was added.
 */
#include "driver.h"

#include <math.h>
#include <string.h>

/* What is done to the scores of one layer, in one head (-1: in all). */
typedef struct addition {
    int layer, head;
    double shown, hidden; /* added; a hidden -Inf is a mask */
    double uneven;        /* added to one shown and one hidden score of query 7, too */
} addition;

static const addition nothing = {-1, -1, 0, -INFINITY, 0};

static const txd_result *run(driver *d, const addition *a)
{
    size_t count = driver_count(d, TXD_POINT_ATTN_SCORES);

    driver_start(d, "mask_added");
    for (int l = 0; l < LAYERS; l++) {
        double *scores = driver_random(d, TXD_POINT_ATTN_SCORES, 5);
        double *masked = txd_arena_alloc(d->arena, count, sizeof *masked);

        for (size_t i = 0; i < count; i++) {
            size_t k = i % LENGTH, q = i / LENGTH % LENGTH;
            bool here = l == a->layer &&
                        (a->head < 0 || i / LENGTH / LENGTH % HEADS == (size_t)a->head);

            masked[i] = scores[i] + (here ? (k <= q ? a->shown : a->hidden)
                                          : (k <= q ? 0 : -INFINITY));
            if (here && q == 7 && (k == 2 || k == 8))
                masked[i] += a->uneven;
        }
        driver_offer(d, TXD_POINT_ATTN_SCORES, l, scores);
        driver_offer(d, TXD_POINT_ATTN_MASKED, l, masked);
    }
    return driver_result(d);
}

static void expect(const addition *a, size_t rows, const char *words)
{
    driver d;
    const txd_result *r;

    driver_init(&d);
    r = run(&d, a);
    ck_assert_int_eq(r->verdict, TXD_VERDICT_FAIL);
    ck_assert_uint_eq(r->finding_count, 1);
    ck_assert_uint_eq(r->finding_total, rows);
    ck_assert_int_eq(r->findings[0].layer, a->layer);
    ck_assert_int_eq(r->findings[0].head, a->head < 0 ? 0 : a->head);
    ck_assert_msg(strstr(r->findings[0].message, words) != NULL, "%s",
                  r->findings[0].message);
    driver_finish(&d);
}

static void expect_pass(const addition *a)
{
    driver d;

    driver_init(&d);
    ck_assert_int_eq(run(&d, a)->verdict, TXD_VERDICT_PASS);
    driver_finish(&d);
}

START_TEST(healthy_masks_pass)
{
    driver d;
    const txd_result *r;

    driver_init(&d);
    r = run(&d, &nothing);
    ck_assert_int_eq(r->verdict, TXD_VERDICT_PASS);
    ck_assert_uint_eq(r->evaluated, LAYERS * HEADS * (LENGTH - 1));
    driver_finish(&d);
}
END_TEST

/* Rows of one shown key (or one hidden one) have a constant in any case. */
START_TEST(a_mask_that_is_added_is_found_in_every_layer_and_head_with_its_sense)
{
    for (int layer = 0; layer < LAYERS; layer++)
        for (int head = 0; head < HEADS; head++) {
            expect(&(addition){layer, head, 1, 0, 0}, LENGTH - 2, "True means keep");
            expect(&(addition){layer, head, 0, 1, 0}, LENGTH - 2, "True means hide");
        }
    expect(&(addition){1, -1, 0, -1, 0}, HEADS * (LENGTH - 2), "0 to the scores of");
    expect(&(addition){1, -1, 1, 0, 0}, HEADS * (LENGTH - 2), "adds 1 to the scores");
}
END_TEST

START_TEST(constants_up_to_4_are_numbers_and_beyond_it_fills)
{
    expect(&(addition){2, -1, 0, -3.999, 0}, HEADS * (LENGTH - 2), "-4 to those");
    expect_pass(&(addition){2, -1, 0, -4.001, 0});
    expect_pass(&(addition){2, -1, 0, -1e4, 0});
}
END_TEST

START_TEST(a_mask_that_is_lost_or_a_constant_on_all_scores_is_not_added)
{
    expect_pass(&(addition){1, -1, 0, 0, 0});
    expect_pass(&(addition){1, -1, 1, 1, 0});
}
END_TEST

/* In float64, of scores below 1: 2 u (|masked| + |score|), on either side. */
START_TEST(a_constant_is_one_within_rounding)
{
    expect(&(addition){1, 0, 1, 0, 1e-16}, LENGTH - 2, "added as a number");
    expect(&(addition){1, 0, 1, 0, 1e-9}, LENGTH - 3, "added as a number");
}
END_TEST

START_TEST(a_nan_is_open_and_not_a_pass)
{
    driver d;

    driver_init(&d);
    ck_assert_int_eq(run(&d, &(addition){0, 2, NAN, 0, 0})->verdict, TXD_VERDICT_OPEN);
    driver_finish(&d);
}
END_TEST

TEST_MAIN(healthy_masks_pass,
          a_mask_that_is_added_is_found_in_every_layer_and_head_with_its_sense,
          constants_up_to_4_are_numbers_and_beyond_it_fills,
          a_mask_that_is_lost_or_a_constant_on_all_scores_is_not_added,
          a_constant_is_one_within_rounding, a_nan_is_open_and_not_a_pass)
