/* SPDX-License-Identifier: MIT
 *
 * What becomes of scores before the softmax, and of a row beside a sink: the laws
 * score_cap, score_bias and sink_share on values made by hand, and on planted faults.
 */
#include "planting.h"

#include "driver.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { CELLS = HEADS * LENGTH * LENGTH };
enum { SEEN = LENGTH * (LENGTH + 1) / 2 };   /* cells of a head that are seen */
enum { AT = (2 * LENGTH + 7) * LENGTH + 3 }; /* head 2, query 7, key 3 */

static const txd_result *offer(driver *d, const char *law, txd_point first, double *x,
                               txd_point second, double *y)
{
    driver_start(d, law);
    if (x)
        driver_offer(d, first, 1, x);
    driver_offer(d, second, 1, y);
    return driver_result(d);
}

static void expect(const txd_result *r, txd_verdict verdict, const char *words)
{
    ck_assert_msg(r->verdict == verdict, "%s: %s %s", r->check,
                  txd_verdict_name(r->verdict),
                  r->finding_count > 0 ? r->findings[0].message : r->note);
    if (words)
        ck_assert_msg(strstr(r->findings[0].message, words) != NULL, "%s",
                      r->findings[0].message);
}

/* ---- capping ---- */

enum { CAP = 2 };

static double capped(double x)
{
    return CAP * tanh(x / CAP);
}

static double not_capped(double x)
{
    return x;
}

static double clipped(double x)
{
    return fmax(-CAP, fmin(CAP, x));
}

static double undivided(double x)
{
    return CAP * tanh(x);
}

static double capped_at_3(double x)
{
    return 3 * tanh(x / 3);
}

static const txd_result *cap(driver *d, double (*bend)(double x), double by)
{
    double *scores, *out;

    driver_init(d);
    for (int l = 0; l < LAYERS; l++)
        d->config.layers[l].score_softcap = CAP;
    scores = driver_random(d, TXD_POINT_ATTN_SCORES, 5);
    out = driver_random(d, TXD_POINT_ATTN_SCORES, 5);
    for (size_t i = 0; i < CELLS; i++) {
        scores[i] *= 5;
        out[i] = bend(scores[i]);
    }
    scores[AT] = 1;
    out[AT] = bend(1) + by;
    return offer(d, "score_cap", TXD_POINT_ATTN_SCORES, scores, TXD_POINT_ATTN_CAPPED,
                 out);
}

START_TEST(capped_scores_pass_and_other_bends_are_named)
{
    const struct {
        double (*bend)(double x);
        const char *words;
    } cases[] = {{not_capped, "the cap is left out"},
                 {clipped, "cut off at the cap"},
                 {undivided, "is not divided by the cap"},
                 {capped_at_3, "as a cap of 3 has it"}};
    driver d;

    expect(cap(&d, capped, 0), TXD_VERDICT_PASS, NULL);
    ck_assert_uint_eq(driver_result(&d)->evaluated, HEADS * SEEN);
    driver_finish(&d);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const txd_result *r = cap(&d, cases[i].bend, 0);

        expect(r, TXD_VERDICT_FAIL, cases[i].words);
        ck_assert_str_eq(r->findings[0].site, "layers.1.attn.capped");
        driver_finish(&d);
    }
}
END_TEST

/* 2 tanh(1/2) = 0.92: 20 roundings of 2^-53 and one are 19.4 x 2^-53, and a little. */
START_TEST(a_capped_score_may_be_off_by_roundings_and_no_more)
{
    driver d;
    const txd_result *r;

    expect(cap(&d, capped, 18 * 0x1p-53), TXD_VERDICT_PASS, NULL);
    driver_finish(&d);
    r = cap(&d, capped, 24 * 0x1p-53);
    expect(r, TXD_VERDICT_FAIL, "query 7, key 3: the score 1 becomes");
    ck_assert_uint_eq(r->finding_total, 1);
    ck_assert_int_eq(r->findings[0].head, 2);
    driver_finish(&d);
    expect(cap(&d, capped, NAN), TXD_VERDICT_FAIL, NULL);
    driver_finish(&d);
}
END_TEST

START_TEST(a_score_that_is_nan_leaves_the_cap_open_and_no_cap_is_skipped)
{
    driver d;
    double *x;

    (void)cap(&d, capped, 0);
    x = driver_random(&d, TXD_POINT_ATTN_SCORES, 5);
    x[AT] = NAN;
    expect(offer(&d, "score_cap", TXD_POINT_ATTN_SCORES, x, TXD_POINT_ATTN_CAPPED,
                 driver_random(&d, TXD_POINT_ATTN_SCORES, 5)),
           TXD_VERDICT_FAIL, "the cap is left out");
    for (size_t i = 0; i < CELLS; i++)
        x[i] = NAN;
    expect(offer(&d, "score_cap", TXD_POINT_ATTN_SCORES, x, TXD_POINT_ATTN_CAPPED, x),
           TXD_VERDICT_OPEN, NULL);
    driver_finish(&d);
    driver_init(&d);
    driver_start(&d, "score_cap");
    expect(driver_result(&d), TXD_VERDICT_SKIP, NULL);
    driver_finish(&d);
}
END_TEST

/* ---- biases by distance ---- */

static void fill_bias(driver *d, double *out, double (*slope)(size_t head))
{
    for (size_t h = 0; h < HEADS; h++)
        for (size_t q = 0; q < LENGTH; q++)
            for (size_t k = 0; k < LENGTH; k++)
                out[driver_at(d, 0, h, q, k)] = -slope(h) * fabs((double)q - (double)k);
}

/* Of four heads: 1/4, 1/16, 1/64, 1/256. */
static double quarter(size_t head)
{
    return ldexp(1, -2 * (int)(head + 1));
}

static double from_one(size_t head)
{
    return ldexp(1, -2 * (int)head);
}

static double wrong_sign(size_t head)
{
    return -quarter(head);
}

static double turned_round(size_t head)
{
    return quarter(HEADS - 1 - head);
}

static double always_one(size_t head)
{
    (void)head;
    return 1;
}

static const txd_result *bias(driver *d, double (*slope)(size_t head), double by)
{
    double *out;

    driver_init(d);
    d->config.positions = TXD_POSITIONS_ALIBI;
    out = driver_random(d, TXD_POINT_ATTN_SCORES, 5);
    fill_bias(d, out, slope);
    out[AT] += by;
    return offer(d, "score_bias", TXD_POINT_ATTN_SCORES, NULL, TXD_POINT_ATTN_BIAS,
                 out);
}

START_TEST(slopes_of_alibi_pass_and_others_are_named)
{
    const struct {
        double (*slope)(size_t head);
        const char *words;
    } cases[] = {{from_one, "with h from 0 instead of 1"},
                 {wrong_sign, "the wrong sign"},
                 {turned_round, "the reverse order"},
                 {always_one, "the slope of the head is 1 instead of"}};
    driver d;

    expect(bias(&d, quarter, 0), TXD_VERDICT_PASS, NULL);
    ck_assert_uint_eq(driver_result(&d)->evaluated, HEADS * SEEN);
    driver_finish(&d);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const txd_result *r = bias(&d, cases[i].slope, 0);

        expect(r, TXD_VERDICT_FAIL, cases[i].words);
        ck_assert_str_eq(r->findings[0].site, "layers.1.attn.bias");
        driver_finish(&d);
    }
}
END_TEST

/* -4/64 at the cell: three roundings of 2^-53 of it. */
START_TEST(a_bias_may_be_off_by_three_roundings_and_no_more)
{
    driver d;
    const txd_result *r;

    expect(bias(&d, quarter, 2 * 0x1p-57), TXD_VERDICT_PASS, NULL);
    driver_finish(&d);
    r = bias(&d, quarter, 4 * 0x1p-57);
    expect(r, TXD_VERDICT_FAIL, "query 7, key 3: the bias is");
    ck_assert_uint_eq(r->finding_total, 1);
    driver_finish(&d);
    expect(bias(&d, quarter, NAN), TXD_VERDICT_FAIL, NULL);
    driver_finish(&d);
}
END_TEST

static const txd_result *relative(driver *d, bool has_table, double by)
{
    enum { BUCKETS = 8 };
    double *out, *table;

    driver_init(d);
    d->config.positions = TXD_POSITIONS_RELATIVE;
    d->config.relative_buckets = BUCKETS;
    d->config.relative_distance = 16;
    table = driver_numbers(d, (size_t)BUCKETS * HEADS, 9);
    out = driver_random(d, TXD_POINT_ATTN_SCORES, 5);
    for (size_t h = 0; h < HEADS; h++)
        for (size_t q = 0; q < LENGTH; q++)
            for (size_t k = 0; k <= q; k++) /* near: a bucket each; then two and two */
                out[driver_at(d, 0, h, q, k)] = table[(q - k < 4   ? q - k
                                                       : q - k < 6 ? 4
                                                       : q - k < 8 ? 5
                                                                   : 6) *
                                                          HEADS +
                                                      h];
    out[AT] += by;
    driver_start(d, "score_bias");
    if (has_table)
        driver_offer_parameter(d, "attn.relative.weight", -1, table, BUCKETS, HEADS);
    driver_offer(d, TXD_POINT_ATTN_BIAS, 1, out);
    return driver_result(d);
}

/* Distance 4 is the first of its bucket, which distance 5 shares. */
START_TEST(a_table_of_distances_is_one_number_per_bucket_and_head)
{
    for (int table = 0; table < 2; table++) {
        driver d;

        expect(relative(&d, table == 1, 0), TXD_VERDICT_PASS, NULL);
        ck_assert_uint_eq(driver_result(&d)->evaluated, HEADS * SEEN);
        driver_finish(&d);
        expect(relative(&d, table == 1, 1e-9), TXD_VERDICT_FAIL,
               table ? "query 7, key 3" : "does not depend on that alone");
        driver_finish(&d);
    }
}
END_TEST

/* ---- sinks ---- */

static double sinks[HEADS] = {0.5, -1, 2, 0};

/* Weights beside sinks z + by, and beside `extra` more in head 2. */
static const txd_result *beside(driver *d, bool is_known, double by, double in_head_2)
{
    double *masked, *weights;

    driver_init(d);
    d->config.sinks = true;
    masked = driver_random(d, TXD_POINT_ATTN_SCORES, 3);
    weights = driver_random(d, TXD_POINT_ATTN_SCORES, 3);
    for (size_t row = 0; row < CELLS / LENGTH; row++) {
        size_t q = row % LENGTH, h = row / LENGTH;
        double sum = exp(sinks[h] + by + (h == 2 && q >= 4 ? in_head_2 : 0));

        for (size_t k = 0; k <= q; k++)
            sum += exp(masked[row * LENGTH + k]);
        for (size_t k = 0; k < LENGTH; k++) {
            weights[row * LENGTH + k] =
                k <= q ? exp(masked[row * LENGTH + k]) / sum : 0;
            if (k > q)
                masked[row * LENGTH + k] = -INFINITY;
        }
    }
    driver_start(d, "sink_share");
    if (is_known)
        driver_offer_parameter(d, "layers.1.attn.sink.weight", 1, sinks, 1, HEADS);
    driver_offer(d, TXD_POINT_ATTN_MASKED, 1, masked);
    driver_offer(d, TXD_POINT_ATTN_WEIGHTS, 1, weights);
    return driver_result(d);
}

START_TEST(sinks_have_their_share_and_others_are_told)
{
    const struct {
        bool is_known;
        double by, in_head_2;
        txd_verdict verdict;
        const char *words;
    } cases[] = {
        {true, 0, 0, TXD_VERDICT_PASS, NULL},
        {false, 0, 0, TXD_VERDICT_PASS, NULL},
        {true, -INFINITY, 0, TXD_VERDICT_FAIL, "the sink has no share"},
        {true, 1, 0, TXD_VERDICT_FAIL, "as a sink of"},
        {false, 1, 0, TXD_VERDICT_PASS, NULL}, /* one number per head all the same */
        {false, 0, 1e-12, TXD_VERDICT_FAIL, "as a sink of"},
        {true, 0, 1e-12, TXD_VERDICT_FAIL, "as a sink of"},
        {false, -INFINITY, 0, TXD_VERDICT_WARN, "no sink has a share"},
        {true, NAN, 0, TXD_VERDICT_FAIL, NULL},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        driver d;
        const txd_result *r =
            beside(&d, cases[i].is_known, cases[i].by, cases[i].in_head_2);

        ck_assert_msg(r->verdict == cases[i].verdict, "%zu: %s", i,
                      txd_verdict_name(r->verdict));
        if (cases[i].words)
            expect(r, cases[i].verdict, cases[i].words);
        if (cases[i].verdict == TXD_VERDICT_PASS)
            ck_assert_uint_eq(r->evaluated, HEADS * LENGTH);
        if (cases[i].in_head_2 != 0)
            ck_assert_int_eq(r->findings[0].head, 2);
        driver_finish(&d);
    }
}
END_TEST

/* ---- planted ---- */

static void expect_planted(const trial *t, const char *law, const char *words)
{
    live l;

    ck_assert(trial_run(&l, t, law));
    expect_trip(&l, t, law);
    expect(live_result(&l, law), TXD_VERDICT_FAIL, words);
    live_finish(&l);
}

START_TEST(planted_faults_are_named_in_the_first_a_middle_and_the_last_layer)
{
    for (int layer = 0; layer < 5; layer += 2) {
        expect_planted(&(trial){SUBJECT_SLOPES, "softcap_missing", layer, NULL, NULL},
                       "score_cap", "the cap is left out");
        expect_planted(
            &(trial){SUBJECT_SLOPES, "alibi_slopes_wrong", layer, NULL, NULL},
            "score_bias", "one geometric series");
        expect_planted(&(trial){SUBJECT_SLOPES, "sinks_ignored", layer, NULL, NULL},
                       "sink_share", "the sink has no share");
        expect_planted(&(trial){SUBJECT_RANGES, "qk_norm_missing", layer, NULL, NULL},
                       "norm_output", "rmsnorm of attn.q_proj");
        expect_planted(
            &(trial){SUBJECT_LLAMA, "scale_by_model_width", layer, NULL, NULL},
            "score_scale", "1/sqrt(d_model)");
        expect_planted(&(trial){SUBJECT_MINI, "scale_twice", layer, NULL, NULL},
                       "score_scale", "the scale applied twice");
        expect_planted(&(trial){SUBJECT_MINI, "values_from_keys", layer, NULL, NULL},
                       "qkv_distinct", "key");
    }
}
END_TEST

TEST_MAIN(capped_scores_pass_and_other_bends_are_named,
          a_capped_score_may_be_off_by_roundings_and_no_more,
          a_score_that_is_nan_leaves_the_cap_open_and_no_cap_is_skipped,
          slopes_of_alibi_pass_and_others_are_named,
          a_bias_may_be_off_by_three_roundings_and_no_more,
          a_table_of_distances_is_one_number_per_bucket_and_head,
          sinks_have_their_share_and_others_are_told,
          planted_faults_are_named_in_the_first_a_middle_and_the_last_layer)
