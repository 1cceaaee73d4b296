/* SPDX-License-Identifier: MIT
 *
 * The law weight_range on hand-made weights, from both sides of its bound, and the
 * dropout that it names.
 */
#include "driver.h"
#include "live.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "checks/law.h"

/* Given to query 0, which sees one key, of head 2. */
static double given;

static void give(driver *d, double *weights)
{
    weights[driver_at(d, 0, 2, 0, 0)] = given;
}

static void expect(double weight, txd_verdict verdict, const char *words)
{
    for (int layer = 0; layer < LAYERS; layer++) {
        driver d;
        const txd_result *r;

        driver_init(&d);
        given = weight;
        r = driver_run_weights(&d, "weight_range", layer, give);
        ck_assert_int_eq(r->verdict, verdict);
        if (verdict == TXD_VERDICT_FAIL) {
            ck_assert_uint_eq(r->finding_total, 1);
            ck_assert_int_eq(r->findings[0].layer, layer);
            ck_assert_int_eq(r->findings[0].head, 2);
            ck_assert_int_eq(r->findings[0].query, 0);
            ck_assert_int_eq(r->findings[0].key, 0);
            ck_assert_msg(strstr(r->findings[0].message, words) != NULL, "%s",
                          r->findings[0].message);
        }
        driver_finish(&d);
    }
}

START_TEST(healthy_weights_pass)
{
    driver d;
    const txd_result *r;

    driver_init(&d);
    r = driver_run_weights(&d, "weight_range", -1, NULL);
    ck_assert_int_eq(r->verdict, TXD_VERDICT_PASS);
    ck_assert_uint_eq(r->evaluated, LAYERS * HEADS * LENGTH);
    driver_finish(&d);
}
END_TEST

START_TEST(a_weight_above_1_is_one_beyond_rounding)
{
    const double u = 0x1p-53;
    double bound = txd_law_gamma(LENGTH + 2, u) + txd_law_gamma(1, u);

    expect(1 + bound - 2 * u, TXD_VERDICT_PASS, "");
    expect(1 + bound + 4 * u, TXD_VERDICT_FAIL, "above 1");
    expect(INFINITY, TXD_VERDICT_FAIL, "above 1");
}
END_TEST

START_TEST(no_rounding_makes_a_weight_negative)
{
    expect(0, TXD_VERDICT_PASS, "");
    expect(-0x1p-1074, TXD_VERDICT_FAIL, "below 0");
    expect(-0.5, TXD_VERDICT_FAIL, "the weight -0.5, which is below 0");
}
END_TEST

START_TEST(a_nan_is_open_and_not_a_pass)
{
    expect(NAN, TXD_VERDICT_OPEN, "");
}
END_TEST

static unsigned rows_alone(const void *self, txd_site_kind kind, txd_point point,
                           int layer)
{
    (void)self;
    (void)layer;
    return kind == TXD_SITE_VALUE && point == TXD_POINT_ATTN_WEIGHTS ? TXD_ASK_ROWS : 0;
}

START_TEST(row_statistics_tell_a_weight_above_1)
{
    driver d;
    const txd_result *r;

    driver_init(&d);
    d.offers = rows_alone;
    given = 1.25;
    r = driver_run_weights(&d, "weight_range", 1, give);
    ck_assert_int_eq(r->verdict, TXD_VERDICT_FAIL);
    ck_assert_int_eq(r->findings[0].head, 2);
    given = NAN;
    ck_assert_int_eq(driver_run_weights(&d, "weight_range", 1, give)->verdict,
                     TXD_VERDICT_OPEN);
    driver_finish(&d);
}
END_TEST

/* Its levels are 0 and 1 / (1 - p). */
START_TEST(dropout_is_named_with_its_rate)
{
    const double rates[] = {0.1, 0.5};

    for (size_t i = 0; i < 2; i++) {
        char text[1024], rate[32];
        const txd_result *r;
        live l;

        snprintf(
            text, sizeof text,
            "precision : { backend = \"cpu32\"; }; model : { preset = \"gpt2\"; "
            "vocab = 17; d_model = 32; n_heads = 8; n_layers = 1; d_ff = 16; "
            "max_seq_len = 16; }; input : { tokens = ([1, 2, 3, 4], [4, 5, 6, 7]); "
            "}; faults : ( { name = \"dropout_in_eval\"; strength = %g; } );",
            rates[i]);
        snprintf(rate, sizeof rate, "p = %g)", rates[i]);
        live_run(&l, text, "weight_range");
        r = live_result(&l, "weight_range");
        ck_assert_int_eq(r->verdict, TXD_VERDICT_FAIL);
        ck_assert_double_eq_tol(r->worst, 1 / (1 - rates[i]), 1e-6);
        ck_assert_msg(strstr(r->findings[0].message, rate) != NULL, "%s",
                      r->findings[0].message);
        live_finish(&l);
    }
}
END_TEST

TEST_MAIN(healthy_weights_pass, a_weight_above_1_is_one_beyond_rounding,
          no_rounding_makes_a_weight_negative, a_nan_is_open_and_not_a_pass,
          row_statistics_tell_a_weight_above_1, dropout_is_named_with_its_rate)
