/* SPDX-License-Identifier: MIT
 *
 * What the faults of masks do to the weights: which key each query sees then, and how
 * much it gives.
 */
#include <math.h>

#include "planted.h"
#include "suite.h"

enum { B = PLANTED_BATCH, H = 4, T = PLANTED_LENGTH };

/* Row 1 ends with two tokens of padding. */
static bool is_real(size_t b, size_t t)
{
    return b != 1 || t < 5;
}

typedef bool sees(size_t b, size_t h, size_t q, size_t k);

/* Every real query gives weight to these keys and to no other. */
static void expect_seen(const char *cfg, const char *use, sees *seen)
{
    const double *weights;
    planted p;

    planted_run(&p, cfg, use);
    weights = planted_site(&p.faulty, "layers.1.attn.weights")->values;
    for (size_t i = 0; i < (size_t)B * H * T * T; i++) {
        size_t k = i % T, q = i / T % T, h = i / T / T % H, b = i / T / T / H;

        if (is_real(b, q) && (weights[i] != 0) != seen(b, h, q, k))
            ck_abort_msg("%s: batch row %zu, head %zu, query %zu, key %zu: %g", use, b,
                         h, q, k, weights[i]);
    }
    planted_finish(&p);
}

static bool before(size_t b, size_t h, size_t q, size_t k)
{
    (void)h;
    return k < q && is_real(b, k);
}

static bool last_four(size_t b, size_t h, size_t q, size_t k)
{
    (void)h;
    return k <= q && q - k < 4 && is_real(b, k);
}

static bool last_two(size_t b, size_t h, size_t q, size_t k)
{
    (void)h;
    return k <= q && q - k < 2 && is_real(b, k);
}

static bool causal(size_t b, size_t h, size_t q, size_t k)
{
    (void)h;
    return k <= q && is_real(b, k);
}

static bool last_three(size_t b, size_t h, size_t q, size_t k)
{
    (void)h;
    return k <= q && q - k < 3 && is_real(b, k);
}

/* Padding is not later: its positions are 0. */
static bool causal_and_padding(size_t b, size_t h, size_t q, size_t k)
{
    (void)h;
    return k <= q || !is_real(b, k);
}

static bool tiled(size_t b, size_t h, size_t q, size_t k)
{
    (void)q;
    return is_real((b * H + h) % B, k);
}

START_TEST(queries_see_what_the_fault_says)
{
    const char *const window = PLANTED_MODEL("") "mask : { window = 3; };";
    const char *const mixed =
        PLANTED_MODEL("layers = ( { range = \"0\"; window = 3; } );");

    expect_seen(PLANTED_MODEL(""), "{ name = \"diagonal_masked\"; }", before);
    expect_seen(PLANTED_MODEL(""), "{ name = \"documents_ignored\"; }", causal);
    expect_seen(window, "{ name = \"window_off_by_one\"; }", last_four);
    expect_seen(window, "{ name = \"window_off_by_one\"; strength = -1.0; }", last_two);
    expect_seen(window, "{ name = \"window_ignored\"; }", causal);
    expect_seen(mixed, "{ name = \"window_layers_swapped\"; }", last_three);
    expect_seen(PLANTED_MODEL(""), "{ name = \"mask_on_queries\"; }",
                causal_and_padding);
    expect_seen(PLANTED_MODEL("") "mask : { causal = false; };",
                "{ name = \"mask_of_other_sample\"; }", tiled);
}
END_TEST

/* What is added to the scores of one sign of strength. */
static void expect_added(const char *use, double shown, double hidden)
{
    const double *scores, *masked;
    planted p;

    planted_run(&p, PLANTED_MODEL(""), use);
    scores = planted_site(&p.faulty, "layers.1.attn.scores")->values;
    masked = planted_site(&p.faulty, "layers.1.attn.masked")->values;
    for (size_t i = 0; i < (size_t)B * H * T * T; i++) {
        size_t k = i % T, q = i / T % T, b = i / T / T / H;
        double added = causal(b, 0, q, k) ? shown : hidden;

        if (is_real(b, q) && !txd_close(masked[i] - scores[i], added, 1e-12))
            ck_abort_msg("%s: %g became %g", use, scores[i], masked[i]);
    }
    planted_finish(&p);
}

START_TEST(a_mask_is_added_with_either_sense)
{
    expect_added("{ name = \"mask_added\"; }", 1, 0);
    expect_added("{ name = \"mask_added\"; strength = -2.5; }", 0, 2.5);
}
END_TEST

START_TEST(a_constant_above_the_scores_leaves_nothing_of_a_row)
{
    const double *weights, *heads;
    planted p;

    planted_run(&p, PLANTED_MODEL(""),
                "{ name = \"sentinel_above_scores\"; layers = 1; }");
    weights = planted_site(&p.faulty, "layers.1.attn.weights")->values;
    heads = planted_site(&p.faulty, "layers.1.attn.heads")->values;
    for (size_t i = 0; i < (size_t)B * H * T * T; i++)
        if (!(weights[i] == 0))
            ck_abort_msg("weight %g", weights[i]);
    for (size_t i = 0; i < (size_t)B * T * 24; i++)
        if (!(heads[i] == 0))
            ck_abort_msg("output %g", heads[i]);
    planted_finish(&p);
    /* Where scores are above it, it is nothing. */
    planted_run(&p, PLANTED_MODEL(""),
                "{ name = \"sentinel_above_scores\"; strength = -1000.0; }");
    ck_assert_uint_eq(planted_differences_below(&p, "layers."), 0);
    planted_finish(&p);
}
END_TEST

START_TEST(dropped_weights_are_0_and_the_others_larger_by_one_factor)
{
    const double *before, *after;
    size_t dropped = 0, kept = 0;
    planted p;

    planted_run(&p, PLANTED_MODEL(""),
                "{ name = \"dropout_in_eval\"; layers = 1; strength = 0.25; }");
    before = planted_site(&p.healthy, "layers.1.attn.weights")->values;
    after = planted_site(&p.faulty, "layers.1.attn.weights")->values;
    for (size_t i = 0; i < (size_t)B * H * T * T; i++) {
        dropped += before[i] != 0 && after[i] == 0;
        kept += after[i] != 0;
        if (after[i] != 0 && !txd_close(after[i], before[i] / 0.75, 1e-12))
            ck_abort_msg("%g became %g", before[i], after[i]);
    }
    /* Of some 330 within four deviations of a quarter. */
    ck_assert_double_le(fabs((double)dropped / (double)(dropped + kept) - 0.25), 0.1);
    planted_finish(&p);
}
END_TEST

START_TEST(a_softmax_over_queries_has_columns_that_sum_to_1)
{
    const double *weights;
    planted p;

    planted_run(&p, PLANTED_MODEL(""),
                "{ name = \"softmax_over_queries\"; layers = 1; }");
    weights = planted_site(&p.faulty, "layers.1.attn.weights")->values;
    for (size_t bh = 0; bh < (size_t)B * H; bh++)
        for (size_t k = 0; k < T; k++) {
            double sum = 0;

            for (size_t q = 0; q < T; q++)
                sum += weights[(bh * T + q) * T + k];
            if (is_real(bh / H, k))
                ck_assert(txd_close(sum, 1, 1e-12));
        }
    planted_finish(&p);
}
END_TEST

TEST_MAIN(queries_see_what_the_fault_says, a_mask_is_added_with_either_sense,
          a_constant_above_the_scores_leaves_nothing_of_a_row,
          dropped_weights_are_0_and_the_others_larger_by_one_factor,
          a_softmax_over_queries_has_columns_that_sum_to_1)
