/* SPDX-License-Identifier: MIT
 *
 * Laws that only inform: heads that rest on the first key, channels that outgrow the
 * others. Silent just inside their thresholds, and never more than information.
 */
#include "driver.h"
#include "planting.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- heads that rest on the first key ---- */

/* The head gives the first key `excess` beyond equal shares, in every row. */
static double *rest(driver *d, int layer, size_t head, double excess)
{
    double *weights = driver_weights(d, layer);

    for (size_t q = 0; q < LENGTH; q++)
        for (size_t k = 0; k <= q; k++) {
            double equal = 1 / (double)(q + 1);

            weights[driver_at(d, 0, head, q, k)] =
                (1 - excess) * equal + (k == 0 ? excess : 0);
        }
    return weights;
}

/* All other heads have equal shares: their excess is 0. */
static double *level(driver *d, int layer)
{
    double *weights = NULL;

    for (size_t h = 0; h < HEADS; h++) {
        double *one = rest(d, layer, h, 0);

        if (weights)
            memcpy(weights + driver_at(d, 0, h, 0, 0), one + driver_at(d, 0, h, 0, 0),
                   LENGTH * LENGTH * sizeof *one);
        else
            weights = one;
    }
    return weights;
}

static const txd_result *run_sinks(driver *d, int first, int last, size_t head,
                                   double excess)
{
    driver_start(d, "sink_heads");
    for (int l = 0; l < LAYERS; l++) {
        double *weights = level(d, l);

        if (l >= first && l <= last)
            memcpy(weights + driver_at(d, 0, head, 0, 0),
                   rest(d, l, head, excess) + driver_at(d, 0, head, 0, 0),
                   LENGTH * LENGTH * sizeof *weights);
        driver_offer(d, TXD_POINT_ATTN_WEIGHTS, l, weights);
    }
    return driver_result(d);
}

START_TEST(a_head_beyond_the_share_is_told_and_one_below_is_not)
{
    for (int layer = 0; layer < LAYERS; layer++)
        for (size_t head = 0; head < HEADS; head++)
            for (int above = 0; above < 2; above++) {
                const txd_result *r;
                driver d;

                driver_init(&d);
                r = run_sinks(&d, layer, layer, head, above ? 0.3001 : 0.2999);
                ck_assert_int_eq(r->verdict,
                                 above ? TXD_VERDICT_INFO : TXD_VERDICT_PASS);
                ck_assert_uint_eq(r->evaluated, LAYERS * HEADS * (LENGTH - 1));
                if (above) {
                    ck_assert_uint_eq(r->finding_count, 1);
                    ck_assert_int_eq(r->findings[0].layer, layer);
                    ck_assert_int_eq(r->findings[0].head, (int)head);
                    ck_assert_double_eq_tol(r->findings[0].measured, 0.3001, 1e-12);
                }
                driver_finish(&d);
            }
}
END_TEST

START_TEST(where_most_layers_have_such_heads_one_finding_tells_of_all)
{
    const txd_result *r;
    driver d;

    driver_init(&d);
    r = run_sinks(&d, 1, 2, 3, 0.9);
    ck_assert_int_eq(r->verdict, TXD_VERDICT_INFO);
    ck_assert_uint_eq(r->finding_count, 1);
    ck_assert_msg(
        strncmp(r->findings[0].message, "2 of the 12 heads of all layers", 31) == 0,
        "%s", r->findings[0].message);
    ck_assert_ptr_nonnull(
        strstr(r->note, "2 of 12 heads rest on the first key (17 %)"));
    driver_finish(&d);
}
END_TEST

START_TEST(weights_that_are_nan_are_open)
{
    const txd_result *r;
    driver d;

    driver_init(&d);
    r = run_sinks(&d, 1, 1, 2, (double)NAN);
    ck_assert_int_eq(r->verdict, TXD_VERDICT_OPEN);
    driver_finish(&d);
}
END_TEST

/* ---- channels ---- */

/* Every channel reaches 1; channel `channel` of the layer reaches `value` at token 2.
 */
static const txd_result *run_channels(driver *d, int layer, size_t channel,
                                      double value)
{
    driver_start(d, "massive_channels");
    for (int l = 0; l < LAYERS; l++) {
        size_t width = d->config.d_model;
        double *x = driver_random(d, TXD_POINT_RESID_POST, 5);

        for (size_t c = 0; c < width; c++)
            x[c] = -1;
        if (l == layer)
            x[2 * width + channel] = value;
        driver_offer(d, TXD_POINT_RESID_POST, l, x);
    }
    return driver_result(d);
}

START_TEST(a_channel_beyond_a_hundred_medians_is_told_and_one_below_is_not)
{
    for (int layer = 0; layer < LAYERS; layer++)
        for (int above = 0; above < 2; above++) {
            const txd_result *r;
            driver d;

            driver_init(&d);
            r = run_channels(&d, layer, 3, above ? -100.1 : 99.9);
            ck_assert_int_eq(r->verdict, above ? TXD_VERDICT_INFO : TXD_VERDICT_PASS);
            if (above) {
                ck_assert_uint_eq(r->finding_count, 1);
                ck_assert_int_eq(r->findings[0].layer, layer);
                ck_assert_int_eq(r->findings[0].query, 2);
                ck_assert_double_eq_tol(r->findings[0].measured, 100.1, 1e-9);
                ck_assert_msg(strstr(r->findings[0].message,
                                     "channel 3 reaches 100 at token 2, 100 times") !=
                                  NULL,
                              "%s", r->findings[0].message);
            }
            driver_finish(&d);
        }
}
END_TEST

START_TEST(a_channel_of_nan_is_open_and_one_of_padding_is_not_judged)
{
    const int lengths[2] = {9, 2};
    const txd_result *r;
    driver d;

    driver_init(&d);
    ck_assert_int_eq(run_channels(&d, 1, 3, (double)NAN)->verdict, TXD_VERDICT_OPEN);
    driver_finish(&d);
    driver_init(&d);
    driver_inputs(&d, 2, lengths, true);
    driver_start(&d, "massive_channels");
    for (int l = 0; l < LAYERS; l++) {
        double *x = driver_random(&d, TXD_POINT_RESID_POST, 5);

        x[9 * d.config.d_model] = 1e9; /* the first token of the second row */
        driver_offer(&d, TXD_POINT_RESID_POST, l, x);
    }
    r = driver_result(&d);
    ck_assert_int_eq(r->verdict, TXD_VERDICT_PASS);
    driver_finish(&d);
}
END_TEST

/* ---- faults, alone and in real passes ---- */

START_TEST(without_its_fault_no_informing_law_speaks_of_a_drawn_model)
{
    static const char *const laws[] = {"sink_heads", "massive_channels"};

    for (int subject = SUBJECT_REAL; subject < SUBJECTS; subject++)
        for (size_t i = 0; i < 2; i++) {
            char text[1024];
            live l;

            snprintf(text, sizeof text, "model : %s; input : %s;",
                     subjects[subject].model, subjects[subject].input);
            live_run(&l, text, laws[i]);
            ck_assert_msg(live_result(&l, laws[i])->verdict == TXD_VERDICT_PASS,
                          "%s in %s: %s", laws[i], subjects[subject].name,
                          live_result(&l, laws[i])->finding_count
                              ? live_result(&l, laws[i])->findings[0].message
                              : live_result(&l, laws[i])->note);
            live_finish(&l);
        }
}
END_TEST

START_TEST(the_fault_is_told_in_the_first_a_middle_and_the_last_layer)
{
    static const char *const pairs[][2] = {{"sink_head", "sink_heads"},
                                           {"massive_channel", "massive_channels"}};
    int layers[3];

    for (size_t i = 0; i < 2; i++)
        for (int n = layers_for(layers, SUBJECT_LLAMA, pairs[i][0]); n-- > 0;) {
            trial t = {SUBJECT_LLAMA, pairs[i][0], layers[n], NULL, NULL};
            live l;

            ck_assert(trial_run(&l, &t, pairs[i][1]));
            expect_trip(&l, &t, pairs[i][1]);
            if (i == 0)
                ck_assert_uint_eq(live_result(&l, pairs[i][1])->finding_count, 1);
            live_finish(&l);
        }
}
END_TEST

TEST_MAIN(a_head_beyond_the_share_is_told_and_one_below_is_not,
          where_most_layers_have_such_heads_one_finding_tells_of_all,
          weights_that_are_nan_are_open,
          a_channel_beyond_a_hundred_medians_is_told_and_one_below_is_not,
          a_channel_of_nan_is_open_and_one_of_padding_is_not_judged,
          without_its_fault_no_informing_law_speaks_of_a_drawn_model,
          the_fault_is_told_in_the_first_a_middle_and_the_last_layer)
