/* SPDX-License-Identifier: MIT
 *
 * The law grad_row_sum on hand-made gradients.
 */
#include "driver.h"

#include <math.h>
#include <string.h>

/* What the backward pass makes of a row of weights w and their gradient g. */
typedef void (*backward)(double *d, const double *w, const double *g);

static double mean_of(const double *w, const double *g)
{
    double mean = 0;

    for (size_t k = 0; k < LENGTH; k++)
        mean += w[k] * g[k];
    return mean;
}

static void right(double *d, const double *w, const double *g)
{
    for (size_t k = 0; k < LENGTH; k++)
        d[k] = w[k] * (g[k] - mean_of(w, g));
}

static void without_mean(double *d, const double *w, const double *g)
{
    for (size_t k = 0; k < LENGTH; k++)
        d[k] = w[k] * g[k];
}

static void with_half_the_mean(double *d, const double *w, const double *g)
{
    for (size_t k = 0; k < LENGTH; k++)
        d[k] = w[k] * (g[k] - mean_of(w, g) / 2);
}

static void not_a_number(double *d, const double *w, const double *g)
{
    right(d, w, g);
    d[0] = NAN;
}

/* A hidden cell that was never computed, as recordings have it. */
static void without_hidden(double *d, const double *w, const double *g)
{
    right(d, w, g);
    for (size_t k = 0; k < LENGTH; k++)
        if (w[k] == 0)
            d[k] = NAN;
}

typedef struct plant {
    int layer, head; /* -1: every */
    backward back;
} plant;

static const txd_result *run(driver *d, const plant *p)
{
    driver_start(d, "grad_row_sum");
    for (int l = LAYERS - 1; l >= 0; l--) {
        size_t count = driver_count(d, TXD_POINT_ATTN_WEIGHTS);
        double *w = driver_weights(d, l), *out;
        double *g = driver_random(d, TXD_POINT_ATTN_WEIGHTS, 11 + (uint64_t)l);

        out = txd_arena_alloc(d->arena, count, sizeof *out);
        for (size_t row = 0; row < count / LENGTH; row++) {
            int head = (int)(row / LENGTH % HEADS);
            bool is_here = l == p->layer && (p->head < 0 || p->head == head);

            (is_here ? p->back : right)(out + row * LENGTH, w + row * LENGTH,
                                        g + row * LENGTH);
        }
        driver_offer(d, TXD_POINT_ATTN_WEIGHTS, l, w);
        driver_offer_gradient(d, TXD_POINT_ATTN_WEIGHTS, l, g);
        driver_offer_gradient(d, TXD_POINT_ATTN_MASKED, l, out);
    }
    return driver_result(d);
}

START_TEST(right_gradients_pass_and_all_rows_are_judged)
{
    const plant none = {-1, -1, right};
    driver d;
    const txd_result *r;

    driver_init(&d);
    r = run(&d, &none);
    ck_assert_int_eq(r->verdict, TXD_VERDICT_PASS);
    ck_assert_uint_eq(r->evaluated, LAYERS * HEADS * LENGTH);
    ck_assert(r->allowed > 0 && r->allowed < 1e-13);
    driver_finish(&d);
}
END_TEST

START_TEST(a_missing_mean_is_named_in_every_layer)
{
    for (int layer = 0; layer < LAYERS; layer++) {
        const plant p = {layer, -1, without_mean};
        driver d;
        const txd_result *r;
        char site[64];

        driver_init(&d);
        r = run(&d, &p);
        ck_assert_int_eq(r->verdict, TXD_VERDICT_FAIL);
        ck_assert_uint_eq(r->finding_count, 1);
        txd_point_name(site, sizeof site, TXD_POINT_ATTN_MASKED, layer);
        strcat(site, "@grad");
        ck_assert_str_eq(r->findings[0].site, site);
        ck_assert_ptr_nonnull(strstr(r->findings[0].message, "without the mean"));
        driver_finish(&d);
    }
}
END_TEST

START_TEST(one_head_alone_is_found_the_first_a_middle_and_the_last)
{
    for (int head = 0; head < HEADS; head++) {
        const plant p = {1, head, with_half_the_mean};
        driver d;
        const txd_result *r;

        driver_init(&d);
        r = run(&d, &p);
        ck_assert_int_eq(r->verdict, TXD_VERDICT_FAIL);
        ck_assert_int_eq(r->findings[0].head, head);
        ck_assert_ptr_null(strstr(r->findings[0].message, "without the mean"));
        driver_finish(&d);
    }
}
END_TEST

START_TEST(a_sum_that_is_not_a_number_fails)
{
    const plant p = {0, 2, not_a_number};
    driver d;
    const txd_result *r;

    driver_init(&d);
    r = run(&d, &p);
    ck_assert_int_eq(r->verdict, TXD_VERDICT_FAIL);
    ck_assert(isnan(r->worst));
    ck_assert_ptr_nonnull(strstr(r->findings[0].message, "finite"));
    driver_finish(&d);
}
END_TEST

START_TEST(hidden_cells_that_were_not_computed_take_no_part)
{
    const plant p = {1, -1, without_hidden};
    driver d;

    driver_init(&d);
    ck_assert_int_eq(run(&d, &p)->verdict, TXD_VERDICT_PASS);
    driver_finish(&d);
}
END_TEST

START_TEST(rows_of_padding_are_not_judged)
{
    const int lengths[1] = {4};
    const plant p = {-1, -1, right};
    driver d;
    const txd_result *r;

    driver_init(&d);
    driver_inputs(&d, 1, lengths, false);
    r = run(&d, &p);
    ck_assert_int_eq(r->verdict, TXD_VERDICT_PASS);
    ck_assert_uint_eq(r->evaluated, LAYERS * HEADS * 4);
    driver_finish(&d);
}
END_TEST

START_TEST(gradients_that_came_in_broken_are_not_judged)
{
    driver d;
    double *w, *g;

    driver_init(&d);
    driver_start(&d, "grad_row_sum");
    w = driver_weights(&d, 0);
    g = driver_random(&d, TXD_POINT_ATTN_WEIGHTS, 3);
    for (size_t i = 0; i < driver_count(&d, TXD_POINT_ATTN_WEIGHTS); i++)
        g[i] = NAN;
    driver_offer(&d, TXD_POINT_ATTN_WEIGHTS, 0, w);
    driver_offer_gradient(&d, TXD_POINT_ATTN_WEIGHTS, 0, g);
    driver_offer_gradient(&d, TXD_POINT_ATTN_MASKED, 0, g);
    ck_assert_int_eq(driver_result(&d)->verdict, TXD_VERDICT_OPEN);
    driver_finish(&d);
}
END_TEST

TEST_MAIN(right_gradients_pass_and_all_rows_are_judged,
          a_missing_mean_is_named_in_every_layer,
          one_head_alone_is_found_the_first_a_middle_and_the_last,
          a_sum_that_is_not_a_number_fails,
          hidden_cells_that_were_not_computed_take_no_part,
          rows_of_padding_are_not_judged, gradients_that_came_in_broken_are_not_judged)
