/* SPDX-License-Identifier: MIT
 *
 * The law projection_std on hand-made projections, of which it sees statistics alone.
 */
#include "driver.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MODEL = HEADS * WIDTH, KEYS = MODEL / 2 };

/* What is wrong with the keys of layer 1. */
typedef struct plant {
    double weight, value; /* factors of W_k, and of what it makes */
    bool aligned; /* W and x of rank one: the largest output that there can be */
    double nan_in_value, nan_in_input; /* 0, or NaN added to an element */
} plant;

static const plant healthy = {.weight = 1, .value = 1};

/* Uniform about 0, with a root mean square of exactly s. */
static double *draw(driver *d, size_t count, double s, uint64_t seed)
{
    double *w = driver_numbers(d, count, seed), square = 0;

    for (size_t i = 0; i < count; i++)
        square += w[i] * w[i] / (double)count;
    for (size_t i = 0; i < count; i++)
        w[i] *= s / sqrt(square);
    return w;
}

/* y (b, heads, t, width) of x (t, MODEL) and W (outs, MODEL). */
static double *multiply(driver *d, const double *w, const double *x, size_t outs,
                        size_t width, double factor)
{
    double *y = txd_arena_alloc(d->arena, LENGTH * outs, sizeof *y);

    for (size_t t = 0; t < LENGTH; t++)
        for (size_t j = 0; j < outs; j++) {
            double sum = 0;

            for (size_t i = 0; i < MODEL; i++)
                sum += w[j * MODEL + i] * x[t * MODEL + i];
            y[(j / width * LENGTH + t) * width + j % width] = factor * sum;
        }
    return y;
}

/* The keys of every layer; nothing else is offered. */
static const txd_result *run(driver *d, const plant *p)
{
    double *w[LAYERS];
    char name[64];

    driver_start(d, "projection_std");
    for (int l = 0; l < LAYERS; l++) {
        w[l] = draw(d, KEYS * MODEL, 0.02, 7 + (uint64_t)l);
        for (size_t i = 0; i < KEYS * MODEL; i++)
            w[l][i] = p->aligned ? 0.02 : w[l][i] * (l == 1 ? p->weight : 1);
        snprintf(name, sizeof name, "layers.%d.attn.k.weight", l);
        driver_offer_parameter(d, name, l, w[l], KEYS, MODEL);
    }
    for (int l = 0; l < LAYERS; l++) {
        double *x = draw(d, LENGTH * MODEL, 1, 70 + (uint64_t)l), *y;

        for (size_t i = 0; i < LENGTH * MODEL && p->aligned; i++)
            x[i] = 1;
        y = multiply(d, w[l], x, KEYS, WIDTH, l == 1 ? p->value : 1);
        if (l == 1) {
            x[3] += p->nan_in_input;
            y[3] += p->nan_in_value;
        }
        driver_offer(d, TXD_POINT_NORM1_OUT, l, x);
        driver_offer(d, TXD_POINT_ATTN_K_PROJ, l, y);
    }
    return driver_result(d);
}

static const txd_result *judge(driver *d, const plant *p, bool is_drawn)
{
    driver_init(d);
    d->is_drawn = is_drawn;
    return run(d, p);
}

START_TEST(healthy_projections_pass_trained_or_not)
{
    for (int is_drawn = 0; is_drawn < 2; is_drawn++) {
        driver d;
        const txd_result *r = judge(&d, &healthy, is_drawn);

        ck_assert_msg(r->verdict == TXD_VERDICT_PASS, "%s",
                      r->finding_count ? r->findings[0].message : r->note);
        ck_assert_uint_eq(r->evaluated, LAYERS);
        ck_assert_ptr_nonnull(
            strstr(r->note, "of sqrt(d) rms(W) rms(x) these are: k "));
        driver_finish(&d);
    }
}
END_TEST

/* With x and W of rank one the output is sqrt(d) times the uncorrelated one: the bound
 * is reached, and nothing beyond it is possible. */
START_TEST(what_no_input_can_make_fails_and_the_most_that_it_can_passes)
{
    const struct {
        plant p;
        txd_verdict verdict;
    } cases[] = {{{1, 1, true, 0, 0}, TXD_VERDICT_PASS},
                 {{1, 1.001, true, 0, 0}, TXD_VERDICT_FAIL},
                 {{50, 1, false, 0, 0}, TXD_VERDICT_PASS},
                 {{1, 3, false, 0, 0}, TXD_VERDICT_PASS},
                 {{1, 50, false, 0, 0}, TXD_VERDICT_FAIL}};

    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        driver d;
        const txd_result *r = judge(&d, &cases[c].p, false);

        ck_assert_msg(r->verdict == cases[c].verdict, "case %zu", c);
        if (c == 1) {
            ck_assert_double_eq_tol(r->worst, 1.001 * sqrt(MODEL), 1e-9);
            ck_assert_double_eq_tol(r->allowed, sqrt(MODEL), 1e-6);
            ck_assert_str_eq(r->findings[0].site, "layers.1.attn.k_proj");
            ck_assert_ptr_nonnull(strstr(r->findings[0].message,
                                         "the root mean square is 0.641, but its "
                                         "weights (0.02) and its input norm1.out (1) "
                                         "give at most 0.64"));
        }
        driver_finish(&d);
    }
}
END_TEST

START_TEST(before_training_weights_of_another_size_fail_and_the_cause_is_named)
{
    const struct {
        plant p;
        const char *words;
    } cases[] = {
        {{50, 1, false, 0, 0}, "attn.k.weight itself is 50"},
        {{0.02, 1, false, 0, 0}, "attn.k.weight itself is 0.0"},
        {{1.3, 1, false, 0, 0}, "attn.k.weight itself is 1.3"},
        {{1, 50, false, 0, 0}, "attn.k.weight is as drawn, the projection is not what"},
        {{1, 0.02, false, 0, 0}, "attn.k.weight is as drawn, the projection is not"},
    };

    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        driver d;
        const txd_result *r = judge(&d, &cases[c].p, true);

        ck_assert_msg(r->verdict == TXD_VERDICT_FAIL, "case %zu", c);
        ck_assert_uint_eq(r->finding_count, 1);
        ck_assert_str_eq(r->findings[0].site, "layers.1.attn.k_proj");
        ck_assert_msg(strstr(r->findings[0].message, cases[c].words) != NULL,
                      "case %zu: %s", c, r->findings[0].message);
        driver_finish(&d);
    }
}
END_TEST

static void set_rules(driver *d, const char *rules)
{
    ck_assert_msg(txd_cfg_parse(&d->root, d->arena, "rules.cfg", rules) == TXD_OK, "%s",
                  txd_message());
}

START_TEST(it_is_judged_by_the_rule_that_draws_it)
{
    driver d;

    driver_init(&d);
    d.is_drawn = true;
    set_rules(&d,
              "weights : { init = ( { params = \"*.k.weight\"; scheme = \"normal\"; "
              "std = 0.04; } ); };");
    ck_assert_int_eq(run(&d, &(plant){.weight = 2, .value = 1})->verdict,
                     TXD_VERDICT_FAIL);
    ck_assert_uint_eq(driver_result(&d)->finding_count, 2); /* layers 0 and 2 */
    driver_finish(&d);
}
END_TEST

/* Xavier's deviation for k is sqrt(2 / (16 + 32)) = 0.204. */
START_TEST(a_rule_far_above_the_table_is_a_warning)
{
    for (int i = 0; i < 2; i++) {
        char rules[160];
        driver d;
        const txd_result *r;
        double factor = i ? 11 : 9;

        driver_init(&d);
        d.is_drawn = true;
        snprintf(rules, sizeof rules,
                 "weights : { init = ( { params = \"*.k.weight\"; "
                 "scheme = \"xavier_normal\"; gain = %g; } ); };",
                 factor);
        set_rules(&d, rules);
        driver_start(&d, "projection_std");
        for (int l = 0; l < LAYERS; l++) {
            double *w = draw(&d, KEYS * MODEL, factor * sqrt(2.0 / 48), 3);
            double *x = draw(&d, LENGTH * MODEL, 1, 4);
            char name[64];

            snprintf(name, sizeof name, "layers.%d.attn.k.weight", l);
            driver_offer_parameter(&d, name, l, w, KEYS, MODEL);
            driver_offer(&d, TXD_POINT_NORM1_OUT, l, x);
            driver_offer(&d, TXD_POINT_ATTN_K_PROJ, l,
                         multiply(&d, w, x, KEYS, WIDTH, 1));
        }
        r = driver_result(&d);
        ck_assert_int_eq(r->verdict, i ? TXD_VERDICT_WARN : TXD_VERDICT_PASS);
        if (i)
            ck_assert_ptr_nonnull(
                strstr(r->findings[0].message,
                       "weights.init draws W_k 11 times larger than the table"));
        driver_finish(&d);
    }
}
END_TEST

START_TEST(nan_from_finite_inputs_fails_and_behind_nan_the_law_is_open)
{
    plant p = healthy;
    driver d;

    for (int is_drawn = 0; is_drawn < 2; is_drawn++) {
        p = healthy;
        p.nan_in_value = NAN;
        ck_assert_int_eq(judge(&d, &p, is_drawn)->verdict, TXD_VERDICT_FAIL);
        driver_finish(&d);
        p = healthy;
        p.nan_in_input = NAN;
        ck_assert_int_eq(judge(&d, &p, is_drawn)->verdict, TXD_VERDICT_OPEN);
        driver_finish(&d);
    }
}
END_TEST

START_TEST(without_the_statistics_of_the_weights_the_law_is_skipped)
{
    driver d;
    const txd_result *r;

    driver_init(&d);
    driver_start(&d, "projection_std");
    driver_offer(&d, TXD_POINT_NORM1_OUT, 0, draw(&d, LENGTH * MODEL, 1, 4));
    driver_offer(&d, TXD_POINT_ATTN_K_PROJ, 0, draw(&d, LENGTH * KEYS, 1, 4));
    r = driver_result(&d);
    ck_assert_int_eq(r->verdict, TXD_VERDICT_SKIP);
    ck_assert_ptr_nonnull(strstr(r->note, "not recorded: the statistics"));
    driver_finish(&d);
}
END_TEST

TEST_MAIN(healthy_projections_pass_trained_or_not,
          what_no_input_can_make_fails_and_the_most_that_it_can_passes,
          before_training_weights_of_another_size_fail_and_the_cause_is_named,
          it_is_judged_by_the_rule_that_draws_it,
          a_rule_far_above_the_table_is_a_warning,
          nan_from_finite_inputs_fails_and_behind_nan_the_law_is_open,
          without_the_statistics_of_the_weights_the_law_is_skipped)
