/* SPDX-License-Identifier: MIT
 *
 * Before training the loss is that of guessing: a nat more warns, ten fail, beside what
 * chance may do; of a trained model it is information.
 */
#include "driver.h"
#include "live.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Losses that scatter by `spread` to either side of ln V + over. */
static const txd_result *run(driver *d, bool is_drawn, double over, double spread)
{
    double *loss;

    d->is_drawn = is_drawn;
    driver_start(d, "initial_loss");
    loss = driver_random(d, TXD_POINT_LOSS_TOKEN, 3);
    for (size_t t = 0; t < LENGTH; t++)
        loss[t] = log((double)d->config.vocab) + over + (t % 2 ? spread : -spread);
    loss[0] += spread; /* 9 of them: the odd one out stands in the middle */
    driver_offer(d, TXD_POINT_LOSS_TOKEN, -1, loss);
    return driver_result(d);
}

static void expect(bool is_drawn, double over, double spread, txd_verdict verdict)
{
    const txd_result *r;
    driver d;

    driver_init(&d);
    r = run(&d, is_drawn, over, spread);
    ck_assert_msg(r->verdict == verdict, "%g, %g: %s %s", over, spread,
                  txd_verdict_name(r->verdict), r->note);
    if (verdict != TXD_VERDICT_PASS && verdict != TXD_VERDICT_OPEN) {
        ck_assert_uint_eq(r->finding_count, 1);
        ck_assert_str_eq(r->findings[0].site, "loss.token");
        ck_assert_double_eq_tol(r->findings[0].measured,
                                log((double)d.config.vocab) + over, 1e-12);
    }
    driver_finish(&d);
}

START_TEST(a_nat_above_guessing_is_allowed_more_warns_and_ten_fail)
{
    expect(true, 0, 0, TXD_VERDICT_PASS);
    expect(true, -3, 0, TXD_VERDICT_PASS);
    expect(true, 0.999, 0, TXD_VERDICT_PASS);
    expect(true, 1.001, 0, TXD_VERDICT_WARN);
    expect(true, 9.999, 0, TXD_VERDICT_WARN);
    expect(true, 10.001, 0, TXD_VERDICT_FAIL);
}
END_TEST

/* 4 deviations of the mean of 9 losses, 8 of which lie `spread` off. */
START_TEST(chance_is_granted_by_the_scatter_of_the_losses)
{
    double chance = 4 * sqrt(8.0 / 9) / 3;

    expect(true, 1 + chance - 0.001, 1, TXD_VERDICT_PASS);
    expect(true, 1 + chance + 0.001, 1, TXD_VERDICT_WARN);
    expect(true, 10 + chance - 0.001, 1, TXD_VERDICT_WARN);
    expect(true, 10 + chance + 0.001, 1, TXD_VERDICT_FAIL);
}
END_TEST

START_TEST(of_a_trained_model_it_is_information)
{
    expect(false, -0.001, 0, TXD_VERDICT_PASS);
    expect(false, 0.001, 0, TXD_VERDICT_INFO);
    expect(false, 50, 0, TXD_VERDICT_INFO);
}
END_TEST

START_TEST(losses_of_nan_are_open)
{
    expect(true, (double)NAN, 0, TXD_VERDICT_OPEN);
    expect(true, INFINITY, 0, TXD_VERDICT_OPEN);
}
END_TEST

#define MODEL                                                                          \
    "model : { preset = \"mini\"; vocab = 64; d_model = 32; n_heads = 4; n_layers = "  \
    "2; d_ff = 64; max_seq_len = 64; tie_embeddings = false; }; "

START_TEST(fewer_than_four_pairs_are_no_mean)
{
    static const char *const tokens[] = {"[1, 5, 9, 2]", "[1, 5, 9, 2, 7]"};

    for (int i = 0; i < 2; i++) {
        char text[512];
        live l;

        snprintf(text, sizeof text, MODEL "input : { tokens = %s; };", tokens[i]);
        live_run(&l, text, "initial_loss");
        ck_assert_int_eq(live_result(&l, "initial_loss")->verdict,
                         i ? TXD_VERDICT_PASS : TXD_VERDICT_SKIP);
        live_finish(&l);
    }
}
END_TEST

START_TEST(a_head_that_is_drawn_too_large_is_found)
{
    static const char *const strengths[] = {"100.0", "40.0"};

    for (int i = 0; i < 2; i++) {
        const txd_result *r;
        char text[512];
        live l;

        snprintf(text, sizeof text,
                 MODEL
                 "input : { random = { batch = 2; length = 40; }; }; faults : ( { "
                 "name = \"head_init_too_large\"; strength = %s; } );",
                 strengths[i]);
        live_run(&l, text, "initial_loss");
        r = live_result(&l, "initial_loss");
        ck_assert_int_eq(r->verdict, i ? TXD_VERDICT_WARN : TXD_VERDICT_FAIL);
        ck_assert_msg(strstr(r->findings[0].message,
                             "guessing among 64 tokens gives 4.16") != NULL,
                      "%s", r->findings[0].message);
        live_finish(&l);
    }
}
END_TEST

TEST_MAIN(a_nat_above_guessing_is_allowed_more_warns_and_ten_fail,
          chance_is_granted_by_the_scatter_of_the_losses,
          of_a_trained_model_it_is_information, losses_of_nan_are_open,
          fewer_than_four_pairs_are_no_mean, a_head_that_is_drawn_too_large_is_found)
