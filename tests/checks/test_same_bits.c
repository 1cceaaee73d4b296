/* SPDX-License-Identifier: MIT
 *
 * Laws that hold two passes over the same inputs against each other, bit for bit: on
 * several threads, and under somebody's eyes.
 */
#include <stdio.h>
#include <string.h>

#include "planting.h"

#define MODEL                                                                          \
    "model : { preset = \"llama\"; vocab = 13; d_model = 16; n_heads = 4; n_kv_heads " \
    "= 2; n_layers = 3; d_ff = 12; max_seq_len = 16; }; input : { tokens = ([1, 2, "   \
    "3, "                                                                              \
    "4, 5, 6, 7], [8, 9, 10]); }; "

static void run(live *l, const char *law, const char *faults)
{
    char cfg[1024];

    snprintf(cfg, sizeof cfg, MODEL "faults : ( %s );", faults);
    live_run(l, cfg, law);
    ck_assert_ptr_null(l->inapplicable);
}

START_TEST(a_difference_of_one_rounding_in_one_layer_is_found_there)
{
    for (int layer = 0; layer < 3; layer++) {
        const txd_finding *finding;
        char fault[96];
        live l;

        snprintf(fault, sizeof fault,
                 "{ name = \"thread_dependent\"; layers = \"%d\"; }", layer);
        run(&l, "thread_independence", fault);
        ck_assert_int_eq(live_result(&l, "thread_independence")->verdict,
                         TXD_VERDICT_FAIL);
        finding = live_result(&l, "thread_independence")->findings;
        ck_assert_int_eq(finding->layer, layer);
        ck_assert_msg(strstr(finding->site, "attn.out") != NULL, "%s", finding->site);
        ck_assert_double_gt(finding->measured, 0);
        ck_assert_double_lt(finding->measured, 1e-6);
        ck_assert_double_eq(finding->allowed, 0);
        live_finish(&l);
    }
}
END_TEST

START_TEST(every_layer_in_which_looking_matters_is_named)
{
    const txd_result *r;
    live l;

    run(&l, "observer_effect", "{ name = \"observed_differs\"; layers = \"0,2\"; }");
    r = live_result(&l, "observer_effect");
    ck_assert_int_eq(r->verdict, TXD_VERDICT_FAIL);
    ck_assert_uint_eq(r->finding_count, 2);
    ck_assert_int_eq(r->findings[0].layer, 0);
    ck_assert_int_eq(r->findings[1].layer, 2);
    ck_assert_ptr_nonnull(strstr(r->findings[1].message, "values of layer 2 alone"));
    live_finish(&l);
}
END_TEST

/* 2 rows of 7 tokens of 16 elements, the loss, and all gradients. */
START_TEST(a_healthy_model_has_the_same_bits)
{
    size_t gradients = 0;
    live l;

    run(&l, "thread_independence,observer_effect", "");
    for (size_t i = 0; i < txd_params_count(l.params); i++)
        gradients += txd_tensor_count(&txd_params_at(l.params, i)->value);
    ck_assert_int_eq(live_result(&l, "observer_effect")->verdict, TXD_VERDICT_PASS);
    ck_assert_uint_eq(live_result(&l, "observer_effect")->evaluated,
                      2 * 7 * 16 + 1 + gradients);
    ck_assert_int_eq(live_result(&l, "thread_independence")->verdict, TXD_VERDICT_PASS);
    ck_assert_uint_gt(live_result(&l, "thread_independence")->evaluated, 2 * gradients);
    live_finish(&l);
}
END_TEST

START_TEST(nan_is_never_a_pass)
{
    live l;

    run(&l, "thread_independence,observer_effect", "{ name = \"nan_in_weights\"; }");
    for (size_t i = 0; i < l.count; i++)
        ck_assert_msg(l.results[i].verdict == TXD_VERDICT_OPEN, "%s: %s",
                      l.results[i].check, txd_verdict_name(l.results[i].verdict));
    live_finish(&l);
}
END_TEST

TEST_MAIN(a_difference_of_one_rounding_in_one_layer_is_found_there,
          every_layer_in_which_looking_matters_is_named,
          a_healthy_model_has_the_same_bits, nan_is_never_a_pass)
