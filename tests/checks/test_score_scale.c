/* SPDX-License-Identifier: MIT
 *
 * The law score_scale on hand-made queries, keys and scores.
 */
#include "driver.h"

#include <math.h>
#include <string.h>

typedef struct plant {
    int layer, head; /* head -1 = all */
    double scale;
    double add;   /* to the score of (query 5, key 2) of the head */
    double curve; /* scores become curve * tanh(score / curve); 0 = not */
} plant;

static double product(const driver *d, const double *q, const double *k, size_t at[4])
{
    size_t n = d->inputs.length, groups = d->config.n_kv_heads;
    const double *a = q + ((at[0] * HEADS + at[1]) * n + at[2]) * WIDTH;
    const double *b =
        k + ((at[0] * groups + at[1] / (HEADS / groups)) * n + at[3]) * WIDTH;
    double sum = 0;

    for (size_t i = 0; i < WIDTH; i++)
        sum += a[i] * b[i];
    return sum;
}

static double *scores_of(driver *d, const plant *p, int layer, const double *q,
                         const double *k)
{
    size_t n = d->inputs.length, count = driver_count(d, TXD_POINT_ATTN_SCORES);
    double *scores = txd_arena_alloc(d->arena, count, sizeof *scores);

    for (size_t i = 0; i < count; i++) {
        size_t at[4] = {i / n / n / HEADS, i / n / n % HEADS, i / n % n, i % n};
        bool is_here = layer == p->layer && (p->head < 0 || (size_t)p->head == at[1]);

        scores[i] = product(d, q, k, at) * (is_here ? p->scale : 1 / sqrt(WIDTH));
        if (is_here && p->curve != 0)
            scores[i] = p->curve * tanh(scores[i] / p->curve);
        if (is_here && at[2] == 5 && at[3] == 2)
            scores[i] += p->add;
    }
    return scores;
}

static const txd_result *run(driver *d, const plant *p)
{
    driver_start(d, "score_scale");
    for (int l = 0; l < LAYERS; l++) {
        double *q = driver_random(d, TXD_POINT_ATTN_Q, 5);
        double *k = driver_random(d, TXD_POINT_ATTN_K, 6);

        driver_offer(d, TXD_POINT_ATTN_Q, l, q);
        driver_offer(d, TXD_POINT_ATTN_K, l, k);
        driver_offer(d, TXD_POINT_ATTN_SCORES, l, scores_of(d, p, l, q, k));
    }
    return driver_result(d);
}

START_TEST(healthy_scores_pass)
{
    const plant healthy = {.layer = -1};
    driver d;
    const txd_result *r;

    driver_init(&d);
    r = run(&d, &healthy);
    ck_assert_int_eq(r->verdict, TXD_VERDICT_PASS);
    ck_assert_uint_eq(r->evaluated, LAYERS * HEADS * 45);
    ck_assert_double_lt(r->allowed, 1e-13);
    driver_finish(&d);
}
END_TEST

START_TEST(a_missing_scale_is_named_in_every_layer)
{
    for (int layer = 0; layer < LAYERS; layer++) {
        plant p = {layer, -1, 1, 0, 0};
        driver d;
        const txd_result *r;
        char site[64];

        driver_init(&d);
        r = run(&d, &p);
        txd_point_name(site, sizeof site, TXD_POINT_ATTN_SCORES, layer);
        ck_assert_int_eq(r->verdict, TXD_VERDICT_FAIL);
        ck_assert_uint_eq(r->finding_count, 1);
        ck_assert_str_eq(r->findings[0].site, site);
        ck_assert_ptr_nonnull(strstr(r->findings[0].message, "no scale at all"));
        ck_assert_ptr_nonnull(strstr(r->findings[0].message, "4 of 4 heads"));
        driver_finish(&d);
    }
}
END_TEST

START_TEST(one_head_alone_is_found_the_first_a_middle_and_the_last)
{
    for (int head = 0; head < HEADS; head++) {
        plant p = {1, head, 1, 0, 0};
        driver d;
        const txd_result *r;

        driver_init(&d);
        r = run(&d, &p);
        ck_assert_int_eq(r->verdict, TXD_VERDICT_FAIL);
        ck_assert_int_eq(r->findings[0].head, head);
        ck_assert_ptr_nonnull(strstr(r->findings[0].message, "1 of 4 heads"));
        driver_finish(&d);
    }
}
END_TEST

START_TEST(the_slope_names_the_scale_that_was_used)
{
    const double scale = 1 / sqrt(WIDTH);
    const struct {
        double slope;
        const char *name;
    } cases[] = {
        {1.0 / WIDTH, "1/head_dim"},
        {1 / sqrt(HEADS * WIDTH), "1/sqrt(d_model)"},
        {1 / sqrt(HEADS), "1/sqrt(n_heads)"},
        {scale * scale, "the scale applied twice"},
        {sqrt(WIDTH), "divided by instead of multiplied"},
        {-scale, "wrong sign"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        plant p = {0, -1, cases[i].slope, 0, 0};
        driver d;
        const txd_result *r;

        driver_init(&d);
        r = run(&d, &p);
        ck_assert_int_eq(r->verdict, TXD_VERDICT_FAIL);
        ck_assert_msg(strstr(r->findings[0].message, cases[i].name) != NULL, "%s",
                      r->findings[0].message);
        driver_finish(&d);
    }
}
END_TEST

START_TEST(a_scale_off_by_a_thousandth_fails_and_gets_no_wrong_name)
{
    plant p = {2, 3, 1.001 / sqrt(WIDTH), 0, 0};
    driver d;
    const txd_result *r;

    driver_init(&d);
    r = run(&d, &p);
    ck_assert_int_eq(r->verdict, TXD_VERDICT_FAIL);
    ck_assert_ptr_null(strstr(r->findings[0].message, "1/sqrt"));
    driver_finish(&d);
}
END_TEST

START_TEST(a_single_wrong_score_is_located)
{
    plant p = {1, 2, 1 / sqrt(WIDTH), 1e-4, 0};
    driver d;
    const txd_result *r;

    driver_init(&d);
    r = run(&d, &p);
    ck_assert_int_eq(r->verdict, TXD_VERDICT_FAIL);
    ck_assert_uint_eq(r->finding_total, 1);
    ck_assert_int_eq(r->findings[0].head, 2);
    ck_assert_int_eq(r->findings[0].query, 5);
    ck_assert_int_eq(r->findings[0].key, 2);
    ck_assert_ptr_nonnull(strstr(r->findings[0].message, "scale of the head is right"));
    driver_finish(&d);
}
END_TEST

START_TEST(a_curve_is_not_called_a_scale)
{
    plant p = {1, -1, 1 / sqrt(WIDTH), 0, 0.5};
    driver d;
    const txd_result *r;

    driver_init(&d);
    r = run(&d, &p);
    ck_assert_int_eq(r->verdict, TXD_VERDICT_FAIL);
    ck_assert_ptr_nonnull(strstr(r->findings[0].message, "no single scale"));
    driver_finish(&d);
}
END_TEST

START_TEST(an_infinite_score_of_finite_operands_fails)
{
    plant p = {0, 1, 1 / sqrt(WIDTH), INFINITY, 0};
    driver d;

    driver_init(&d);
    ck_assert_int_eq(run(&d, &p)->verdict, TXD_VERDICT_FAIL);
    driver_finish(&d);
}
END_TEST

START_TEST(scores_with_padding_are_not_judged)
{
    const int lengths[1] = {4};
    plant p = {0, -1, 1 / sqrt(WIDTH), 1, 0}; /* query 5 is padding */
    driver d;
    const txd_result *r;

    driver_init(&d);
    driver_inputs(&d, 1, lengths, false);
    r = run(&d, &p);
    ck_assert_int_eq(r->verdict, TXD_VERDICT_PASS);
    ck_assert_uint_eq(r->evaluated, LAYERS * HEADS * 10);
    driver_finish(&d);
}
END_TEST

START_TEST(without_one_finite_product_there_is_nothing_to_judge)
{
    driver d;
    double *q, *k;

    driver_init(&d);
    driver_start(&d, "score_scale");
    q = driver_random(&d, TXD_POINT_ATTN_Q, 5);
    k = driver_random(&d, TXD_POINT_ATTN_K, 6);
    for (size_t i = 0; i < driver_count(&d, TXD_POINT_ATTN_Q); i++)
        q[i] = NAN;
    driver_offer(&d, TXD_POINT_ATTN_Q, 0, q);
    driver_offer(&d, TXD_POINT_ATTN_K, 0, k);
    driver_offer(&d, TXD_POINT_ATTN_SCORES, 0,
                 driver_random(&d, TXD_POINT_ATTN_SCORES, 1));
    ck_assert_int_eq(driver_result(&d)->verdict, TXD_VERDICT_SKIP);
    driver_finish(&d);
}
END_TEST

TEST_MAIN(healthy_scores_pass, a_missing_scale_is_named_in_every_layer,
          one_head_alone_is_found_the_first_a_middle_and_the_last,
          the_slope_names_the_scale_that_was_used,
          a_scale_off_by_a_thousandth_fails_and_gets_no_wrong_name,
          a_single_wrong_score_is_located, a_curve_is_not_called_a_scale,
          an_infinite_score_of_finite_operands_fails,
          scores_with_padding_are_not_judged,
          without_one_finite_product_there_is_nothing_to_judge)
