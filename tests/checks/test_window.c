/* SPDX-License-Identifier: MIT
 *
 * The law window on hand-made weights: one position too many, too few, all, and the
 * window of another layer.
 */
#include "driver.h"

#include <math.h>
#include <string.h>

enum { WINDOW = 3 };

/* Layer 1 is global. */
static void start(driver *d)
{
    driver_init(d);
    d->config.layers[0].window = d->config.layers[2].window = WINDOW;
}

/* Uniform weights over the last `seen` keys of every row of `head` (-1: of all). */
static void show(driver *d, double *weights, double *masked, int head, size_t seen)
{
    for (size_t i = 0; i < driver_count(d, TXD_POINT_ATTN_WEIGHTS); i++) {
        size_t k = i % LENGTH, q = i / LENGTH % LENGTH, h = i / LENGTH / LENGTH % HEADS;
        size_t count = q + 1 < seen ? q + 1 : seen;
        bool is_seen = k <= q && q - k < seen;

        if (head >= 0 && h != (size_t)head)
            continue;
        weights[i] = is_seen ? 1 / (double)count : 0;
        masked[i] = is_seen ? 0 : -INFINITY;
    }
}

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

/* As claimed in every layer, but for `seen` keys in `layer`. */
static const txd_result *run(driver *d, int layer, int head, size_t seen)
{
    driver_start(d, "window");
    for (int l = 0; l < LAYERS; l++) {
        double *weights = driver_weights(d, l);
        double *masked = driver_random(d, TXD_POINT_ATTN_MASKED, 3);
        size_t window = d->config.layers[l].window;

        show(d, weights, masked, -1, window ? window : LENGTH);
        if (l == layer)
            show(d, weights, masked, head, seen);
        if (!d->offers)
            driver_offer(d, TXD_POINT_ATTN_MASKED, l, masked);
        driver_offer(d, TXD_POINT_ATTN_WEIGHTS, l, weights);
    }
    return driver_result(d);
}

static void expect(const txd_result *r, int layer, const char *words)
{
    ck_assert_int_eq(r->verdict, TXD_VERDICT_FAIL);
    ck_assert_uint_eq(r->finding_count, 1);
    ck_assert_int_eq(r->findings[0].layer, layer);
    ck_assert_msg(strstr(r->findings[0].message, words) != NULL, "%s",
                  r->findings[0].message);
}

START_TEST(windows_as_claimed_pass)
{
    for (int offers = 0; offers < 3; offers++) {
        const txd_offers some[] = {NULL, weights_alone, rows_alone};
        driver d;
        const txd_result *r;

        start(&d);
        d.offers = some[offers];
        r = run(&d, -1, -1, 0);
        ck_assert_int_eq(r->verdict, TXD_VERDICT_PASS);
        ck_assert_uint_gt(r->evaluated, 0);
        driver_finish(&d);
    }
}
END_TEST

START_TEST(one_position_too_many_or_too_few_is_named_in_any_layer_and_head)
{
    for (int layer = 0; layer < LAYERS; layer += 2)
        for (int head = 0; head < HEADS; head++) {
            driver d;
            const txd_result *r;

            start(&d);
            r = run(&d, layer, head, WINDOW + 1);
            expect(r, layer, "sees 4 positions, its own included");
            expect(r, layer, "one too many");
            ck_assert_int_eq(r->findings[0].head, head);
            ck_assert_int_eq(r->findings[0].query, 3);
            ck_assert_int_eq(r->findings[0].key, 0);
            ck_assert_uint_eq(r->finding_total, LENGTH - WINDOW);
            r = run(&d, layer, head, WINDOW - 1);
            expect(r, layer, "one too few");
            ck_assert_int_eq(r->findings[0].head, head);
            ck_assert_uint_eq(r->finding_total, LENGTH - WINDOW + 1);
            driver_finish(&d);
        }
}
END_TEST

START_TEST(a_window_that_is_ignored_is_named_so)
{
    driver d;

    start(&d);
    expect(run(&d, 2, -1, LENGTH), 2, "see 4 to 9 positions: the window is ignored");
    expect(run(&d, 2, -1, WINDOW + 2), 2, "see 4 to 5 positions");
    ck_assert_ptr_null(
        strstr(run(&d, 2, -1, WINDOW + 2)->findings[0].message, "ignored"));
    driver_finish(&d);
}
END_TEST

START_TEST(a_global_layer_with_a_window_is_found)
{
    for (int offers = 0; offers < 2; offers++) {
        driver d;

        start(&d);
        d.offers = offers ? weights_alone : NULL;
        expect(run(&d, 1, -1, WINDOW), 1, "it has the window of another layer");
        driver_finish(&d);
    }
}
END_TEST

START_TEST(row_statistics_tell_what_lies_behind_the_window)
{
    driver d;

    start(&d);
    d.offers = rows_alone;
    expect(run(&d, 0, 2, WINDOW + 1), 0, "one too many");
    driver_finish(&d);
}
END_TEST

/* In float16 a score 18 below the others has no weight. */
START_TEST(weights_of_0_tell_nothing_in_float16)
{
    driver d;

    start(&d);
    d.offers = weights_alone;
    txd_pass_set_format(&d.pass, TXD_F16);
    d.pass.dtype = TXD_F64; /* as the driver offers them */
    ck_assert_int_eq(run(&d, 2, -1, WINDOW - 1)->verdict, TXD_VERDICT_PASS);
    d.offers = NULL;
    expect(run(&d, 2, -1, WINDOW - 1), 2, "one too few");
    driver_finish(&d);
}
END_TEST

START_TEST(inputs_no_longer_than_the_window_show_nothing)
{
    driver d;
    const txd_result *r;

    start(&d);
    d.config.layers[0].window = d.config.layers[2].window = LENGTH + 1;
    r = run(&d, 2, -1, LENGTH);
    ck_assert_int_eq(r->verdict, TXD_VERDICT_SKIP);
    ck_assert_ptr_nonnull(strstr(r->note, "that a window would show"));
    driver_finish(&d);
}
END_TEST

START_TEST(models_without_windows_are_not_judged)
{
    driver d;

    driver_init(&d);
    driver_start(&d, "window");
    ck_assert_int_eq(driver_result(&d)->verdict, TXD_VERDICT_SKIP);
    driver_finish(&d);
}
END_TEST

START_TEST(a_nan_is_open_and_not_a_pass)
{
    driver d;
    double *weights, *masked;

    start(&d);
    driver_start(&d, "window");
    weights = driver_weights(&d, 0);
    masked = driver_random(&d, TXD_POINT_ATTN_MASKED, 3);
    show(&d, weights, masked, -1, WINDOW);
    weights[driver_at(&d, 0, 1, 7, 6)] = masked[driver_at(&d, 0, 1, 7, 6)] = NAN;
    driver_offer(&d, TXD_POINT_ATTN_MASKED, 0, masked);
    driver_offer(&d, TXD_POINT_ATTN_WEIGHTS, 0, weights);
    ck_assert_int_eq(driver_result(&d)->verdict, TXD_VERDICT_OPEN);
    driver_finish(&d);
}
END_TEST

TEST_MAIN(windows_as_claimed_pass,
          one_position_too_many_or_too_few_is_named_in_any_layer_and_head,
          a_window_that_is_ignored_is_named_so, a_global_layer_with_a_window_is_found,
          row_statistics_tell_what_lies_behind_the_window,
          weights_of_0_tell_nothing_in_float16,
          inputs_no_longer_than_the_window_show_nothing,
          models_without_windows_are_not_judged, a_nan_is_open_and_not_a_pass)
