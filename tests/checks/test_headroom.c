/* SPDX-License-Identifier: MIT
 *
 * The law headroom: just inside a quarter of the format it is silent, just outside it
 * warns, at the end it fails; and what float16 could not hold is information.
 */
#include "driver.h"
#include "planting.h"
#include "wrong_ops.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const txd_point order[] = {
    TXD_POINT_RESID_PRE, TXD_POINT_RESID_MID,  TXD_POINT_MLP_ACT,
    TXD_POINT_MLP_OUT,   TXD_POINT_RESID_POST,
};

enum { POINTS = sizeof order / sizeof *order };

/* What stands out at one point of one layer; of all layers, if it grows. */
typedef struct outlier {
    txd_point point;
    int layer; /* -1: in all */
    double value, growth;
} outlier;

static const txd_result *run(driver *d, txd_dtype format, double largest,
                             const outlier *o)
{
    d->pass.format = format;
    d->pass.largest = largest;
    driver_start(d, "headroom");
    for (int l = 0; l < LAYERS; l++)
        for (int i = 0; i < POINTS; i++) {
            double *data = driver_random(d, order[i], 3);

            if (order[i] == o->point && (l == o->layer || o->layer < 0))
                data[0] = o->value * (o->layer < 0 ? pow(o->growth, l) : 1);
            driver_offer(d, order[i], l, data);
        }
    return driver_result(d);
}

static void expect(const outlier *o, txd_verdict verdict, const char *words)
{
    const txd_result *r;
    char site[64];
    driver d;

    driver_init(&d);
    r = run(&d, TXD_F16, 65504, o);
    ck_assert_msg(r->verdict == verdict, "%s, layer %d, %g: %s",
                  txd_point_get(o->point)->name, o->layer, o->value,
                  txd_verdict_name(r->verdict));
    if (verdict != TXD_VERDICT_PASS && verdict != TXD_VERDICT_OPEN) {
        ck_assert_uint_eq(r->finding_count, 1);
        txd_point_name(site, sizeof site, o->point, o->layer);
        ck_assert_str_eq(r->findings[0].site, site);
        ck_assert_int_eq(r->findings[0].layer, o->layer);
        ck_assert_double_eq(r->findings[0].measured, fabs(o->value));
        ck_assert_msg(strstr(r->findings[0].message, words) != NULL, "%s",
                      r->findings[0].message);
    }
    driver_finish(&d);
}

static void everywhere(double value, txd_verdict verdict, const char *words)
{
    static const txd_point points[] = {TXD_POINT_RESID_POST, TXD_POINT_MLP_OUT,
                                       TXD_POINT_MLP_ACT};

    for (int layer = 0; layer < LAYERS; layer++)
        for (size_t i = 0; i < 3; i++)
            expect(&(outlier){points[i], layer, value, 1}, verdict, words);
}

START_TEST(a_quarter_of_the_format_is_silent_and_more_is_a_warning)
{
    everywhere(16376, TXD_VERDICT_PASS, "");
    everywhere(-16376, TXD_VERDICT_PASS, "");
    everywhere(16376.01, TXD_VERDICT_WARN,
               "near the end of float16, which ends at 65504");
    everywhere(-65503, TXD_VERDICT_WARN, "near the end of float16");
}
END_TEST

START_TEST(the_end_of_the_format_and_infinities_fail)
{
    everywhere(-65504, TXD_VERDICT_FAIL, "they are saturated");
    everywhere(INFINITY, TXD_VERDICT_FAIL, "nothing before them is: beyond float16");
}
END_TEST

START_TEST(what_a_nan_makes_is_open)
{
    const txd_result *r;
    driver d;

    everywhere((double)NAN, TXD_VERDICT_OPEN, "");
    /* Behind a NaN an infinity is no overflow. */
    driver_init(&d);
    driver_start(&d, "headroom");
    for (int i = 0; i < POINTS; i++) {
        double *data = driver_random(&d, order[i], 3);

        data[0] = i < 2 ? (double)NAN : INFINITY;
        driver_offer(&d, order[i], 1, data);
    }
    r = driver_result(&d);
    ck_assert_int_eq(r->verdict, TXD_VERDICT_OPEN);
    ck_assert_uint_eq(r->finding_count, 0);
    driver_finish(&d);
}
END_TEST

static void expect_trend(double value, double growth, const char *words)
{
    const outlier o = {TXD_POINT_RESID_POST, -1, value, growth};
    const txd_result *r;
    driver d;

    driver_init(&d);
    r = run(&d, TXD_F32, 3.4e38, &o);
    ck_assert_int_eq(r->verdict, words ? TXD_VERDICT_INFO : TXD_VERDICT_PASS);
    if (words)
        ck_assert_msg(strstr(r->findings[0].message, words) != NULL, "%s",
                      r->findings[0].message);
    driver_finish(&d);
}

START_TEST(float16_would_be_too_small_is_information_with_the_layer)
{
    expect_trend(4000, 2, NULL);
    expect_trend(10000, 2,
                 "the stream reaches 4e+04, near the end of float16, which ends at "
                 "65504; x2 per layer; beyond it at this growth at layer 3");
    expect_trend(
        10000, 3,
        "the stream reaches 9e+04, beyond float16, which ends at 65504; x3 per "
        "layer; beyond it from layer 2");
    expect_trend(80000, 0.5, "; x0.5 per layer; beyond it from layer 0");
    expect_trend(20000, 1, "near the end of float16, which ends at 65504");
}
END_TEST

START_TEST(the_share_is_a_threshold)
{
    const outlier o = {TXD_POINT_RESID_POST, 1, 30000, 1};
    driver d;

    driver_init(&d);
    ck_assert_int_eq(txd_cfg_parse(&d.root, d.arena, "t.cfg",
                                   "checks : { headroom : { near = 0.5; }; };"),
                     TXD_OK);
    ck_assert_int_eq(run(&d, TXD_F16, 65504, &o)->verdict, TXD_VERDICT_PASS);
    driver_finish(&d);
}
END_TEST

/* ---- real passes ---- */

#define MINI                                                                           \
    "model : { preset = \"mini\"; vocab = 23; d_model = 16; n_heads = 2; n_layers = "  \
    "3; d_ff = 16; max_seq_len = 16; }; input : { tokens = ( [3, 1, 4, 15, 9], [8, "   \
    "9, 7] ); pad = \"left\"; }; "
#define FP16 "precision : { backend = \"fp16\"; }; "

START_TEST(a_stream_that_overflows_is_found_in_float16_and_told_in_float32)
{
    for (int layer = 0; layer < 3; layer++) {
        const txd_result *r;
        char text[1024];
        live l;

        for (int half = 0; half < 2; half++) {
            snprintf(text, sizeof text,
                     "%s%s weights : { init = ( { params = \"*\"; scheme = \"normal\"; "
                     "std = 0.5; } ); }; faults : ( { name = \"stream_overflows\"; "
                     "layers = \"%d\"; } );",
                     MINI, half ? FP16 : "", layer);
            live_run(&l, text, "headroom");
            r = live_result(&l, "headroom");
            ck_assert_int_eq(r->verdict, half ? TXD_VERDICT_FAIL : TXD_VERDICT_INFO);
            ck_assert_int_eq(r->findings[0].layer, layer);
            live_finish(&l);
        }
    }
}
END_TEST

START_TEST(scores_are_a_family_of_their_own)
{
    const txd_result *r;
    live l;

    live_run(
        &l,
        "model : { preset = \"mini\"; vocab = 23; d_model = 64; n_heads = 1; "
        "n_layers = 2; d_ff = 16; max_seq_len = 16; }; input : { tokens = [3, 1, 4, "
        "15, 9]; }; weights : { init = ( { params = \"*\"; scheme = "
        "\"xavier_normal\"; }, { params = \"layers.1.norm1.weight\"; scheme = "
        "\"constant\"; value = 120.0; } ); };" FP16,
        "headroom");
    r = live_result(&l, "headroom");
    ck_assert_int_eq(r->verdict, TXD_VERDICT_WARN);
    ck_assert_uint_eq(r->finding_count, 1);
    ck_assert_str_eq(r->findings[0].site, "layers.1.attn.scores");
    ck_assert_msg(strncmp(r->findings[0].message, "scores reach ", 13) == 0, "%s",
                  r->findings[0].message);
    live_finish(&l);
}
END_TEST

START_TEST(padding_is_not_judged)
{
    wrong_token token = {TXD_POINT_RESID_PRE, 1, 1, 0, 65504, 0};
    txd_tap tap = wrong_token_tap(&token);
    live l;

    live_edit(&l, MINI FP16, "headroom", &tap);
    ck_assert_int_eq(live_result(&l, "headroom")->verdict, TXD_VERDICT_PASS);
    live_finish(&l);
    token.token = 3;
    live_edit(&l, MINI FP16, "headroom", &tap);
    ck_assert_int_eq(live_result(&l, "headroom")->verdict, TXD_VERDICT_FAIL);
    ck_assert_str_eq(live_result(&l, "headroom")->findings[0].site,
                     "layers.1.resid.pre");
    live_finish(&l);
    ck_assert_int_eq(token.set, 2);
}
END_TEST

TEST_MAIN(a_quarter_of_the_format_is_silent_and_more_is_a_warning,
          the_end_of_the_format_and_infinities_fail, what_a_nan_makes_is_open,
          float16_would_be_too_small_is_information_with_the_layer,
          the_share_is_a_threshold,
          a_stream_that_overflows_is_found_in_float16_and_told_in_float32,
          scores_are_a_family_of_their_own, padding_is_not_judged)
