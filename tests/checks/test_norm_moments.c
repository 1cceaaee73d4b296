/* SPDX-License-Identifier: MIT
 *
 * The law norm_moments on hand-made outputs of norms.
 */
#include "driver.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MODEL = HEADS * WIDTH };

typedef struct norms {
    driver d;
    double gain[MODEL], bias[MODEL];
    double *z; /* (t, d): mean 0 and mean square 1 per token */
} norms;

/* Along an axis: `count` elements, `stride` apart, get mean 0 and mean square 1. */
static void standardise(double *z, size_t count, size_t stride)
{
    double mean = 0, square = 0;

    for (size_t i = 0; i < count; i++)
        mean += z[i * stride] / (double)count;
    for (size_t i = 0; i < count; i++)
        square += pow(z[i * stride] - mean, 2) / (double)count;
    for (size_t i = 0; i < count; i++)
        z[i * stride] = (z[i * stride] - mean) / sqrt(square);
}

static void init(norms *n, bool centred)
{
    driver_init(&n->d);
    n->d.config.norm = centred ? TXD_NORM_LAYER : TXD_NORM_RMS;
    n->d.config.norm_bias = true;
    n->z = driver_random(&n->d, TXD_POINT_NORM1_OUT, 3);
    for (size_t t = 0; t < LENGTH; t++)
        standardise(n->z + t * MODEL, MODEL, 1);
    for (int i = 0; i < MODEL; i++) {
        n->gain[i] = 0.5 + 0.05 * i;
        n->bias[i] = 0.1 * (i % 7) - 0.2;
    }
}

/* Healthy norms everywhere, but norm2.out of layer 1 has `scale` z + `shift`. */
static const txd_result *run(norms *n, double scale, double shift)
{
    char name[64];

    driver_start(&n->d, "norm_moments");
    for (int l = 0; l < LAYERS; l++)
        for (int i = 0; i < 2; i++) {
            snprintf(name, sizeof name, "layers.%d.norm%d.weight", l, i + 1);
            driver_offer_parameter(&n->d, name, l, n->gain, 1, MODEL);
            snprintf(name, sizeof name, "layers.%d.norm%d.bias", l, i + 1);
            driver_offer_parameter(&n->d, name, l, n->bias, 1, MODEL);
        }
    for (int l = 0; l < LAYERS; l++)
        for (int i = 0; i < 2; i++) {
            txd_point point = i ? TXD_POINT_NORM2_OUT : TXD_POINT_NORM1_OUT;
            bool is_here = l == 1 && i == 1;
            double *out = driver_random(&n->d, point, 1);

            for (size_t e = 0; e < LENGTH * MODEL; e++) {
                double z = is_here ? scale * n->z[e] + shift : n->z[e];

                out[e] = n->gain[e % MODEL] * z + n->bias[e % MODEL];
            }
            driver_offer(&n->d, point, l, out);
        }
    return driver_result(&n->d);
}

static void expect_message(const txd_result *r, txd_verdict verdict, const char *words)
{
    ck_assert_int_eq(r->verdict, verdict);
    ck_assert_msg(strstr(r->findings[0].message, words) != NULL, "%s",
                  r->findings[0].message);
}

START_TEST(healthy_outputs_hold_with_any_gain_and_bias)
{
    for (int centred = 0; centred < 2; centred++) {
        norms n;
        const txd_result *r;

        init(&n, centred);
        r = run(&n, 1, 0);
        ck_assert_int_le(r->verdict, TXD_VERDICT_INFO);
        ck_assert_uint_eq(r->evaluated, 2 * LAYERS * LENGTH);
        driver_finish(&n.d);
    }
}
END_TEST

START_TEST(a_large_mean_square_fails_for_both_kinds_and_a_small_one_is_eps)
{
    for (int centred = 0; centred < 2; centred++) {
        norms n;
        const txd_result *r;

        init(&n, centred);
        r = run(&n, 1.1, 0);
        expect_message(r, TXD_VERDICT_FAIL, "at most mean square 1; 9 of 9 tokens");
        ck_assert_str_eq(r->findings[0].site, "layers.1.norm2.out");
        ck_assert_double_eq_tol(r->findings[0].measured, 0.21, 1e-12);
        ck_assert_int_le(run(&n, 0.3, 0)->verdict, TXD_VERDICT_INFO);
        driver_finish(&n.d);
    }
}
END_TEST

START_TEST(a_mean_fails_after_a_layernorm_and_not_after_an_rmsnorm)
{
    norms n;

    init(&n, true);
    expect_message(run(&n, 0.9, 0.1), TXD_VERDICT_FAIL, "a layernorm gives mean 0");
    driver_finish(&n.d);
    init(&n, false);
    ck_assert_int_le(run(&n, 0.9, 0.1)->verdict, TXD_VERDICT_INFO);
    driver_finish(&n.d);
}
END_TEST

START_TEST(normalising_over_the_tokens_is_named)
{
    for (int centred = 0; centred < 2; centred++) {
        norms n;
        double *good;

        init(&n, centred);
        good = n.z;
        n.z = driver_random(&n.d, TXD_POINT_NORM1_OUT, 5);
        for (size_t i = 0; i < MODEL; i++)
            standardise(n.z + i, LENGTH, MODEL);
        expect_message(run(&n, 1, 0), TXD_VERDICT_FAIL,
                       "over the tokens instead of over the features");
        n.z = good;
        ck_assert_int_le(run(&n, 1, 0)->verdict, TXD_VERDICT_INFO);
        driver_finish(&n.d);
    }
}
END_TEST

START_TEST(gains_near_zero_are_not_divided_out)
{
    norms n;
    const txd_result *r;

    init(&n, false);
    n.gain[3] = 1e-17;
    r = run(&n, 1, 0);
    ck_assert_int_eq(r->verdict, TXD_VERDICT_SKIP);
    ck_assert_ptr_nonnull(strstr(r->note, "gains near 0 cannot be divided out"));
    driver_finish(&n.d);
}
END_TEST

/* As in a model of 1 + weight in bfloat16: -1 is a number like any other. */
START_TEST(a_gain_of_zero_breaks_nothing_with_a_bias_or_without)
{
    static const double biases[] = {0, 0.3};

    for (int i = 0; i < 2; i++) {
        norms n;
        const txd_result *r;

        init(&n, false);
        n.gain[3] = 0;
        n.bias[3] = biases[i];
        r = run(&n, 1, 0);
        ck_assert_int_eq(r->verdict, TXD_VERDICT_SKIP);
        ck_assert_ptr_nonnull(strstr(r->note, "gains near 0 cannot be divided out"));
        driver_finish(&n.d);
    }
}
END_TEST

START_TEST(nan_breaks_the_law_instead_of_passing_and_fails_beside_something_wrong)
{
    norms n;

    init(&n, true);
    n.z[5] = NAN;
    ck_assert_int_eq(run(&n, 1, 0)->verdict, TXD_VERDICT_OPEN);
    ck_assert_int_eq(run(&n, 1.1, 0)->verdict, TXD_VERDICT_FAIL);
    driver_finish(&n.d);
    init(&n, true);
    n.bias[5] = NAN;
    ck_assert_int_eq(run(&n, 1, 0)->verdict, TXD_VERDICT_OPEN);
    driver_finish(&n.d);
}
END_TEST

START_TEST(padded_tokens_are_not_judged)
{
    const int lengths[1] = {6};
    norms n;
    const txd_result *r;

    init(&n, true);
    driver_inputs(&n.d, 1, lengths, false);
    n.z[7 * MODEL] = 50;
    r = run(&n, 1, 0);
    ck_assert_int_le(r->verdict, TXD_VERDICT_INFO);
    ck_assert_uint_eq(r->evaluated, 2 * LAYERS * 6);
    driver_finish(&n.d);
}
END_TEST

/* The gains are all 1: the deviation of the output is that of z. */
START_TEST(the_deviation_is_information_and_before_training_a_warning)
{
    const struct {
        double scale;
        bool is_drawn;
        txd_verdict verdict;
    } cases[] = {{1, true, TXD_VERDICT_PASS},    {0.85, true, TXD_VERDICT_PASS},
                 {0.7, true, TXD_VERDICT_INFO},  {0.4, true, TXD_VERDICT_WARN},
                 {0.4, false, TXD_VERDICT_INFO}, {1, false, TXD_VERDICT_PASS}};

    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        norms n;
        const txd_result *r;

        init(&n, true);
        n.d.is_drawn = cases[c].is_drawn;
        for (int i = 0; i < MODEL; i++) {
            n.gain[i] = 1;
            n.bias[i] = 0;
        }
        r = run(&n, cases[c].scale, 0);
        ck_assert_msg(r->verdict == cases[c].verdict, "case %zu: %s", c,
                      txd_verdict_name(r->verdict));
        if (r->verdict != TXD_VERDICT_PASS) {
            ck_assert_uint_eq(r->finding_count, 1);
            ck_assert_str_eq(r->findings[0].site, "layers.1.norm2.out");
            ck_assert_ptr_nonnull(strstr(r->findings[0].message,
                                         "1 of 6 norms are outside of 0.8 to 1.2"));
        }
        driver_finish(&n.d);
    }
}
END_TEST

/* Narrow tokens, or all tokens equal, have means; eps makes the root mean square small.
 */
START_TEST(before_training_means_are_no_warning_after_an_rmsnorm)
{
    const struct {
        double scale, shift;
        txd_verdict verdict;
        const char *words;
    } cases[] = {{0.3, 0.9, TXD_VERDICT_INFO,
                  "is 0.3; 1 of 6 norms are outside of 0.8 to 1.2: "
                  "tokens have means other than 0"},
                 {0.3, 0.3, TXD_VERDICT_WARN, "eps is of the size of the variance"}};

    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        norms n;

        init(&n, false);
        n.d.is_drawn = true;
        for (int i = 0; i < MODEL; i++) {
            n.gain[i] = 1;
            n.bias[i] = 0;
        }
        expect_message(run(&n, cases[c].scale, cases[c].shift), cases[c].verdict,
                       cases[c].words);
        driver_finish(&n.d);
    }
}
END_TEST

TEST_MAIN(healthy_outputs_hold_with_any_gain_and_bias,
          a_large_mean_square_fails_for_both_kinds_and_a_small_one_is_eps,
          a_mean_fails_after_a_layernorm_and_not_after_an_rmsnorm,
          normalising_over_the_tokens_is_named, gains_near_zero_are_not_divided_out,
          a_gain_of_zero_breaks_nothing_with_a_bias_or_without,
          nan_breaks_the_law_instead_of_passing_and_fails_beside_something_wrong,
          padded_tokens_are_not_judged,
          the_deviation_is_information_and_before_training_a_warning,
          before_training_means_are_no_warning_after_an_rmsnorm)
