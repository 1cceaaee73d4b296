/* SPDX-License-Identifier: MIT
 *
 * Faults of precision: the digits that they leave, and where they differ from a backend
 * of that format.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "planted.h"
#include "suite.h"
#include "worst.h"

enum { B = PLANTED_BATCH, T = PLANTED_LENGTH, H = 4 };

static bool has_bits(double value, double unit)
{
    int exponent;
    double mantissa = frexp(value, &exponent);

    return isfinite(value) && rint(mantissa * unit) == mantissa * unit;
}

START_TEST(bfloat16_shows_in_digits_and_in_sums)
{
    const double *weights, *rows;
    double worst = 0;
    planted p;

    planted_run(&p, PLANTED_MODEL(""), "{ name = \"softmax_bf16\"; }");
    weights = planted_site(&p.faulty, "layers.0.attn.weights")->values;
    rows = planted_site(&p.faulty, "layers.0.attn.weights")->rows;
    for (size_t row = 0; row < (size_t)B * H * T; row++) {
        const double *column = rows + row * TXD_ROW_COUNT;
        bool is_real = p.faulty.inputs.valid[row / H / T * T + row % T];
        double sum = 0;

        if (is_real) { /* padding has no row statistics */
            ck_assert(has_bits(column[TXD_ROW_MAX], 0x1p8));
            ck_assert(has_bits(column[TXD_ROW_LSE], 0x1p8));
        }
        for (size_t k = 0; k < T; k++) {
            ck_assert(has_bits(weights[row * T + k], 0x1p8));
            sum += weights[row * T + k];
        }
        worst = worst_of(worst, fabs(sum - 1));
    }
    ck_assert_double_gt(worst, 1e-3);
    ck_assert_double_lt(worst, 3e-2);
    planted_finish(&p);
}
END_TEST

/* Rows of two keys have sums without steps: the backend that rounds them, too, gives
 * the same bits (the scores are those of bfloat16 in both). */
START_TEST(bfloat16_is_that_of_the_backend)
{
    static const char *const cfgs[] = {
        PLANTED_MODEL(
            "") "mask : { window = 2; }; precision : { softmax = \"same\"; };",
        PLANTED_MODEL("") "mask : { window = 2; };"};
    const double *values[2];
    observed o[2] = {{0}, {0}};

    for (int i = 0; i < 2; i++) {
        OK(observe_cfg(&o[i], cfgs[i], "bf16"));
        planted_inputs(&o[i]);
        if (i == 1)
            OK(observe_faults(
                &o[i],
                "backend = \"bf16\"; faults = ( { name = \"softmax_bf16\"; } );"));
        OK(observe_pass(&o[i]));
        values[i] = planted_site(&o[i], "layers.2.attn.weights")->values;
    }
    ck_assert_mem_eq(values[0], values[1], (size_t)B * H * T * T * sizeof(double));
    observe_finish(&o[0]);
    observe_finish(&o[1]);
}
END_TEST

START_TEST(what_a_fault_stores_has_the_digits_of_the_backend)
{
    static const char *const cases[][2] = {
        {"norm_axis_tokens", "layers.0.norm1.out"},
        {"norm_axis_tokens", "layers.1.norm1.weight@grad"},
        {"softmax_jacobian_wrong", "layers.0.attn.masked@grad"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct observed_site *site;
        observed o = {.backward = true};
        size_t odd = 0;
        char faults[96];

        OK(observe_cfg(&o, PLANTED_MODEL(""), "bf16"));
        planted_inputs(&o);
        snprintf(faults, sizeof faults,
                 "backend = \"bf16\"; faults = ( { name = \"%s\"; } );", cases[i][0]);
        OK(observe_faults(&o, faults));
        OK(observe_pass(&o));
        site = planted_site(&o, cases[i][1]);
        for (size_t e = 0; e < site->count; e++) {
            ck_assert(has_bits(site->values[e], 0x1p8));
            odd += !has_bits(site->values[e], 0x1p7);
        }
        ck_assert_uint_gt(odd, 0);
        observe_finish(&o);
    }
}
END_TEST

/* 300 keys of the same score: 256 + 1 is 256 in 8 bits. */
START_TEST(a_sum_in_bfloat16_stands_still_at_256)
{
    observed o = {0};
    const double *last;

    OK(observe_cfg(&o,
                   "model : { preset = \"mini\"; vocab = 17; d_model = 8; n_heads = 2; "
                   "n_layers = 1; max_seq_len = 300; }; weights : { init = ( { "
                   "params = \"*\"; scheme = \"constant\"; value = 0.0; } ); };",
                   "ref64"));
    OK(observe_random(&o, 1, 300));
    OK(observe_faults(&o, "faults = ( { name = \"softmax_bf16\"; } );"));
    OK(observe_pass(&o));
    last = planted_site(&o, "layers.0.attn.weights")->values + (size_t)299 * 300;
    ck_assert_double_eq(last[0], 1.0 / 256);
    ck_assert_double_eq(last[299], 1.0 / 256);
    observe_finish(&o);
}
END_TEST

START_TEST(float16_scores_have_11_bits_and_end_at_65504)
{
    const double *scores;
    planted p;

    planted_run(&p, PLANTED_MODEL(""), "{ name = \"fp16_scores\"; }");
    scores = planted_site(&p.faulty, "layers.0.attn.scores")->values;
    for (size_t i = 0; i < (size_t)B * H * T * T; i++)
        ck_assert(fabs(scores[i]) < 0x1p-14 || has_bits(scores[i], 0x1p11));
    planted_finish(&p);
    planted_run(&p, PLANTED_MODEL("score_scale = 1e9;"), "{ name = \"fp16_scores\"; }");
    scores = planted_site(&p.faulty, "layers.0.attn.scores")->values;
    ck_assert(isinf(scores[0]));
    ck_assert(isfinite(planted_site(&p.healthy, "layers.0.attn.scores")->values[0]));
    planted_finish(&p);
}
END_TEST

TEST_MAIN(bfloat16_shows_in_digits_and_in_sums, bfloat16_is_that_of_the_backend,
          what_a_fault_stores_has_the_digits_of_the_backend,
          a_sum_in_bfloat16_stands_still_at_256,
          float16_scores_have_11_bits_and_end_at_65504)
