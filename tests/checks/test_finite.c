/* SPDX-License-Identifier: MIT
 *
 * The law finite on hand-made passes: where a value stops being finite, and why.
 */
#include "driver.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "live.h"

static const txd_point order[] = {
    TXD_POINT_RESID_PRE,   TXD_POINT_NORM1_OUT,    TXD_POINT_ATTN_Q,
    TXD_POINT_ATTN_MASKED, TXD_POINT_ATTN_WEIGHTS, TXD_POINT_ATTN_OUT,
    TXD_POINT_RESID_POST,
};

enum { POINTS = sizeof order / sizeof *order };

/* A pass whose values are finite except that from `point` of `layer` on, element
 * `index` is `value`. */
static const txd_result *run(driver *d, int layer, txd_point point, size_t index,
                             double value)
{
    bool is_reached = false;

    driver_start(d, "finite");
    for (int l = 0; l < LAYERS; l++)
        for (int i = 0; i < POINTS; i++) {
            double *data = driver_random(d, order[i], 3);

            is_reached |= l == layer && order[i] == point;
            if (is_reached)
                data[l == layer && order[i] == point ? index : 0] = value;
            driver_offer(d, order[i], l, data);
        }
    return driver_result(d);
}

START_TEST(finite_values_pass_and_are_counted)
{
    driver d;
    const txd_result *r;

    driver_init(&d);
    r = run(&d, -1, TXD_POINT_COUNT, 0, 0);
    ck_assert_int_eq(r->verdict, TXD_VERDICT_PASS);
    ck_assert_uint_ge(r->evaluated, LAYERS * LENGTH * HEADS * WIDTH);
    driver_finish(&d);
}
END_TEST

START_TEST(the_origin_is_named_in_the_first_the_middle_and_the_last_layer)
{
    for (int layer = 0; layer < LAYERS; layer++) {
        driver d;
        const txd_result *r;
        char site[64];

        driver_init(&d);
        r = run(&d, layer, TXD_POINT_ATTN_OUT, 5 * HEADS * WIDTH + 3, NAN);
        txd_point_name(site, sizeof site, TXD_POINT_ATTN_OUT, layer);
        ck_assert_int_eq(r->verdict, TXD_VERDICT_FAIL);
        ck_assert_uint_eq(r->finding_count, 1);
        ck_assert_str_eq(r->findings[0].site, site);
        ck_assert_int_eq(r->findings[0].layer, layer);
        ck_assert_int_eq(r->findings[0].query, 5);
        ck_assert_ptr_nonnull(
            strstr(r->findings[0].message, "NaN at token 5, element 3"));
        ck_assert_ptr_nonnull(strstr(r->findings[0].message, "No cause is certain"));
        ck_assert_ptr_nonnull(
            strstr(r->findings[0].message, "spreads as far as layers.2.resid.post"));
        driver_finish(&d);
    }
}
END_TEST

START_TEST(an_infinity_amid_small_values_is_not_taken_for_an_overflow)
{
    driver d;
    const txd_result *r;

    driver_init(&d);
    r = run(&d, 1, TXD_POINT_ATTN_Q, 0, -INFINITY);
    ck_assert_int_eq(r->verdict, TXD_VERDICT_FAIL);
    ck_assert_str_eq(r->findings[0].site, "layers.1.attn.q");
    ck_assert_ptr_null(strstr(r->findings[0].message, "overflow"));
    ck_assert_ptr_nonnull(strstr(r->findings[0].message, "No cause is certain"));
    driver_finish(&d);
}
END_TEST

START_TEST(an_infinity_amid_values_near_the_end_of_the_format_is_an_overflow)
{
    double *data;
    driver d;
    const txd_result *r;

    driver_init(&d);
    txd_pass_set_format(&d.pass, TXD_F16);
    d.pass.dtype = TXD_F64;
    driver_start(&d, "finite");
    data = driver_random(&d, TXD_POINT_ATTN_Q, 3);
    data[3] = -60000;
    data[4] = INFINITY;
    driver_offer(&d, TXD_POINT_ATTN_Q, 1, data);
    r = driver_result(&d);
    ck_assert_ptr_nonnull(strstr(r->findings[0].message,
                                 "overflow of float16 (up to 65504): finite "
                                 "values here reach 6e+04"));
    driver_finish(&d);
}
END_TEST

START_TEST(a_parameter_that_is_not_finite_is_named_as_the_cause)
{
    driver d;
    const txd_result *r;
    double weight[6] = {1, 2, 3, 4, NAN, 6}, fine[2] = {1, 2};
    double *out;

    driver_init(&d);
    driver_start(&d, "finite");
    driver_offer_parameter(&d, "layers.0.attn.o.weight", 0, fine, 1, 2);
    driver_offer_parameter(&d, "layers.1.attn.q.weight", 1, weight, 2, 3);
    out = driver_random(&d, TXD_POINT_ATTN_Q, 1);
    out[4] = NAN;
    driver_offer(&d, TXD_POINT_ATTN_Q, 1, out);
    r = driver_result(&d);
    ck_assert_int_eq(r->verdict, TXD_VERDICT_FAIL);
    ck_assert_uint_eq(r->finding_count, 2);
    ck_assert_str_eq(r->findings[0].site, "layers.1.attn.q.weight");
    ck_assert_ptr_nonnull(strstr(r->findings[0].message, "NaN at element 4 (row"));
    ck_assert_str_eq(r->findings[1].site, "layers.1.attn.q");
    ck_assert_ptr_nonnull(strstr(r->findings[1].message,
                                 "the parameter layers.1.attn.q.weight holds NaN"));
    driver_finish(&d);
}
END_TEST

START_TEST(of_several_such_parameters_that_of_the_same_layer_is_the_cause)
{
    double weight[2] = {1, NAN}, *out;
    driver d;
    const txd_result *r;

    driver_init(&d);
    driver_start(&d, "finite");
    driver_offer_parameter(&d, "layers.0.mlp.up.weight", 0, weight, 1, 2);
    driver_offer_parameter(&d, "layers.1.attn.o.weight", 1, weight, 1, 2);
    driver_offer_parameter(&d, "layers.2.attn.o.weight", 2, weight, 1, 2);
    out = driver_random(&d, TXD_POINT_ATTN_OUT, 1);
    out[0] = NAN;
    driver_offer(&d, TXD_POINT_ATTN_OUT, 1, out);
    r = driver_result(&d);
    ck_assert_uint_eq(r->finding_count, 4);
    ck_assert_ptr_nonnull(
        strstr(r->findings[3].message, "the parameter layers.1.attn.o.weight holds"));
    driver_finish(&d);
}
END_TEST

/* The output head is a matrix of its own, or the table of the tokens. */
START_TEST(a_table_is_the_cause_in_the_logits_only_where_the_head_is_tied_to_it)
{
    double weight[2] = {1, NAN}, *out;

    for (int tied = 0; tied < 2; tied++) {
        driver d;
        const txd_result *r;

        driver_init(&d);
        d.config.tie_embeddings = tied != 0;
        driver_start(&d, "finite");
        driver_offer_parameter(&d, "embed.tok.weight", -1, weight, 1, 2);
        if (!tied)
            driver_offer_parameter(&d, "head.weight", -1, weight, 1, 2);
        out = driver_random(&d, TXD_POINT_LOGITS, 1);
        out[0] = NAN;
        driver_offer(&d, TXD_POINT_LOGITS, -1, out);
        r = driver_result(&d);
        ck_assert_msg(
            strstr(r->findings[r->finding_count - 1].message,
                   tied ? "the parameter embed.tok.weight holds NaN, and is read here"
                        : "the parameter head.weight holds NaN, and is read here"),
            "%s", r->findings[r->finding_count - 1].message);
        driver_finish(&d);
    }
}
END_TEST

START_TEST(a_parameter_alone_that_is_not_finite_fails)
{
    driver d;
    double weight[2] = {1, INFINITY};

    driver_init(&d);
    driver_start(&d, "finite");
    driver_offer_parameter(&d, "head.weight", -1, weight, 1, 2);
    ck_assert_int_eq(driver_result(&d)->verdict, TXD_VERDICT_FAIL);
    driver_finish(&d);
}
END_TEST

START_TEST(nan_of_padded_tokens_is_not_counted)
{
    const int lengths[1] = {5};
    driver d;
    const txd_result *r;
    double *data;

    driver_init(&d);
    driver_inputs(&d, 1, lengths, false);
    driver_start(&d, "finite");
    data = driver_random(&d, TXD_POINT_ATTN_OUT, 1);
    data[6 * HEADS * WIDTH] = NAN;
    driver_offer(&d, TXD_POINT_ATTN_OUT, 0, data);
    r = driver_result(&d);
    ck_assert_int_eq(r->verdict, TXD_VERDICT_PASS);
    ck_assert_uint_eq(r->evaluated, 5 * HEADS * WIDTH);
    driver_finish(&d);
}
END_TEST

START_TEST(the_first_step_that_breaks_is_the_origin)
{
    driver d;
    const txd_result *r;

    driver_init(&d);
    driver_start(&d, "finite");
    for (d.pass.step = 0; d.pass.step < 4; d.pass.step++) {
        double *data = driver_random(&d, TXD_POINT_ATTN_OUT, 1);

        data[0] = d.pass.step >= 2 ? NAN : 0;
        driver_offer(&d, TXD_POINT_ATTN_OUT, 1, data);
    }
    r = driver_result(&d);
    ck_assert_int_eq(r->verdict, TXD_VERDICT_FAIL);
    ck_assert_int_eq(r->findings[0].step, 2);
    ck_assert_uint_eq(r->finding_total, 2);
    driver_finish(&d);
}
END_TEST

/* Where a row without keys is 0, the masked scores of each layer are all that is not
 * finite; where it is NaN, that spreads. */
START_TEST(keys_that_each_layer_masks_anew_are_not_said_to_spread)
{
    static const char *const policies[] = {"zero", "nan"};
    static const char *const words[] = {
        "is -Inf. It goes no further; 2 more, up to layers.2.attn.masked",
        ". It spreads as far as "};

    for (int p = 0; p < 2; p++) {
        const txd_result *r;
        char cfg[512];
        live l;

        snprintf(cfg, sizeof cfg,
                 "model : { preset = \"mini\"; vocab = 9; d_model = 8; n_heads = 2; "
                 "n_layers = 3; d_ff = 8; max_seq_len = 16; }; mask : { masked_row = "
                 "\"%s\"; }; input : { tokens = ([1, 2, 3, 4, 5, 6, 7]); }; "
                 "faults : ( { name = \"fully_masked_row\"; } );",
                 policies[p]);
        live_run(&l, cfg, "finite");
        r = live_result(&l, "finite");
        ck_assert_int_eq(r->verdict, TXD_VERDICT_FAIL);
        ck_assert_ptr_nonnull(strstr(r->findings[0].message, "a fully masked row"));
        ck_assert_msg(strstr(r->findings[0].message, words[p]) != NULL, "%s",
                      r->findings[0].message);
        ck_assert_ptr_null(strstr(r->findings[0].message, words[1 - p]));
        ck_assert_ptr_null(strstr(r->findings[0].message, "is NaN"));
        ck_assert((strstr(r->note, "inherit") != NULL) == (p == 1));
        live_finish(&l);
    }
}
END_TEST

TEST_MAIN(finite_values_pass_and_are_counted,
          the_origin_is_named_in_the_first_the_middle_and_the_last_layer,
          an_infinity_amid_small_values_is_not_taken_for_an_overflow,
          an_infinity_amid_values_near_the_end_of_the_format_is_an_overflow,
          a_parameter_that_is_not_finite_is_named_as_the_cause,
          of_several_such_parameters_that_of_the_same_layer_is_the_cause,
          a_table_is_the_cause_in_the_logits_only_where_the_head_is_tied_to_it,
          a_parameter_alone_that_is_not_finite_fails,
          nan_of_padded_tokens_is_not_counted,
          keys_that_each_layer_masks_anew_are_not_said_to_spread,
          the_first_step_that_breaks_is_the_origin)
