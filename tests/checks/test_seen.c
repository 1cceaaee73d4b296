/* SPDX-License-Identifier: MIT
 *
 * The laws documents and diagonal_open on hand-made weights, with and without what the
 * softmax reads.
 */
#include "driver.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "live.h"

/* Two documents: queries 0 to 4, and the rest. */
static void pack(driver *d)
{
    for (size_t i = 0; i < d->inputs.batch * LENGTH; i++)
        d->inputs.document[i] = i % LENGTH >= 5;
}

static unsigned weights_alone(const void *self, txd_site_kind kind, txd_point point,
                              int layer)
{
    (void)self;
    (void)layer;
    return kind == TXD_SITE_VALUE && point == TXD_POINT_ATTN_WEIGHTS
               ? TXD_ASK_VALUE | TXD_ASK_ROWS
               : 0;
}

static unsigned rows_alone(const void *self, txd_site_kind kind, txd_point point,
                           int layer)
{
    return weights_alone(self, kind, point, layer) & TXD_ASK_ROWS;
}

/* What a softmax read that gave these weights: their logarithms, 0 = hidden. */
static double *masked_of(driver *d, const double *weights)
{
    size_t count = driver_count(d, TXD_POINT_ATTN_WEIGHTS);
    double *masked = txd_arena_alloc(d->arena, count, sizeof *masked);

    for (size_t i = 0; i < count; i++)
        masked[i] = log(weights[i]);
    return masked;
}

typedef void change(driver *d, double *weights, double *masked);

/* Weights and masked scores, healthy but for `plant` in `layer`. */
static const txd_result *run(driver *d, const char *law, int layer, change *plant)
{
    driver_start(d, law);
    for (int l = 0; l < LAYERS; l++) {
        double *weights = driver_weights(d, l), *masked = masked_of(d, weights);

        if (l == layer)
            plant(d, weights, masked);
        if (!d->offers)
            driver_offer(d, TXD_POINT_ATTN_MASKED, l, masked);
        driver_offer(d, TXD_POINT_ATTN_WEIGHTS, l, weights);
    }
    return driver_result(d);
}

static bool says(const txd_result *r, const char *words)
{
    return r->finding_count > 0 && strstr(r->findings[0].message, words) != NULL;
}

/* ---- documents ---- */

static void leak(driver *d, double *weights, double *masked)
{
    weights[driver_at(d, 0, 3, 7, 4)] = 1e-30;
    masked[driver_at(d, 0, 3, 7, 4)] = -69;
}

START_TEST(one_weight_across_documents_is_found_in_every_layer)
{
    for (int offers = 0; offers < 3; offers++)
        for (int layer = 0; layer < LAYERS; layer++) {
            const txd_offers some[] = {NULL, weights_alone, rows_alone};
            driver d;
            const txd_result *r;

            driver_init(&d);
            pack(&d);
            d.offers = some[offers];
            r = run(&d, "documents", layer, leak);
            ck_assert_int_eq(r->verdict, TXD_VERDICT_FAIL);
            ck_assert_uint_eq(r->finding_total, 1);
            ck_assert_int_eq(r->findings[0].layer, layer);
            ck_assert_int_eq(r->findings[0].head, 3);
            ck_assert_int_eq(r->findings[0].query, 7);
            ck_assert_int_eq(r->findings[0].key, 4);
            ck_assert_double_eq(r->findings[0].measured, 1e-30);
            ck_assert(!says(r, "not masked"));
            driver_finish(&d);
        }
}
END_TEST

START_TEST(packed_sequences_that_are_kept_apart_pass)
{
    driver d;
    const txd_result *r;

    driver_init(&d);
    pack(&d);
    r = run(&d, "documents", -1, NULL);
    ck_assert_int_eq(r->verdict, TXD_VERDICT_PASS);
    ck_assert_uint_eq(r->evaluated, LAYERS * HEADS * LENGTH);
    driver_finish(&d);
}
END_TEST

START_TEST(without_documents_there_is_nothing_to_judge)
{
    driver d;
    const txd_result *r;

    driver_init(&d);
    r = run(&d, "documents", 1, leak);
    ck_assert_int_eq(r->verdict, TXD_VERDICT_SKIP);
    ck_assert_str_eq(r->note, "every sequence of the input is one document");
    driver_finish(&d);
}
END_TEST

/* As if all were one: uniform over all keys that are not later. */
static void ignore_documents(driver *d, double *weights, double *masked)
{
    for (size_t h = 0; h < HEADS; h++)
        for (size_t q = 0; q < LENGTH; q++)
            for (size_t k = 0; k <= q; k++) {
                weights[driver_at(d, 0, h, q, k)] = 1.0 / (double)(q + 1);
                masked[driver_at(d, 0, h, q, k)] = 0;
            }
}

START_TEST(documents_that_are_not_masked_at_all_are_named_so)
{
    driver d;
    const txd_result *r;

    driver_init(&d);
    pack(&d);
    r = run(&d, "documents", 2, ignore_documents);
    ck_assert_uint_eq(r->finding_total, HEADS * 4);
    ck_assert(says(r, "documents are not masked"));
    ck_assert(says(r, "16 of 36 rows"));
    driver_finish(&d);
}
END_TEST

/* Positions that begin anew put keys of the document before behind the query; places do
 * not. */
START_TEST(documents_whose_positions_begin_anew_are_named_so_too)
{
    driver d;
    const txd_result *r;

    driver_init(&d);
    pack(&d);
    for (size_t t = 5; t < LENGTH; t++)
        d.inputs.positions[t] = (int32_t)(t - 5);
    r = run(&d, "documents", 2, ignore_documents);
    ck_assert_uint_eq(r->finding_total, HEADS * 4);
    ck_assert(says(r, "of 16 that have a key which only the documents hide"));
    ck_assert(says(r, "documents are not masked"));
    r = run(&d, "documents", 2, leak);
    ck_assert_int_eq(r->verdict, TXD_VERDICT_FAIL);
    ck_assert(!says(r, "not masked"));
    driver_finish(&d);
}
END_TEST

static void make_nan(driver *d, double *weights, double *masked)
{
    weights[driver_at(d, 0, 0, 6, 1)] = NAN;
    masked[driver_at(d, 0, 0, 6, 1)] = NAN;
}

START_TEST(a_nan_across_documents_is_open_and_not_a_pass)
{
    for (int offers = 0; offers < 2; offers++) {
        driver d;

        driver_init(&d);
        pack(&d);
        d.offers = offers ? rows_alone : NULL;
        ck_assert_int_eq(run(&d, "documents", 0, make_nan)->verdict, TXD_VERDICT_OPEN);
        driver_finish(&d);
    }
}
END_TEST

/* ---- diagonal_open ---- */

static void hide(driver *d, double *weights, double *masked, size_t h, size_t q)
{
    weights[driver_at(d, 0, h, q, q)] = 0;
    masked[driver_at(d, 0, h, q, q)] = -INFINITY;
}

static void hide_one(driver *d, double *weights, double *masked)
{
    hide(d, weights, masked, 2, 6);
}

START_TEST(one_own_key_that_is_hidden_is_found_in_every_layer)
{
    for (int layer = 0; layer < LAYERS; layer++) {
        driver d;
        const txd_result *r;

        driver_init(&d);
        r = run(&d, "diagonal_open", layer, hide_one);
        ck_assert_int_eq(r->verdict, TXD_VERDICT_FAIL);
        ck_assert_uint_eq(r->finding_total, 1);
        ck_assert_int_eq(r->findings[0].layer, layer);
        ck_assert_int_eq(r->findings[0].head, 2);
        ck_assert_int_eq(r->findings[0].query, 6);
        ck_assert_int_eq(r->findings[0].key, 6);
        ck_assert(!says(r, "hides the diagonal"));
        driver_finish(&d);
    }
}
END_TEST

/* A score so low that its weight is 0, which is no mask. */
static void go_unseen(driver *d, double *weights, double *masked)
{
    weights[driver_at(d, 0, 2, 6, 6)] = 0;
    masked[driver_at(d, 0, 2, 6, 6)] = -800;
}

START_TEST(an_own_key_with_a_low_score_is_not_hidden)
{
    for (int offers = 0; offers < 3; offers++) {
        const txd_offers some[] = {NULL, weights_alone, rows_alone};
        driver d;
        const txd_result *r;

        driver_init(&d);
        d.offers = some[offers];
        r = run(&d, "diagonal_open", 1, go_unseen);
        ck_assert_int_eq(r->verdict, TXD_VERDICT_PASS);
        ck_assert_uint_eq(r->evaluated, LAYERS * HEADS * LENGTH);
        driver_finish(&d);
    }
}
END_TEST

static void hide_all(driver *d, double *weights, double *masked)
{
    for (size_t q = 0; q < LENGTH; q++)
        hide(d, weights, masked, 1, q);
}

static void hide_all_but_the_first(driver *d, double *weights, double *masked)
{
    for (size_t q = 1; q < LENGTH; q++)
        hide(d, weights, masked, 1, q);
}

/* The first query sees its own key alone. */
static void hide_the_first(driver *d, double *weights, double *masked)
{
    hide(d, weights, masked, 1, 0);
}

START_TEST(weights_alone_tell_a_hidden_diagonal)
{
    for (int offers = 1; offers < 3; offers++) {
        const txd_offers some[] = {NULL, weights_alone, rows_alone};
        driver d;
        const txd_result *r;

        driver_init(&d);
        d.offers = some[offers];
        r = run(&d, "diagonal_open", 1, hide_all);
        ck_assert_int_eq(r->verdict, TXD_VERDICT_FAIL);
        ck_assert_uint_eq(r->finding_total, LENGTH);
        ck_assert(says(r, "9 of 36 rows"));
        ck_assert(says(r, "1 of which see no key at all"));
        r = run(&d, "diagonal_open", 1, hide_all_but_the_first);
        ck_assert_int_eq(r->verdict, TXD_VERDICT_PASS);
        r = run(&d, "diagonal_open", 1, hide_the_first);
        ck_assert_int_eq(r->verdict, TXD_VERDICT_FAIL);
        ck_assert_int_eq(r->findings[0].query, 0);
        driver_finish(&d);
    }
}
END_TEST

/* What an empty row makes of the first query, where that is the policy. */
static void hide_all_with_nan(driver *d, double *weights, double *masked)
{
    hide_all(d, weights, masked);
    weights[driver_at(d, 0, 1, 0, 0)] = NAN;
}

static void lose_own_weight(driver *d, double *weights, double *masked)
{
    weights[driver_at(d, 0, 1, 4, 4)] = NAN;
    masked[driver_at(d, 0, 1, 4, 4)] = NAN;
}

START_TEST(a_nan_is_a_hidden_key_only_where_the_mask_says_so)
{
    driver d;
    const txd_result *r;

    driver_init(&d);
    r = run(&d, "diagonal_open", 1, hide_all_with_nan);
    ck_assert_int_eq(r->verdict, TXD_VERDICT_FAIL);
    ck_assert_uint_eq(r->finding_total, LENGTH);
    r = run(&d, "diagonal_open", 1, lose_own_weight);
    ck_assert_int_eq(r->verdict, TXD_VERDICT_OPEN);
    driver_finish(&d);
}
END_TEST

START_TEST(own_keys_of_padded_queries_are_not_judged)
{
    const int lengths[2] = {4, 9};
    driver d;
    const txd_result *r;

    driver_init(&d);
    driver_inputs(&d, 2, lengths, false);
    r = run(&d, "diagonal_open", 1, hide_one);
    ck_assert_int_eq(r->verdict, TXD_VERDICT_PASS);
    ck_assert_uint_eq(r->evaluated, LAYERS * HEADS * (4 + 9));
    driver_finish(&d);
}
END_TEST

#define CALLS                                                                          \
    "model : { preset = \"mini\"; vocab = 9; d_model = 8; n_heads = 2; n_layers = 2; " \
    "d_ff = 8; max_seq_len = 16; }; input : { tokens = ([1, 2, 3, 4, 5, 6, 7]); }; "   \
    "faults : ( { name = \"%s\"; } );"

START_TEST(a_mask_at_the_wrong_corner_is_not_taken_for_a_hidden_diagonal)
{
    static const char *const faults[] = {"mask_top_left", "diagonal_masked"};
    static const char *const words[] = {"aligned to the top left corner",
                                        "the mask hides the diagonal"};

    for (int f = 0; f < 2; f++) {
        const live_plant planted = {.chunk = 4};
        const txd_result *r;
        char cfg[512];
        live l;

        snprintf(cfg, sizeof cfg, CALLS, faults[f]);
        live_run_planted(&l, cfg, "diagonal_open", &planted);
        r = live_result(&l, "diagonal_open");
        ck_assert_int_eq(r->verdict, TXD_VERDICT_FAIL);
        ck_assert_msg(says(r, words[f]), "%s", r->findings[0].message);
        ck_assert(!says(r, words[1 - f]));
        live_finish(&l);
    }
}
END_TEST

TEST_MAIN(one_weight_across_documents_is_found_in_every_layer,
          packed_sequences_that_are_kept_apart_pass,
          without_documents_there_is_nothing_to_judge,
          documents_that_are_not_masked_at_all_are_named_so,
          documents_whose_positions_begin_anew_are_named_so_too,
          a_nan_across_documents_is_open_and_not_a_pass,
          one_own_key_that_is_hidden_is_found_in_every_layer,
          an_own_key_with_a_low_score_is_not_hidden,
          weights_alone_tell_a_hidden_diagonal,
          a_nan_is_a_hidden_key_only_where_the_mask_says_so,
          own_keys_of_padded_queries_are_not_judged,
          a_mask_at_the_wrong_corner_is_not_taken_for_a_hidden_diagonal)
