/* SPDX-License-Identifier: MIT
 *
 * The law residual_sum on hand-made residual streams.
 */
#include "driver.h"

#include <math.h>
#include <string.h>

/* out = a * in + b * branch */
static double *combine(driver *d, double a, const double *in, double b,
                       const double *branch)
{
    size_t count = driver_count(d, TXD_POINT_RESID_MID);
    double *out = txd_arena_alloc(d->arena, count, sizeof *out);

    for (size_t i = 0; i < count; i++)
        out[i] = a * in[i] + b * branch[i];
    return out;
}

typedef struct plant {
    int layer;
    txd_point sum;
    double a, b;     /* healthy: 1, 1 */
    int64_t element; /* of the sum, set to value; -1 = none */
    double value;
} plant;

static double *sum_of(driver *d, const plant *p, int layer, txd_point sum,
                      const double *in, const double *branch)
{
    bool is_here = p->layer == layer && p->sum == sum;
    double *out = combine(d, is_here ? p->a : 1, in, is_here ? p->b : 1, branch);

    if (is_here && p->element >= 0)
        out[p->element] = p->value;
    return out;
}

static const txd_result *run(driver *d, const plant *p)
{
    bool post_norm = d->config.norm_placement == TXD_PLACEMENT_POST;

    driver_start(d, "residual_sum");
    for (int l = 0; l < LAYERS; l++) {
        double *in = driver_random(d, TXD_POINT_RESID_PRE, 10);
        double *attn = driver_random(d, TXD_POINT_ATTN_BRANCH, 20);
        double *norm = driver_random(d, TXD_POINT_NORM1_OUT, 30);
        double *mlp = driver_random(d, TXD_POINT_MLP_BRANCH, 40);
        double *mid = sum_of(d, p, l, TXD_POINT_RESID_MID, in, attn);

        driver_offer(d, TXD_POINT_RESID_PRE, l, in);
        driver_offer(d, TXD_POINT_NORM1_OUT, l, norm);
        driver_offer(d, TXD_POINT_ATTN_BRANCH, l, attn);
        driver_offer(d, TXD_POINT_RESID_MID, l, mid);
        driver_offer(d, TXD_POINT_MLP_BRANCH, l, mlp);
        driver_offer(
            d, TXD_POINT_RESID_POST, l,
            sum_of(d, p, l, TXD_POINT_RESID_POST, post_norm ? norm : mid, mlp));
    }
    return driver_result(d);
}

static const plant healthy = {.layer = -1, .element = -1};

START_TEST(healthy_sums_pass_with_either_placement_of_norms)
{
    for (int post = 0; post < 2; post++) {
        driver d;
        const txd_result *r;

        driver_init(&d);
        d.config.norm_placement = post ? TXD_PLACEMENT_POST : TXD_PLACEMENT_PRE;
        r = run(&d, &healthy);
        ck_assert_int_eq(r->verdict, TXD_VERDICT_PASS);
        ck_assert_uint_eq(r->evaluated, 2 * LAYERS * LENGTH * HEADS * WIDTH);
        driver_finish(&d);
    }
}
END_TEST

START_TEST(a_missing_residual_is_named_in_every_layer_and_at_both_sums)
{
    const txd_point sums[] = {TXD_POINT_RESID_MID, TXD_POINT_RESID_POST};
    const char *missing[] = {"residual input resid.pre is missing",
                             "residual input resid.mid is missing"};

    for (int i = 0; i < 2 * LAYERS; i++) {
        plant p = {i / 2, sums[i % 2], 0, 1, -1, 0};
        driver d;
        const txd_result *r;
        char site[64];

        driver_init(&d);
        r = run(&d, &p);
        txd_point_name(site, sizeof site, p.sum, p.layer);
        ck_assert_int_eq(r->verdict, TXD_VERDICT_FAIL);
        ck_assert_uint_eq(r->finding_count, 1);
        ck_assert_str_eq(r->findings[0].site, site);
        ck_assert_ptr_nonnull(strstr(r->findings[0].message, missing[i % 2]));
        driver_finish(&d);
    }
}
END_TEST

START_TEST(a_missing_branch_and_a_scaled_branch_are_told_apart)
{
    const plant plants[] = {{1, TXD_POINT_RESID_MID, 1, 0, -1, 0},
                            {1, TXD_POINT_RESID_MID, 1, 0.5, -1, 0},
                            {1, TXD_POINT_RESID_POST, 2, 1, -1, 0}};
    const char *words[] = {"the branch attn.branch is missing",
                           "resid.pre + 0.5 x attn.branch, the branch is scaled",
                           "2 x resid.mid + mlp.branch, the residual input is scaled"};

    for (int i = 0; i < 3; i++) {
        driver d;
        const txd_result *r;

        driver_init(&d);
        r = run(&d, &plants[i]);
        ck_assert_int_eq(r->verdict, TXD_VERDICT_FAIL);
        ck_assert_msg(strstr(r->findings[0].message, words[i]) != NULL, "%s",
                      r->findings[0].message);
        driver_finish(&d);
    }
}
END_TEST

START_TEST(one_wrong_element_is_found_and_located)
{
    plant p = {2, TXD_POINT_RESID_POST, 1, 1, 8 * HEADS * WIDTH + 31, 5};
    driver d;
    const txd_result *r;

    driver_init(&d);
    r = run(&d, &p);
    ck_assert_int_eq(r->verdict, TXD_VERDICT_FAIL);
    ck_assert_uint_eq(r->finding_total, 1);
    ck_assert_int_eq(r->findings[0].query, 8);
    ck_assert_ptr_nonnull(strstr(r->findings[0].message, "token 8, channel 31 is 5"));
    driver_finish(&d);
}
END_TEST

START_TEST(one_rounding_is_allowed_and_no_more)
{
    const int steps[] = {0, 1, 4}; /* numbers away from the right one */
    const txd_verdict verdicts[] = {TXD_VERDICT_PASS, TXD_VERDICT_PASS,
                                    TXD_VERDICT_FAIL};

    for (int i = 0; i < 3; i++) {
        driver d;
        double *in, *branch, *out;

        driver_init(&d);
        driver_start(&d, "residual_sum");
        in = driver_random(&d, TXD_POINT_RESID_PRE, 1);
        branch = driver_random(&d, TXD_POINT_ATTN_BRANCH, 2);
        out = combine(&d, 1, in, 1, branch);
        for (int step = 0; step < steps[i]; step++)
            out[77] = nextafter(out[77], INFINITY);
        driver_offer(&d, TXD_POINT_RESID_PRE, 0, in);
        driver_offer(&d, TXD_POINT_ATTN_BRANCH, 0, branch);
        driver_offer(&d, TXD_POINT_RESID_MID, 0, out);
        ck_assert_int_eq(driver_result(&d)->verdict, verdicts[i]);
        driver_finish(&d);
    }
}
END_TEST

START_TEST(a_nan_from_finite_operands_fails)
{
    plant p = {0, TXD_POINT_RESID_MID, 1, 1, 0, NAN};
    driver d;
    const txd_result *r;

    driver_init(&d);
    r = run(&d, &p);
    ck_assert_int_eq(r->verdict, TXD_VERDICT_FAIL);
    ck_assert(isnan(r->findings[0].measured));
    driver_finish(&d);
}
END_TEST

START_TEST(sums_of_operands_that_are_not_finite_are_left_to_finite)
{
    driver d;
    const txd_result *r;
    double *in, *branch;

    driver_init(&d);
    driver_start(&d, "residual_sum");
    in = driver_random(&d, TXD_POINT_RESID_PRE, 1);
    branch = driver_random(&d, TXD_POINT_ATTN_BRANCH, 2);
    in[3] = NAN;
    driver_offer(&d, TXD_POINT_RESID_PRE, 0, in);
    driver_offer(&d, TXD_POINT_ATTN_BRANCH, 0, branch);
    driver_offer(&d, TXD_POINT_RESID_MID, 0, combine(&d, 1, in, 1, branch));
    r = driver_result(&d);
    ck_assert_int_eq(r->verdict, TXD_VERDICT_PASS);
    ck_assert_uint_eq(r->evaluated, LENGTH * HEADS * WIDTH - 1);
    ck_assert_ptr_nonnull(strstr(r->note, "1 sums that are not finite"));
    driver_finish(&d);
}
END_TEST

START_TEST(padded_tokens_are_not_judged)
{
    const int lengths[1] = {6};
    plant p = {1, TXD_POINT_RESID_MID, 1, 1, 7 * HEADS * WIDTH, 5};
    driver d;

    driver_init(&d);
    driver_inputs(&d, 1, lengths, false);
    ck_assert_int_eq(run(&d, &p)->verdict, TXD_VERDICT_PASS);
    driver_finish(&d);
}
END_TEST

TEST_MAIN(healthy_sums_pass_with_either_placement_of_norms,
          a_missing_residual_is_named_in_every_layer_and_at_both_sums,
          a_missing_branch_and_a_scaled_branch_are_told_apart,
          one_wrong_element_is_found_and_located, one_rounding_is_allowed_and_no_more,
          a_nan_from_finite_operands_fails,
          sums_of_operands_that_are_not_finite_are_left_to_finite,
          padded_tokens_are_not_judged)
