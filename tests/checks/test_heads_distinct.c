/* SPDX-License-Identifier: MIT
 *
 * The law heads_distinct on hand-made weights and matrices.
 */
#include "driver.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { D = HEADS * WIDTH, GROUPS = HEADS / 2 };

/* Makes head `to` of one layer's weights from head `from`. */
typedef void (*planted)(driver *d, double *weights, size_t from, size_t to);

static void copy_cell(double *to, double from)
{
    *to = from;
}

static void round_cell(double *to, double from)
{
    *to = from * (1 + 1e-7);
}

/* Another head by a thousandth of every weight. */
static void nudge_cell(double *to, double from)
{
    *to = from * 1.001;
}

static void each_cell(driver *d, double *weights, size_t from, size_t to,
                      void (*change)(double *to, double from))
{
    size_t n = d->inputs.length;

    for (size_t b = 0; b < d->inputs.batch; b++)
        for (size_t i = 0; i < n * n; i++)
            change(&weights[driver_at(d, b, to, 0, 0) + i],
                   weights[driver_at(d, b, from, 0, 0) + i]);
}

static void copied(driver *d, double *weights, size_t from, size_t to)
{
    each_cell(d, weights, from, to, copy_cell);
}

static void rounded(driver *d, double *weights, size_t from, size_t to)
{
    each_cell(d, weights, from, to, round_cell);
}

static void nudged(driver *d, double *weights, size_t from, size_t to)
{
    each_cell(d, weights, from, to, nudge_cell);
}

/* Both heads give everything to the first key that the query sees. */
static void saturated(driver *d, double *weights, size_t from, size_t to)
{
    size_t n = d->inputs.length;
    size_t heads[2] = {from, to};

    for (int i = 0; i < 2; i++)
        for (size_t q = 0; q < n; q++)
            for (size_t k = 0; k < n; k++)
                weights[driver_at(d, 0, heads[i], q, k)] = k == 0;
}

/* Both heads share everything between two keys, as between equal tokens without
 * positions. */
static void tied(driver *d, double *weights, size_t from, size_t to)
{
    size_t heads[2] = {from, to};

    for (int i = 0; i < 2; i++)
        for (size_t q = 0; q < LENGTH; q++)
            for (size_t k = 0; k <= q; k++)
                weights[driver_at(d, 0, heads[i], q, k)] =
                    q < 3 ? k == 0 : (k == 1 || k == 3 ? 0.5 : 0);
}

static void with_nan(driver *d, double *weights, size_t from, size_t to)
{
    (void)from;
    weights[driver_at(d, 0, to, 5, 3)] = NAN;
}

static const txd_result *run(driver *d, int layer, size_t from, size_t to,
                             planted plant)
{
    driver_init(d);
    driver_start(d, "heads_distinct");
    for (int l = 0; l < LAYERS; l++) {
        double *weights = driver_weights(d, l);

        if (l == layer)
            plant(d, weights, from, to);
        driver_offer(d, TXD_POINT_ATTN_WEIGHTS, l, weights);
    }
    return driver_result(d);
}

START_TEST(random_heads_are_distinct)
{
    driver d;
    const txd_result *r = run(&d, -1, 0, 0, NULL);

    ck_assert_int_eq(r->verdict, TXD_VERDICT_PASS);
    ck_assert_uint_eq(r->evaluated, LAYERS * HEADS * (HEADS - 1) / 2);
    ck_assert(r->worst < r->allowed);
    driver_finish(&d);
}
END_TEST

START_TEST(two_heads_that_are_one_are_found_in_every_layer)
{
    const planted ways[] = {copied, rounded};
    const size_t pairs[][2] = {{0, 1}, {1, 3}, {0, 3}, {2, 3}};

    for (int way = 0; way < 2; way++)
        for (int layer = 0; layer < LAYERS; layer++)
            for (int p = 0; p < 4; p++) {
                driver d;
                const txd_result *r =
                    run(&d, layer, pairs[p][0], pairs[p][1], ways[way]);
                char words[64];

                snprintf(words, sizeof words, "heads %zu and %zu are one", pairs[p][0],
                         pairs[p][1]);
                ck_assert_int_eq(r->verdict, TXD_VERDICT_FAIL);
                ck_assert_uint_eq(r->finding_total, 1);
                ck_assert_int_eq(r->findings[0].layer, layer);
                ck_assert_int_eq(r->findings[0].head, (int64_t)pairs[p][1]);
                ck_assert_msg(strstr(r->findings[0].message, words) != NULL, "%s",
                              r->findings[0].message);
                ck_assert_ptr_nonnull(
                    strstr(r->findings[0].message, "1 of 6 pairs of this layer"));
                driver_finish(&d);
            }
}
END_TEST

START_TEST(nearly_equal_heads_are_information)
{
    driver d;
    const txd_result *r = run(&d, 1, 0, 2, nudged);

    ck_assert_int_eq(r->verdict, TXD_VERDICT_INFO);
    ck_assert_uint_eq(r->finding_count, 1);
    ck_assert_ptr_nonnull(strstr(r->findings[0].message, "heads 0 and 2 attend alike"));
    driver_finish(&d);
}
END_TEST

START_TEST(heads_that_saturate_at_the_same_keys_are_not_one)
{
    const planted ways[] = {saturated, tied};

    for (int way = 0; way < 2; way++) {
        driver d;
        const txd_result *r = run(&d, 1, 0, 2, ways[way]);

        ck_assert_msg(r->verdict != TXD_VERDICT_FAIL, "%s", r->findings[0].message);
        /* The pair itself tells nothing. */
        ck_assert_uint_eq(r->evaluated, LAYERS * HEADS * (HEADS - 1) / 2 - 1);
        driver_finish(&d);
    }
}
END_TEST

START_TEST(weights_that_are_not_finite_are_never_distinct)
{
    driver d;
    const txd_result *r = run(&d, 2, 0, 1, with_nan);

    ck_assert_int_eq(r->verdict, TXD_VERDICT_OPEN);
    ck_assert_ptr_nonnull(strstr(r->note, "not finite"));
    driver_finish(&d);
}
END_TEST

/* Weights as at initialisation: equal but for `size`. */
static double *nearly_equal_weights(driver *d, double size, bool same)
{
    double *weights = driver_random(d, TXD_POINT_ATTN_WEIGHTS, 5);
    size_t n = d->inputs.length;

    for (size_t h = 0; h < d->config.n_heads; h++)
        for (size_t q = 0; q < n; q++)
            for (size_t k = 0; k < n; k++) {
                double x = weights[driver_at(d, 0, same ? 0 : h, q, k)];

                weights[driver_at(d, 0, h, q, k)] =
                    k > q ? 0 : (same && h > 0 ? x : (1 + size * x) / (double)(q + 1));
            }
    return weights;
}

static const txd_result *run_nearly_equal(driver *d, double size, bool same)
{
    driver_init(d);
    driver_start(d, "heads_distinct");
    for (int l = 0; l < LAYERS; l++)
        driver_offer(d, TXD_POINT_ATTN_WEIGHTS, l, nearly_equal_weights(d, size, same));
    return driver_result(d);
}

START_TEST(nearly_equal_weights_at_initialisation_are_no_failure)
{
    driver d;

    ck_assert_int_eq(run_nearly_equal(&d, 1e-2, false)->verdict, TXD_VERDICT_PASS);
    driver_finish(&d);
    ck_assert_int_eq(run_nearly_equal(&d, 1e-2, true)->verdict, TXD_VERDICT_FAIL);
    driver_finish(&d);
    /* What is smaller than rounding says nothing, whether the heads are one or not. */
    for (int same = 0; same < 2; same++) {
        const txd_result *r = run_nearly_equal(&d, 1e-5, same);

        ck_assert_int_eq(r->verdict, TXD_VERDICT_SKIP);
        ck_assert_ptr_nonnull(strstr(r->note, "the number of visible keys explains"));
        driver_finish(&d);
    }
}
END_TEST

/* ---- parameters ---- */

typedef struct matrices {
    double *w, *bias; /* q, k and v below each other */
} matrices;

static matrices random_matrices(driver *d, uint64_t seed)
{
    size_t rows = D + 2 * GROUPS * WIDTH;
    return (matrices){driver_numbers(d, rows * D, seed),
                      driver_numbers(d, rows, seed + 1)};
}

static void offer(driver *d, const char *name, int layer, double *data, size_t rows,
                  size_t columns)
{
    char full[64];

    snprintf(full, sizeof full, "layers.%d.%s", layer, name);
    driver_offer_parameter(d, full, layer, data, rows, columns);
}

static void offer_matrices(driver *d, const matrices *m, int layer, bool fused)
{
    size_t rows = GROUPS * WIDTH;

    if (fused) {
        offer(d, "attn.qkv.weight", layer, m->w, D + 2 * rows, D);
        offer(d, "attn.qkv.bias", layer, m->bias, D + 2 * rows, 1);
        return;
    }
    offer(d, "attn.q.weight", layer, m->w, D, D);
    offer(d, "attn.q.bias", layer, m->bias, D, 1);
    offer(d, "attn.k.weight", layer, m->w + D * D, rows, D);
    offer(d, "attn.k.bias", layer, m->bias + D, rows, 1);
}

/* Rows of head `to` in a block of heads that begins at row `first`. */
static void copy_head(matrices *m, size_t first, size_t from, size_t to, bool biases)
{
    memcpy(m->w + (first + to * WIDTH) * D, m->w + (first + from * WIDTH) * D,
           WIDTH * D * sizeof *m->w);
    if (biases)
        memcpy(m->bias + first + to * WIDTH, m->bias + first + from * WIDTH,
               WIDTH * sizeof *m->bias);
}

typedef struct trial {
    bool queries, keys, biases; /* what is copied from head 0 to head 2 */
    bool fused;
    size_t to;
} trial;

static const txd_result *run_matrices(driver *d, const trial *t)
{
    driver_init(d);
    d->config.qkv = t->fused ? TXD_QKV_FUSED : TXD_QKV_SEPARATE;
    d->config.qkv_bias = true;
    driver_start(d, "heads_distinct");
    for (int l = 0; l < LAYERS; l++) {
        matrices m = random_matrices(d, 40 + (uint64_t)l);

        if (l == 1 && t->queries)
            copy_head(&m, 0, 0, t->to, t->biases);
        if (l == 1 && t->keys)
            copy_head(&m, D, 0, t->to / 2, t->biases);
        offer_matrices(d, &m, l, t->fused);
    }
    for (int l = 0; l < LAYERS; l++)
        driver_offer(d, TXD_POINT_ATTN_WEIGHTS, l,
                     nearly_equal_weights(d, 1e-6, false));
    return driver_result(d);
}

START_TEST(equal_query_and_key_matrices_are_one_head)
{
    const struct {
        trial t;
        bool is_one;
    } cases[] = {
        {{true, true, true, false, 2}, true},
        {{true, true, true, true, 2}, true},
        {{true, true, false, false, 2}, false},
        {{true, false, true, false, 2}, false},
        {{false, true, true, false, 2}, false},
        {{true, false, true, false, 1}, true}, /* both of the first KV head */
        {{false, false, false, true, 1}, false},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        driver d;
        const txd_result *r = run_matrices(&d, &cases[i].t);

        ck_assert_msg(r->verdict ==
                          (cases[i].is_one ? TXD_VERDICT_FAIL : TXD_VERDICT_PASS),
                      "case %zu: %s", i, txd_verdict_name(r->verdict));
        ck_assert_uint_eq(r->evaluated, LAYERS * HEADS * (HEADS - 1) / 2);
        if (cases[i].is_one) {
            ck_assert_uint_eq(r->finding_total, 1);
            ck_assert_ptr_nonnull(strstr(r->findings[0].message,
                                         "their query and key matrices are equal"));
        }
        driver_finish(&d);
    }
}
END_TEST

/* What the weights tell is told in the same words where parameters tell more. */
START_TEST(matrices_change_no_count_of_what_weights_tell)
{
    char without[640] = "";

    for (int with = 0; with < 2; with++) {
        driver d;
        const txd_result *r;

        driver_init(&d);
        driver_start(&d, "heads_distinct");
        for (int l = 0; l < LAYERS && with; l++) {
            matrices m = random_matrices(&d, 40 + (uint64_t)l);

            offer_matrices(&d, &m, l, false);
        }
        for (int l = 0; l < LAYERS; l++) {
            double *weights = driver_weights(&d, l);

            if (l == 1) {
                copied(&d, weights, 0, 1);
                saturated(&d, weights, 2, 3); /* only matrices tell these apart */
            }
            driver_offer(&d, TXD_POINT_ATTN_WEIGHTS, l, weights);
        }
        r = driver_result(&d);
        ck_assert_int_eq(r->verdict, TXD_VERDICT_FAIL);
        ck_assert_uint_eq(r->evaluated, 18 - (with ? 0 : 1));
        if (with)
            ck_assert_str_eq(r->findings[0].message, without);
        snprintf(without, sizeof without, "%s", r->findings[0].message);
        ck_assert_ptr_nonnull(strstr(without, "1 of 6 pairs of this layer"));
        driver_finish(&d);
    }
}
END_TEST

START_TEST(one_head_has_no_pair)
{
    driver d;

    driver_init(&d);
    d.config.n_heads = d.config.n_kv_heads = 1;
    driver_start(&d, "heads_distinct");
    ck_assert_int_eq(driver_result(&d)->verdict, TXD_VERDICT_SKIP);
    ck_assert_ptr_nonnull(strstr(driver_result(&d)->note, "one head"));
    driver_finish(&d);
}
END_TEST

TEST_MAIN(random_heads_are_distinct, two_heads_that_are_one_are_found_in_every_layer,
          nearly_equal_heads_are_information,
          heads_that_saturate_at_the_same_keys_are_not_one,
          weights_that_are_not_finite_are_never_distinct,
          nearly_equal_weights_at_initialisation_are_no_failure,
          equal_query_and_key_matrices_are_one_head,
          matrices_change_no_count_of_what_weights_tell, one_head_has_no_pair)
