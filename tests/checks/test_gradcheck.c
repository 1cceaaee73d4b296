/* SPDX-License-Identifier: MIT
 *
 * Gradients against slopes: which errors are found, from which size on, and that kinks
 * and conventions are none.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "planting.h"

#define SIZES                                                                          \
    "vocab = 13; d_model = 16; n_heads = 4; n_kv_heads = 2; n_layers = 3; d_ff = 12; " \
    "max_seq_len = 16; "
#define TOKENS                                                                         \
    "input : { tokens = ([1, 2, 3, 4, 5, 6, 7, 8, 9], [8, 9, 10]); }; "                \
    "record : ( { probe = \"grad_norm\"; } ); "
#define LAW "gradcheck"

static void run(live *l, const char *fault, int layer, const char *more)
{
    char cfg[1024];

    snprintf(cfg, sizeof cfg,
             "model : { preset = \"llama\"; " SIZES "}; " TOKENS
             "faults : ( { name = \"%s\"; layers = \"%d\"; %s } );",
             fault, layer, more);
    live_run(l, cfg, LAW);
    ck_assert_ptr_null(l->inapplicable);
}

START_TEST(the_first_layer_on_the_way_back_and_its_parameters_are_named)
{
    static const char *const wrong[][2] = {{"kv_gradient_not_summed", "attn.k.weight"},
                                           {"softmax_jacobian_wrong", "attn.q.weight"},
                                           {"gradient_scale_wrong", "attn.v.weight"},
                                           {"grad_zeroed", "attn.v.weight"}};

    for (int f = 0; f < 4; f++)
        for (int layer = 0; layer < 3; layer++) {
            const txd_finding *finding;
            char name[64];
            live l;

            run(&l, wrong[f][0], layer, "");
            ck_assert_int_eq(live_result(&l, LAW)->verdict, TXD_VERDICT_FAIL);
            finding = live_result(&l, LAW)->findings;
            ck_assert_int_eq(finding->layer, layer);
            snprintf(name, sizeof name, "layers.%d.%s", layer, wrong[f][1]);
            ck_assert_msg(strstr(finding->message, name) != NULL, "%s: %s", wrong[f][0],
                          finding->message);
            ck_assert_ptr_nonnull(strstr(finding->site, "@grad"));
            live_finish(&l);
        }
}
END_TEST

/* Values are right there, and so are queries. */
START_TEST(parameters_whose_gradient_is_right_are_not_named)
{
    live l;

    run(&l, "softmax_jacobian_wrong", 1, "");
    ck_assert_ptr_null(
        strstr(live_result(&l, LAW)->findings[0].message, "attn.v.weight"));
    live_finish(&l);
    run(&l, "kv_gradient_not_summed", 1, "");
    ck_assert_ptr_null(
        strstr(live_result(&l, LAW)->findings[0].message, "attn.q.weight"));
    live_finish(&l);
}
END_TEST

START_TEST(an_error_below_what_differences_tell_is_none_and_one_above_it_is)
{
    const txd_result *r;
    live l;

    run(&l, "gradient_scale_wrong", 1, "strength = 1.00000001;");
    r = live_result(&l, LAW);
    ck_assert_int_eq(r->verdict, TXD_VERDICT_PASS);
    ck_assert_double_gt(r->worst, 0);
    ck_assert_double_le(r->worst, r->allowed);
    live_finish(&l);
    run(&l, "gradient_scale_wrong", 1, "strength = 1.001;");
    r = live_result(&l, LAW);
    ck_assert_int_eq(r->verdict, TXD_VERDICT_FAIL);
    ck_assert_double_gt(r->findings[0].measured, r->findings[0].allowed);
    ck_assert_int_eq(r->findings[0].layer, 1);
    live_finish(&l);
}
END_TEST

static void expect(const char *cfg, txd_verdict verdict)
{
    const txd_result *r;
    live l;

    live_run(&l, cfg, LAW);
    r = live_result(&l, LAW);
    ck_assert_msg(r->verdict == verdict, "%s: %s %s\n%s", txd_verdict_name(r->verdict),
                  r->note, r->finding_count ? r->findings[0].message : "", cfg);
    live_finish(&l);
}

START_TEST(kinks_are_no_errors)
{
    for (int seed = 1; seed <= 20; seed++) {
        char cfg[1024];

        snprintf(cfg, sizeof cfg,
                 "model : { preset = \"mini\"; activation = \"relu\"; " SIZES
                 "}; weights : { init = ( { params = \"*\"; scheme = \"normal\"; std = "
                 "%g; } ); }; " TOKENS,
                 0.05 * seed);
        expect(cfg, TXD_VERDICT_PASS);
    }
}
END_TEST

START_TEST(conventions_and_formats_are_right)
{
    static const char *const models[] = {
        "preset = \"mini\"; positions = \"relative\"; sinks = true; tie_embeddings = "
        "true;",
        "preset = \"gpt2\"; norm_placement = \"post\"; cross = true;",
        "preset = \"llama\"; norm_placement = \"sandwich\"; qk_norm = \"head\"; "
        "score_softcap = 2.0; logit_softcap = 3.0; embed_scale = 2.0;"};
    static const char *const backends[] = {"cpu32", "bf16", "fp16"};

    for (size_t m = 0; m < 3; m++)
        for (size_t b = 0; b < 3; b++) {
            char cfg[1024];

            snprintf(cfg, sizeof cfg,
                     "model : { %s " SIZES "}; precision : { backend = \"%s\"; }; "
                     "input : { pad = \"left\"; tokens = ([1, 2, 3, 4, 5, 6, 7, 8, 9], "
                     "[8, 9, 10]); %s };",
                     models[m], backends[b],
                     m == 1 ? "memory : { random : { length = 4; }; };" : "");
            expect(cfg, TXD_VERDICT_PASS);
        }
}
END_TEST

START_TEST(without_a_loss_it_is_skipped_and_nan_is_open)
{
    expect("model : { preset = \"mini\"; " SIZES "}; input : { tokens = [3]; };",
           TXD_VERDICT_SKIP);
    expect("model : { preset = \"mini\"; " SIZES "}; " TOKENS
           "faults : ( { name = \"nan_in_weights\"; } );",
           TXD_VERDICT_OPEN);
}
END_TEST

TEST_MAIN(the_first_layer_on_the_way_back_and_its_parameters_are_named,
          parameters_whose_gradient_is_right_are_not_named,
          an_error_below_what_differences_tell_is_none_and_one_above_it_is,
          kinks_are_no_errors, conventions_and_formats_are_right,
          without_a_loss_it_is_skipped_and_nan_is_open)
