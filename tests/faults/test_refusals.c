/* SPDX-License-Identifier: MIT
 *
 * Faults that cannot act in a model, that would change nothing in what they select, or
 * that are written wrongly: each is refused with its reason.
 */
#include <stdio.h>
#include <string.h>

#include "../model/observe.h"
#include "suite.h"

#define CFG(more)                                                                      \
    "model : { preset = \"gpt2\"; vocab = 17; d_model = 24; n_heads = 4; "             \
    "n_layers = 3; d_ff = 40; max_seq_len = 32; " more " };"

static void prepare(observed *o, const char *cfg, size_t length)
{
    OK(observe_cfg(o, cfg, "ref64"));
    OK(observe_random(o, 2, length));
}

static void refused(const char *cfg, const char *faults, txd_status status,
                    const char *says)
{
    observed o = {0};

    prepare(&o, cfg, 6);
    ck_assert_int_eq(observe_faults(&o, faults), status);
    ck_assert_ptr_null(o.plan);
    ck_assert_msg(strstr(txd_message(), says) != NULL, "\"%s\" lacks \"%s\"",
                  txd_message(), says);
    observe_finish(&o);
}

/* The same, found when the parameters are edited. */
static void refused_later(const char *cfg, const char *faults, const char *says)
{
    observed o = {0};

    prepare(&o, cfg, 6);
    ck_assert_int_eq(observe_faults(&o, faults), TXD_ERR_INAPPLICABLE);
    ck_assert_ptr_nonnull(o.plan);
    ck_assert_msg(strstr(txd_message(), says) != NULL &&
                      strstr(txd_message(), "test.cfg:1") != NULL,
                  "\"%s\" lacks \"%s\"", txd_message(), says);
    observe_finish(&o);
}

START_TEST(what_cannot_act_is_refused_with_the_reason)
{
    const txd_status no = TXD_ERR_INAPPLICABLE;

    refused(CFG(""), "faults = ( { name = \"padding_ignored\"; } );", no, "padded");
    refused(CFG("") " mask : { causal = false; };",
            "faults = ( { name = \"mask_off_by_one\"; } );", no, "causal");
    refused(CFG("positions = \"rotary\";"),
            "faults = ( { name = \"position_too_small\"; } );", no, "learned");
    refused(CFG("positions = \"none\";"),
            "faults = ( { name = \"embedding_too_large\"; } );", no, "positions");
    refused(CFG("positions = \"sinusoidal\";"),
            "faults = ( { name = \"embedding_too_large\"; } );", no, "learned");
    refused(CFG("score_scale = 1.0;"), "faults = ( { name = \"scale_missing\"; } );",
            no, "scale");
    refused(CFG("norm_placement = \"post\";"), "faults = ( { name = \"post_ln\"; } );",
            no, "after the sums already");
    refused(CFG("norm_placement = \"sandwich\";"),
            "faults = ( { name = \"post_ln\"; } );", no, "over the branches");
    refused(CFG("parallel = true;"), "faults = ( { name = \"post_ln\"; } );", no,
            "one for both");
    refused(CFG("") " mask : { fill = -100.0; };",
            "faults = ( { name = \"mask_fill_finite\"; } );", no, "-inf");
    refused(CFG("") " mask : { causal = false; };",
            "faults = ( { name = \"mask_fill_too_weak\"; } );", no, "needs a mask");
    refused(CFG("value_dim = 8;"), "faults = ( { name = \"shared_qkv\"; } );", no,
            "as wide as");
    refused(CFG(""), "faults = ( { name = \"cross_causal\"; } );", no, "model.cross");
    refused(CFG(""), "faults = ( { name = \"memory_padding_ignored\"; } );", no,
            "model.cross");
    refused(CFG(""),
            "faults = ( { name = \"head_merge_view\"; layers = 1; }, "
            "{ name = \"strides_ignored\"; } );",
            no, "head_merge_view replaces the same operation of layer 1");
    refused(CFG(""),
            "faults = ( { name = \"softmax_jacobian_wrong\"; layers = 2; }, "
            "{ name = \"mask_after_softmax\"; } );",
            no, "softmax_jacobian_wrong replaces the same operation of layer 2");
    refused(CFG(""), "faults = ( { name = \"mask_missing\"; layers = 3; } );", no,
            "the last is 2");
    refused(CFG(""), "faults = ( { name = \"mask_missing\"; heads = \"2,4\"; } );", no,
            "head 4");
    refused(CFG(""), "faults = ( { name = \"mask_missing\"; queries = 6; } );", no,
            "query 6");
    refused(CFG(""), "faults = ( { name = \"mask_missing\"; batch = 2; } );", no,
            "batch row 2");
}
END_TEST

START_TEST(faults_of_heads_need_several)
{
    static const char *const names[] = {"head_split_view", "head_merge_view",
                                        "strides_ignored", "heads_identical"};
    const char *one = "model : { preset = \"mini\"; vocab = 17; d_model = 8; "
                      "n_heads = 1; n_layers = 2; max_seq_len = 8; };";
    char faults[96];

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(faults, sizeof faults, "faults = ( { name = \"%s\"; } );", names[i]);
        refused(one, faults, TXD_ERR_INAPPLICABLE, "more than one head");
    }
}
END_TEST

/* What a scene knows beyond configuration and input. */
START_TEST(the_scene_says_what_cannot_act)
{
    const txd_fault *fp16 = txd_fault_find("fp16_scores");
    const txd_fault *init = txd_fault_find("init_too_large");
    const txd_fault *grad = txd_fault_find("grad_zeroed");
    const txd_fault *jacobian = txd_fault_find("softmax_jacobian_wrong");
    observed o = {0};
    txd_fault_scene scene = {.claimed = &o.config};

    prepare(&o, CFG(""), 6);
    OK(txd_backend_find(&scene.backend, "fp16"));
    ck_assert_ptr_nonnull(strstr(txd_fault_inapplicable(fp16, &scene), "float16"));
    OK(txd_backend_find(&scene.backend, "ref32"));
    ck_assert_ptr_null(txd_fault_inapplicable(fp16, &scene));
    ck_assert_ptr_null(txd_fault_inapplicable(init, &scene));
    scene.trained = true;
    ck_assert_ptr_nonnull(strstr(txd_fault_inapplicable(init, &scene), "checkpoint"));
    ck_assert_ptr_null(txd_fault_inapplicable(grad, &scene));
    scene.forward_only = true;
    ck_assert_ptr_nonnull(strstr(txd_fault_inapplicable(grad, &scene), "@grad"));
    ck_assert_ptr_nonnull(strstr(txd_fault_inapplicable(jacobian, &scene), "@grad"));
    observe_finish(&o);
}
END_TEST

START_TEST(without_a_pair_of_tokens_faults_of_gradients_are_refused)
{
    const txd_fault *const faults[] = {txd_fault_find("grad_zeroed"),
                                       txd_fault_find("softmax_jacobian_wrong")};
    observed o = {0};
    txd_fault_scene scene = {.claimed = &o.config, .inputs = &o.inputs};

    prepare(&o, CFG(""), 2);
    for (size_t f = 0; f < 2; f++)
        ck_assert_ptr_null(txd_fault_inapplicable(faults[f], &scene));
    o.inputs.valid[0] = 0;
    for (size_t f = 0; f < 2; f++)
        ck_assert_ptr_null(txd_fault_inapplicable(faults[f], &scene));
    o.inputs.valid[3] = 0; /* now both rows have one token */
    for (size_t f = 0; f < 2; f++)
        ck_assert_ptr_nonnull(
            strstr(txd_fault_inapplicable(faults[f], &scene), "next token"));
    observe_finish(&o);
}
END_TEST

/* The memory of batch row 1 is all padding: real queries are without keys, unless they
 * are padding too. Or the number is one that scores come near to. */
START_TEST(a_finite_fill_acts_where_a_query_has_no_key_or_is_weak)
{
    static const size_t real[] = {4, 0};
    const char *const uniform =
        CFG("cross = true;") " mask : { masked_row = \"uniform\"; };";
    const char *const finite = "faults = ( { name = \"mask_fill_finite\"; } );";
    observed o = {0};

    prepare(&o, CFG("cross = true;"), 6);
    OK(observe_memory(&o, 4, real));
    OK(observe_faults(&o, finite));
    observe_finish(&o);
    prepare(&o, CFG("cross = true;"), 6);
    OK(observe_memory(&o, 4, real));
    memset(o.inputs.valid + 6, 0, 6 * sizeof *o.inputs.valid);
    ck_assert_int_eq(observe_faults(&o, finite), TXD_ERR_INAPPLICABLE);
    observe_finish(&o);
    prepare(&o, uniform, 6);
    OK(observe_memory(&o, 4, real));
    ck_assert_int_eq(observe_faults(&o, finite), TXD_ERR_INAPPLICABLE);
    ck_assert_ptr_nonnull(strstr(txd_message(), "gives the same"));
    observe_finish(&o);
    prepare(&o, CFG(""), 6);
    OK(observe_faults(
        &o, "faults = ( { name = \"mask_fill_finite\"; strength = -9999; } );"));
    observe_finish(&o);
}
END_TEST

/* -1e9 is minus infinity to float16, as it is claimed; -60000 is not. */
START_TEST(a_finite_fill_that_the_format_stores_as_infinity_is_refused)
{
    txd_fault_use use = {.name = "mask_fill_finite"};
    txd_plan *plan = NULL;
    observed o = {0};
    static const size_t real[] = {4, 0};
    txd_fault_scene scene = {.claimed = &o.config, .inputs = &o.inputs};

    prepare(&o, CFG("cross = true;"), 6);
    OK(observe_memory(&o, 4, real));
    OK(txd_backend_find(&scene.backend, "fp16"));
    ck_assert_int_eq(txd_plan_create(&plan, &scene, &use, 1), TXD_ERR_INAPPLICABLE);
    ck_assert_ptr_nonnull(strstr(txd_message(), "becomes -inf"));
    use.strength = -60000;
    OK(txd_plan_create(&plan, &scene, &use, 1));
    txd_plan_destroy(plan);
    use.strength = 0;
    OK(txd_backend_find(&scene.backend, "bf16"));
    OK(txd_plan_create(&plan, &scene, &use, 1));
    txd_plan_destroy(plan);
    observe_finish(&o);
}
END_TEST

/* On a backend that rounds the steps of a softmax only the running sum is left to be
 * wrong, and that of two terms is rounded once in either way. */
START_TEST(a_softmax_that_is_in_bfloat16_anyway_differs_in_sums_alone)
{
    txd_fault_use use = {.name = "softmax_bf16"};
    txd_plan *plan = NULL;
    observed o = {0};
    txd_fault_scene scene = {.claimed = &o.config, .inputs = &o.inputs};

    prepare(&o, CFG("layers = ( { range = \"1\"; softmax = \"same\"; } );"), 6);
    OK(txd_backend_find(&scene.backend, "bf16"));
    OK(txd_range_parse(&use.queries, "0:2"));
    OK(txd_plan_create(&plan, &scene, &use, 1));
    txd_plan_destroy(plan);
    OK(txd_range_parse(&use.layers, "1"));
    ck_assert_int_eq(txd_plan_create(&plan, &scene, &use, 1), TXD_ERR_INAPPLICABLE);
    ck_assert_ptr_nonnull(strstr(txd_message(), "precision.softmax"));
    OK(txd_range_parse(&use.queries, "2"));
    OK(txd_plan_create(&plan, &scene, &use, 1));
    txd_plan_destroy(plan);
    observe_finish(&o);
}
END_TEST

/* Only the parameters can tell. */
START_TEST(rows_that_are_equal_already_are_refused_with_their_place)
{
    const char *equal = CFG("") " weights : { init = ( { params = \"*\"; scheme = "
                                "\"constant\"; value = 0.5; } ); };";

    refused_later(equal, "faults = ( { name = \"shared_qkv\"; layers = 1; } );",
                  "share their rows already");
    refused_later(equal, "faults = ( { name = \"heads_identical\"; } );",
                  "the same already");
}
END_TEST

START_TEST(one_token_hides_faults_of_heads)
{
    static const char *const names[] = {"head_split_view", "head_merge_view",
                                        "strides_ignored"};
    char faults[96];

    for (size_t i = 0; i < 3; i++) {
        observed o = {0};

        prepare(&o, CFG(""), 1);
        snprintf(faults, sizeof faults, "faults = ( { name = \"%s\"; } );", names[i]);
        ck_assert_int_eq(observe_faults(&o, faults), TXD_ERR_INAPPLICABLE);
        ck_assert_ptr_nonnull(strstr(txd_message(), "one token"));
        observe_finish(&o);
    }
}
END_TEST

/* Batch row 1 of `prepare` ends with two tokens of padding; a memory has one real row
 * of four for batch row 0, and no padding for batch row 1. */
static void idle(const char *cfg, const char *fault, const char *says)
{
    static const size_t real[] = {1, 4};
    char faults[256];
    observed o = {0};

    prepare(&o, cfg, 6);
    if (o.config.cross)
        OK(observe_memory(&o, 4, real));
    o.inputs.valid[10] = o.inputs.valid[11] = 0;
    txd_inputs_count_positions(&o.inputs);
    snprintf(faults, sizeof faults, "faults = ( { name = %s } );", fault);
    ck_assert_msg(observe_faults(&o, faults) == TXD_ERR_INAPPLICABLE, "%s acts", fault);
    ck_assert_msg(strstr(txd_message(), says) != NULL, "\"%s\" lacks \"%s\"",
                  txd_message(), says);
    observe_finish(&o);
}

START_TEST(a_fault_that_changes_nothing_in_what_it_selects_is_refused)
{
    const char *mixed = CFG("layers = ( { range = \"1\"; causal = false; "
                            "score_scale = 1.0; } );");
    const char *alone = CFG("") " mask : { window = 1; };";
    const char *weak = CFG("layers = ( { range = \"1\"; fill = -3.0; } );");

    idle(CFG(""), "\"mask_off_by_one\"; queries = 5;", "next key");
    idle(CFG(""), "\"mask_missing\"; queries = 5; batch = 0;", "later key");
    idle(CFG(""), "\"mask_missing\"; queries = \"3:\"; batch = 1;", "later key");
    idle(alone, "\"mask_missing\";", "later key");
    idle(mixed, "\"mask_missing\"; layers = 1;", "later key");
    idle(mixed, "\"scale_missing\"; layers = 1;", "is 1 already");
    idle(CFG(""), "\"mask_after_softmax\"; queries = 5; batch = 0;", "hidden key");
    idle(CFG(""), "\"mask_inverted\"; queries = 4; batch = 1;", "padding");
    idle(CFG(""), "\"fully_masked_row\"; batch = 1;", "padding");
    idle(CFG(""), "\"padding_ignored\"; batch = 0;", "padding");
    idle(CFG(""), "\"padding_ignored\"; queries = 5; batch = 1;", "padding");
    idle(CFG(""), "\"norm_eps_tiny\"; strength = 1e-5;", "that small already");
    idle(CFG(""), "\"norm_eps_huge\"; strength = 1e-5;", "that large already");
    idle(weak, "\"mask_fill_too_weak\"; layers = 1;", "that weak already");
    idle(weak, "\"mask_fill_finite\"; layers = 1;", "is finite already");
    idle(CFG(""), "\"mask_fill_finite\";", "no real query is without a key");
    idle(CFG(""), "\"mask_fill_finite\"; strength = -1e4;", "without a key");
    idle(CFG("cross = true;"), "\"mask_fill_finite\";", "without a key");
    idle(CFG("cross = true;"), "\"cross_causal\"; batch = 0;", "no real row");
    idle(CFG("cross = true;"), "\"cross_causal\"; queries = \"3:\";", "no real row");
    idle(CFG("cross = true;"), "\"memory_padding_ignored\"; batch = 1;",
         "no real query");
    idle(CFG(""), "\"softmax_bf16\"; queries = 0;", "more than one key");
    idle(CFG(""), "\"softmax_bf16\"; queries = 5; batch = 1;", "more than one key");
    idle(CFG(""), "\"init_too_large\"; strength = 1;", "strength of 1");
    idle(CFG(""), "\"embedding_too_large\"; strength = 1;", "strength of 1");
    idle(CFG(""), "\"position_too_small\"; strength = 1;", "strength of 1");
}
END_TEST

START_TEST(what_is_written_wrongly_is_refused_with_its_place)
{
    const txd_status no = TXD_ERR_CONFIG;

    refused(CFG(""), "faults = ( { name = \"mask_mising\"; } );", no, "mask_missing");
    refused(CFG(""), "faults = ( { layers = 1; } );", no, "needs a name");
    refused(CFG(""), "faults = ( { name = \"scale_missing\"; heads = 1; } );", no,
            "takes no heads");
    refused(CFG(""), "faults = ( { name = \"mask_missing\"; layers = \"x\"; } );", no,
            "test.cfg:1");
    refused(CFG(""), "faults = ( { name = \"mask_missing\"; layers = -1; } );", no,
            "test.cfg:1");
    refused(CFG(""), "faults = ( { name = \"norm_eps_tiny\"; strength = -1; } );", no,
            "norm_eps is -1");
    refused(CFG(""), "faults = ( { name = \"mask_fill_too_weak\"; strength = 3; } );",
            no, "test.cfg:1: faults.0: fault mask_fill_too_weak with strength 3");
    refused(CFG(""), "faults = ( { name = \"embedding_too_large\"; strength = 0; } );",
            no, "strength of 0");
}
END_TEST

TEST_MAIN(what_cannot_act_is_refused_with_the_reason, faults_of_heads_need_several,
          the_scene_says_what_cannot_act,
          without_a_pair_of_tokens_faults_of_gradients_are_refused,
          a_finite_fill_acts_where_a_query_has_no_key_or_is_weak,
          a_finite_fill_that_the_format_stores_as_infinity_is_refused,
          a_softmax_that_is_in_bfloat16_anyway_differs_in_sums_alone,
          rows_that_are_equal_already_are_refused_with_their_place,
          one_token_hides_faults_of_heads,
          a_fault_that_changes_nothing_in_what_it_selects_is_refused,
          what_is_written_wrongly_is_refused_with_its_place)
