/* SPDX-License-Identifier: MIT
 *
 * The law attention_collapse on hand-made weights.
 */
#include "driver.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Weights of a row (keys 0..query) of a head. */
typedef void (*row)(double *weights, size_t query);

static void even(double *weights, size_t query)
{
    for (size_t k = 0; k <= query; k++)
        weights[k] = 1 / ((double)query + 1);
}

/* One and a half of 1/n and half of it, in turn. */
static void uneven(double *weights, size_t query)
{
    double sum = 0;

    for (size_t k = 0; k <= query; k++)
        sum += weights[k] = k % 2 ? 0.5 : 1.5;
    for (size_t k = 0; k <= query; k++)
        weights[k] /= sum;
}

static void on_key(double *weights, size_t query, size_t key, double weight)
{
    for (size_t k = 0; k <= query; k++)
        weights[k] = query == 0 ? 1 : (1 - weight) / (double)query;
    weights[key] = query == 0 ? 1 : weight;
}

static void on_first(double *weights, size_t query)
{
    on_key(weights, query, 0, 0.999);
}

static void on_second(double *weights, size_t query)
{
    on_key(weights, query, query < 1 ? query : 1, 0.999);
}

static void on_second_mostly(double *weights, size_t query)
{
    on_key(weights, query, query < 1 ? query : 1, 0.95);
}

static void on_self(double *weights, size_t query)
{
    on_key(weights, query, query, 0.999);
}

static void on_second_but_once(double *weights, size_t query)
{
    if (query == 6)
        even(weights, query);
    else
        on_second(weights, query);
}

/* Half of the rows look at key 5; the others, before them, each at themselves. */
static void on_self_then_on_one(double *weights, size_t query)
{
    on_key(weights, query, query < 5 ? query : 5, 0.999);
}

static void not_a_number(double *weights, size_t query)
{
    even(weights, query);
    weights[0] = NAN;
}

/* Heads [0, heads) of `layer` (-1: of all) have such rows; all others are healthy. */
static const txd_result *run(driver *d, row make, int layer, size_t heads)
{
    driver_start(d, "attention_collapse");
    for (int l = 0; l < LAYERS; l++) {
        double *weights = driver_weights(d, l);

        for (size_t b = 0; b < d->inputs.batch && (layer < 0 || l == layer); b++)
            for (size_t h = 0; h < heads; h++)
                for (size_t q = 0; q < LENGTH; q++)
                    make(weights + driver_at(d, b, h, q, 0), q);
        for (size_t i = 0;
             d->config.sinks && i < driver_count(d, TXD_POINT_ATTN_WEIGHTS); i++)
            weights[i] *= 0.4; /* what sinks leave */
        driver_offer(d, TXD_POINT_ATTN_WEIGHTS, l, weights);
    }
    return driver_result(d);
}

START_TEST(healthy_weights_pass_and_rows_with_one_key_do_not_count)
{
    driver d;
    const txd_result *r;

    driver_init(&d);
    r = run(&d, NULL, LAYERS, 0);
    ck_assert_int_eq(r->verdict, TXD_VERDICT_PASS);
    ck_assert_uint_eq(r->evaluated, LAYERS * HEADS * (LENGTH - 1));
    driver_finish(&d);
}
END_TEST

START_TEST(what_all_heads_of_a_layer_do_is_a_warning_and_single_heads_are_information)
{
    const struct {
        row make;
        bool collapses;
        const char *words;
    } cases[] = {
        {even, true, "give all visible keys nearly the same weight"},
        {on_second, true, "give nearly all weight to one key (key 1 in 95 %"},
        {uneven, false, ""},
        {on_first, false, ""},
        {on_second_mostly, false, ""},
        {on_self, false, ""},
        {on_second_but_once, false, ""},
    };

    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        for (int i = 0; i < 4 * LAYERS; i++) {
            size_t heads = i % 2 ? HEADS : 2;
            int layer = i / 2 % LAYERS;
            driver d;
            const txd_result *r;

            driver_init(&d);
            d.config.sinks = i >= 2 * LAYERS;
            r = run(&d, cases[c].make, layer, heads);
            if (!cases[c].collapses) {
                ck_assert_msg(r->verdict == TXD_VERDICT_PASS, "case %zu", c);
                driver_finish(&d);
                continue;
            }
            ck_assert_int_eq(r->verdict, i % 2 ? TXD_VERDICT_WARN : TXD_VERDICT_INFO);
            ck_assert_uint_eq(r->finding_count, 1);
            ck_assert_int_eq(r->findings[0].layer, layer);
            ck_assert_int_eq(r->findings[0].head, 0);
            ck_assert_msg(strstr(r->findings[0].message, cases[c].words) != NULL, "%s",
                          r->findings[0].message);
            ck_assert_ptr_nonnull(strstr(r->findings[0].message,
                                         i % 2 ? "all 4 heads of this layer"
                                               : "2 of the 12 heads of all layers"));
            driver_finish(&d);
        }
}
END_TEST

START_TEST(what_rows_that_look_elsewhere_leave_is_counted_exactly)
{
    static const char *const shares[] = {"0.5", "0.51", "0.75"};

    for (int i = 0; i < 3; i++) {
        char rules[80];
        driver d;

        driver_init(&d);
        snprintf(rules, sizeof rules,
                 "checks : { attention_collapse : { share = %s; }; };", shares[i]);
        ck_assert_int_eq(txd_cfg_parse(&d.root, d.arena, "rules", rules), TXD_OK);
        ck_assert_int_eq(run(&d, on_self_then_on_one, 1, HEADS)->verdict,
                         i == 0 ? TXD_VERDICT_WARN : TXD_VERDICT_PASS);
        driver_finish(&d);
    }
}
END_TEST

START_TEST(before_training_both_are_information_in_one_finding)
{
    const row rows[] = {even, on_second};
    const char *const words[] = {": usual before training", ": the weights are drawn "};

    for (int i = 0; i < 2; i++) {
        driver d;
        const txd_result *r;

        driver_init(&d);
        d.is_drawn = true;
        r = run(&d, rows[i], -1, HEADS);
        ck_assert_int_eq(r->verdict, TXD_VERDICT_INFO);
        ck_assert_uint_eq(r->finding_count, 1);
        ck_assert_ptr_nonnull(strstr(r->findings[0].message, "12 of the 12 heads"));
        ck_assert_ptr_nonnull(strstr(r->findings[0].message, words[i]));
        driver_finish(&d);
    }
}
END_TEST

/* A checkpoint may have been stored before training. */
START_TEST(what_all_layers_do_is_one_warning_that_asks_whether_they_are_trained)
{
    const row rows[] = {even, on_second};

    for (int i = 0; i < 2; i++) {
        driver d;
        const txd_result *r;
        bool asks;

        driver_init(&d);
        r = run(&d, rows[i], -1, HEADS);
        ck_assert_int_eq(r->verdict, TXD_VERDICT_WARN);
        ck_assert_uint_eq(r->finding_total, i == 0 ? 1 : LAYERS);
        asks = strstr(r->findings[0].message, "12 of the 12 heads of all layers") &&
               strstr(r->findings[0].message, "so does an untrained model");
        ck_assert_msg(asks == (i == 0), "%s", r->findings[0].message);
        driver_finish(&d);
    }
}
END_TEST

/* In the second sequence the heads are healthy. */
START_TEST(a_head_has_collapsed_only_if_it_has_in_every_sequence)
{
    const int lengths[] = {LENGTH, LENGTH};
    driver d;
    double *weights, *healthy;
    size_t half = HEADS * LENGTH * LENGTH;

    driver_init(&d);
    driver_inputs(&d, 2, lengths, false);
    ck_assert_int_eq(run(&d, even, -1, HEADS)->verdict, TXD_VERDICT_WARN);
    healthy = driver_weights(&d, 0);
    weights = driver_weights(&d, 0);
    for (size_t h = 0; h < HEADS; h++)
        for (size_t q = 0; q < LENGTH; q++)
            even(weights + driver_at(&d, 0, h, q, 0), q);
    memcpy(weights + half, healthy + half, half * sizeof *weights);
    driver_start(&d, "attention_collapse");
    driver_offer(&d, TXD_POINT_ATTN_WEIGHTS, 0, weights);
    ck_assert_int_eq(driver_result(&d)->verdict, TXD_VERDICT_PASS);
    driver_finish(&d);
}
END_TEST

START_TEST(short_sequences_are_skipped_and_nan_breaks_the_law)
{
    const int lengths[] = {4};
    driver d;
    const txd_result *r;

    driver_init(&d);
    driver_inputs(&d, 1, lengths, false);
    r = run(&d, even, -1, HEADS);
    ck_assert_int_eq(r->verdict, TXD_VERDICT_SKIP);
    ck_assert_ptr_nonnull(strstr(r->note, "no sequence has 4 queries"));
    driver_finish(&d);
    driver_init(&d);
    ck_assert_int_eq(run(&d, not_a_number, 1, 1)->verdict, TXD_VERDICT_OPEN);
    ck_assert_int_eq(run(&d, not_a_number, -1, HEADS)->verdict, TXD_VERDICT_OPEN);
    driver_finish(&d);
}
END_TEST

TEST_MAIN(healthy_weights_pass_and_rows_with_one_key_do_not_count,
          what_all_heads_of_a_layer_do_is_a_warning_and_single_heads_are_information,
          what_rows_that_look_elsewhere_leave_is_counted_exactly,
          before_training_both_are_information_in_one_finding,
          what_all_layers_do_is_one_warning_that_asks_whether_they_are_trained,
          a_head_has_collapsed_only_if_it_has_in_every_sequence,
          short_sequences_are_skipped_and_nan_breaks_the_law)
