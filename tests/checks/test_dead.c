/* SPDX-License-Identifier: MIT
 *
 * Units and heads that never give anything: all of them fail, many units warn once
 * there are tokens enough, one that is active at one real token is alive.
 */
#include "driver.h"
#include "planting.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { UNITS = 16, TOKENS = 120 };

/* ---- units ---- */

/* Layer `layer` has `dead` units that are 0 everywhere; at the last token the first of
 * them is `last`. A step has 9 tokens at most. */
static const txd_result *run_units(driver *d, int tokens, int layer, size_t dead,
                                   double last)
{
    d->config.d_ff = UNITS;
    driver_start(d, "dead_units");
    for (int done = 0; done < tokens; done += LENGTH, d->pass.step++) {
        int here = tokens - done < LENGTH ? tokens - done : LENGTH;

        driver_inputs(d, 1, &here, false);
        for (int l = 0; l < LAYERS; l++) {
            double *act = driver_random(d, TXD_POINT_MLP_ACT, 7);

            for (size_t i = 0; l == layer && i < (size_t)here * UNITS; i++)
                if (i % UNITS < dead)
                    act[i] = 0;
            if (l == layer && done + here == tokens)
                act[(size_t)(here - 1) * UNITS] = last;
            driver_offer(d, TXD_POINT_MLP_ACT, l, act);
        }
    }
    return driver_result(d);
}

static void expect_units(int tokens, int layer, size_t dead, double last,
                         txd_verdict verdict)
{
    const txd_result *r;
    char words[96];
    driver d;

    driver_init(&d);
    r = run_units(&d, tokens, layer, dead, last);
    ck_assert_msg(r->verdict == verdict, "%d tokens, layer %d, %zu units, %g: %s",
                  tokens, layer, dead, last, txd_verdict_name(r->verdict));
    if (verdict == TXD_VERDICT_FAIL || verdict == TXD_VERDICT_WARN) {
        ck_assert_uint_eq(r->finding_count, 1);
        ck_assert_int_eq(r->findings[0].layer, layer);
        snprintf(words, sizeof words,
                 "%zu of 16 units are exactly 0 at all of %d tokens", dead, tokens);
        ck_assert_msg(strstr(r->findings[0].message, words) != NULL, "%s",
                      r->findings[0].message);
    }
    driver_finish(&d);
}

START_TEST(all_units_of_a_layer_dead_fail_and_one_active_token_saves_them)
{
    for (int layer = 0; layer < LAYERS; layer++) {
        expect_units(5, layer, UNITS, 0, TXD_VERDICT_FAIL);
        expect_units(5, layer, UNITS, 1e-30, TXD_VERDICT_PASS);
        expect_units(5, layer, UNITS - 1, 0, TXD_VERDICT_PASS);
    }
}
END_TEST

START_TEST(more_than_half_of_the_units_warn_from_a_hundred_tokens_on)
{
    for (int layer = 0; layer < LAYERS; layer++) {
        expect_units(TOKENS, layer, UNITS / 2, 0, TXD_VERDICT_PASS);
        expect_units(TOKENS, layer, UNITS / 2 + 1, 0, TXD_VERDICT_WARN);
        expect_units(100, layer, UNITS / 2 + 1, 0, TXD_VERDICT_WARN);
        expect_units(99, layer, UNITS / 2 + 1, 0, TXD_VERDICT_PASS);
    }
}
END_TEST

START_TEST(units_of_nan_are_open)
{
    expect_units(5, 1, UNITS, (double)NAN, TXD_VERDICT_OPEN);
    expect_units(5, 1, 3, INFINITY, TXD_VERDICT_OPEN);
}
END_TEST

/* ---- heads ---- */

/* Two batch rows of 9 and 4 tokens, padded on the left. Head `head` of `layer` is 0 but
 * for `value` at one token of the second row. */
static const txd_result *run_heads(driver *d, int layer, size_t head, size_t token,
                                   double value)
{
    const int lengths[2] = {9, 4};

    driver_inputs(d, 2, lengths, true);
    driver_start(d, "dead_heads");
    for (int l = 0; l < LAYERS; l++) {
        double *heads = driver_random(d, TXD_POINT_ATTN_HEADS, 11);
        size_t width = driver_count(d, TXD_POINT_ATTN_HEADS) / 2 / HEADS;

        for (size_t b = 0; l == layer && b < 2; b++)
            memset(heads + (b * HEADS + head) * width, 0, width * sizeof *heads);
        if (l == layer)
            heads[(HEADS + head) * width + token * (width / 9)] = value;
        driver_offer(d, TXD_POINT_ATTN_HEADS, l, heads);
    }
    return driver_result(d);
}

static void expect_heads(int layer, size_t head, size_t token, double value,
                         txd_verdict verdict)
{
    const txd_result *r;
    driver d;

    driver_init(&d);
    r = run_heads(&d, layer, head, token, value);
    ck_assert_msg(r->verdict == verdict, "layer %d, head %zu, token %zu, %g: %s", layer,
                  head, token, value, txd_verdict_name(r->verdict));
    ck_assert_uint_eq(r->evaluated, LAYERS * HEADS);
    if (verdict == TXD_VERDICT_FAIL) {
        ck_assert_uint_eq(r->finding_count, 1);
        ck_assert_int_eq(r->findings[0].layer, layer);
        ck_assert_int_eq(r->findings[0].head, (int)head);
        ck_assert_msg(strstr(r->findings[0].message,
                             "gives exactly 0 at all of 13 tokens") != NULL,
                      "%s", r->findings[0].message);
    }
    driver_finish(&d);
}

START_TEST(a_head_that_is_zero_at_all_real_tokens_fails)
{
    for (int layer = 0; layer < LAYERS; layer++)
        for (size_t head = 0; head < HEADS; head++) {
            expect_heads(layer, head, 8, 0, TXD_VERDICT_FAIL);
            expect_heads(layer, head, 0, 1, TXD_VERDICT_FAIL); /* of padding */
            expect_heads(layer, head, 8, 1e-300, TXD_VERDICT_PASS);
            expect_heads(layer, head, 5, -1, TXD_VERDICT_PASS);
        }
}
END_TEST

START_TEST(a_head_of_nan_is_open)
{
    expect_heads(1, 2, 8, (double)NAN, TXD_VERDICT_OPEN);
    expect_heads(1, 2, 8, INFINITY, TXD_VERDICT_OPEN);
}
END_TEST

/* ---- real passes ---- */

#define CROSS                                                                          \
    "model : { preset = \"gpt2\"; cross = true; vocab = 23; d_model = 16; n_heads = "  \
    "4; n_layers = 3; d_ff = 16; max_seq_len = 16; }; weights : { init = ( { params "  \
    "= \"*\"; scheme = \"normal\"; std = 0.3; } ); }; input : { tokens = ( [3, 1, "    \
    "4], "                                                                             \
    "[8, 9] ); memory : { random : { length = 4; }; valid = [%s]; }; }; "

/* Of a memory that is all padding nothing is given, by right. */
START_TEST(a_memory_without_rows_is_no_dead_head)
{
    char text[1024];
    live l;

    snprintf(text, sizeof text, CROSS, "4, 0");
    live_run(&l, text, "dead_heads");
    ck_assert_int_eq(live_result(&l, "dead_heads")->verdict, TXD_VERDICT_PASS);
    ck_assert_uint_eq(live_result(&l, "dead_heads")->evaluated, 2 * 3 * 4);
    live_finish(&l);
    snprintf(text, sizeof text, CROSS, "0, 0");
    live_run(&l, text, "dead_heads");
    ck_assert_int_eq(live_result(&l, "dead_heads")->verdict, TXD_VERDICT_PASS);
    ck_assert_uint_eq(live_result(&l, "dead_heads")->evaluated, 3 * 4);
    live_finish(&l);
}
END_TEST

START_TEST(heads_of_the_memory_are_named_by_their_own_point)
{
    char text[1400];
    const txd_result *r;
    live l;

    snprintf(text, sizeof text,
             CROSS
             "faults : ( { name = \"head_dead\"; layers = \"1\"; heads = \"2,3\"; "
             "} );",
             "4, 3");
    live_run(&l, text, "dead_heads");
    r = live_result(&l, "dead_heads");
    ck_assert_int_eq(r->verdict, TXD_VERDICT_FAIL);
    ck_assert_uint_eq(r->finding_count, 2);
    ck_assert_str_eq(r->findings[0].site, "layers.1.attn.heads");
    ck_assert_str_eq(r->findings[1].site, "layers.1.cross.heads");
    ck_assert_msg(strncmp(r->findings[1].message,
                          "head 2 and 1 other of 4 give exactly ", 37) == 0,
                  "%s", r->findings[1].message);
    live_finish(&l);
}
END_TEST

START_TEST(a_share_of_units_that_is_dead_is_named)
{
    const txd_result *r;
    live l;

    for (int layer = 0; layer < 3; layer++) {
        char text[1024];

        snprintf(text, sizeof text,
                 "model : { preset = \"llama\"; vocab = 64; d_model = 16; n_heads = 2; "
                 "n_layers = 3; d_ff = 20; max_seq_len = 64; }; input : { random = { "
                 "batch = 2; length = 60; }; }; faults : ( { name = \"units_dead\"; "
                 "layers = \"%d\"; strength = 0.6; } );",
                 layer);
        live_run(&l, text, "dead_units");
        r = live_result(&l, "dead_units");
        ck_assert_int_eq(r->verdict, TXD_VERDICT_WARN);
        ck_assert_int_eq(r->findings[0].layer, layer);
        ck_assert_msg(strncmp(r->findings[0].message, "12 of 20 units", 14) == 0, "%s",
                      r->findings[0].message);
        live_finish(&l);
    }
}
END_TEST

TEST_MAIN(all_units_of_a_layer_dead_fail_and_one_active_token_saves_them,
          more_than_half_of_the_units_warn_from_a_hundred_tokens_on,
          units_of_nan_are_open, a_head_that_is_zero_at_all_real_tokens_fails,
          a_head_of_nan_is_open, a_memory_without_rows_is_no_dead_head,
          heads_of_the_memory_are_named_by_their_own_point,
          a_share_of_units_that_is_dead_is_named)
