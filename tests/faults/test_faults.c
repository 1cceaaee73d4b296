/* SPDX-License-Identifier: MIT
 *
 * The catalogue of faults: what the first of them do, and that selectors hold.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../model/observe.h"
#include "faults/fault.h"
#include "suite.h"

#define CFG(more)                                                                      \
    "model : { preset = \"gpt2\"; vocab = 17; d_model = 24; n_heads = 4; "             \
    "n_layers = 3; d_ff = 40; max_seq_len = 32; " more " };"

static void prepare(observed *o, const char *cfg, size_t length)
{
    OK(observe_cfg(o, cfg, "ref64"));
    OK(observe_random(o, 2, length));
}

static void faulty(observed *o, const char *cfg, size_t length, const char *faults)
{
    prepare(o, cfg, length);
    OK(observe_faults(o, faults));
    OK(observe_pass(o));
}

static const double *weights(observed *o, int layer)
{
    char name[64];

    snprintf(name, sizeof name, "layers.%d.attn.weights", layer);
    return observe_site(o, name)->values;
}

/* Weight of (b, h, q, k) among 2 batch rows, 4 heads, n tokens. */
static double weight(observed *o, int layer, size_t n, const size_t at[4])
{
    return weights(o, layer)[((at[0] * 4 + at[1]) * n + at[2]) * n + at[3]];
}

static size_t later_keys_seen(observed *o, int layer, size_t n)
{
    size_t seen = 0;

    for (size_t i = 0; i < 2 * 4 * n * n; i++)
        seen += i % n > i / n % n && weights(o, layer)[i] != 0;
    return seen;
}

START_TEST(every_fault_says_what_goes_wrong_and_how_it_shows)
{
    size_t count = 0;

    for (const txd_fault *f; (f = txd_fault_at(count)) != NULL; count++) {
        ck_assert_ptr_eq(txd_fault_find(txd_fault_name(f)), f);
        ck_assert_uint_gt(strlen(txd_fault_sentence(f)), 20);
        ck_assert_uint_gt(strlen(txd_fault_symptom(f)), 10);
        ck_assert_ptr_nonnull(strstr(txd_fault_example(f), "right:"));
    }
    ck_assert_uint_ge(count, 30);
    ck_assert_ptr_null(txd_fault_find("no_such_fault"));
}
END_TEST

START_TEST(a_strength_is_the_one_that_the_sentence_states)
{
    size_t count = 0;

    for (size_t f = 0; txd_fault_at(f) != NULL; f++) {
        const char *stated = strstr(txd_fault_sentence(txd_fault_at(f)), "strength (");
        bool has = (txd_fault_selectors(txd_fault_at(f)) & TXD_FAULT_STRENGTH) != 0;

        ck_assert_int_eq(stated != NULL, has);
        if (has)
            ck_assert_double_eq(strtod(strchr(stated, '(') + 1, NULL),
                                txd_fault_at(f)->strength);
        count += has;
    }
    ck_assert_uint_gt(count, 0);
}
END_TEST

START_TEST(off_by_one_shows_the_next_key_and_no_other)
{
    observed o = {0};

    faulty(&o, CFG(""), 9, "faults = ( { name = \"mask_off_by_one\"; layers = 1; } );");
    ck_assert_uint_eq(later_keys_seen(&o, 0, 9), 0);
    ck_assert_uint_eq(later_keys_seen(&o, 1, 9), (size_t)2 * 4 * 8);
    for (size_t q = 0; q < 8; q++)
        ck_assert_double_gt(weight(&o, 1, 9, (size_t[]){0, 0, q, q + 1}), 0);
    observe_finish(&o);
}
END_TEST

START_TEST(selectors_confine_a_fault_to_one_query_of_one_head_of_one_row)
{
    observed o = {0};

    faulty(&o, CFG(""), 9,
           "faults = ( { name = \"mask_off_by_one\"; layers = 2; heads = 3; "
           "queries = \"5\"; batch = 1; } );");
    ck_assert_uint_eq(later_keys_seen(&o, 0, 9) + later_keys_seen(&o, 1, 9), 0);
    ck_assert_uint_eq(later_keys_seen(&o, 2, 9), 1);
    ck_assert_double_gt(weight(&o, 2, 9, (size_t[]){1, 3, 5, 6}), 0);
    observe_finish(&o);
}
END_TEST

START_TEST(two_faults_at_one_layer_both_act)
{
    observed o = {0};

    faulty(&o, CFG(""), 9,
           "faults = ( { name = \"mask_off_by_one\"; layers = 0; queries = 2; }, "
           "{ name = \"fully_masked_row\"; layers = 0; queries = 4; } );");
    ck_assert_uint_eq(later_keys_seen(&o, 0, 9), (size_t)2 * 4);
    ck_assert_double_eq(weight(&o, 0, 9, (size_t[]){0, 0, 4, 0}), 0);
    ck_assert_double_eq(weight(&o, 0, 9, (size_t[]){1, 3, 4, 4}), 0);
    observe_finish(&o);
}
END_TEST

START_TEST(inverted_sees_exactly_what_should_be_hidden)
{
    observed o = {0};

    faulty(&o, CFG(""), 6, "faults = ( { name = \"mask_inverted\"; } );");
    for (size_t q = 0; q < 6; q++)
        for (size_t k = 0; k < 6; k++)
            ck_assert_int_eq(weight(&o, 0, 6, (size_t[]){0, 0, q, k}) != 0, k > q);
    observe_finish(&o);
}
END_TEST

START_TEST(a_mask_after_the_softmax_leaves_the_seen_part_of_the_full_softmax)
{
    observed healthy = {0}, o = {0};

    prepare(&healthy, CFG("") " mask : { causal = false; };", 6);
    OK(observe_pass(&healthy));
    faulty(&o, CFG(""), 6,
           "faults = ( { name = \"mask_after_softmax\"; layers = 0; } );");
    for (size_t q = 0; q < 6; q++)
        for (size_t k = 0; k < 6; k++) {
            const size_t at[4] = {1, 2, q, k};
            double full = weight(&healthy, 0, 6, at);

            ck_assert(txd_close(weight(&o, 0, 6, at), k <= q ? full : 0, 1e-15));
        }
    observe_finish(&healthy);
    observe_finish(&o);
}
END_TEST

START_TEST(without_the_residual_the_stream_is_the_branch)
{
    observed o = {0};
    const struct observed_site *mid, *branch;

    faulty(&o, CFG(""), 6,
           "faults = ( { name = \"residual_missing\"; layers = 1; } );");
    mid = observe_site(&o, "layers.1.resid.mid");
    branch = observe_site(&o, "layers.1.attn.branch");
    ck_assert_mem_eq(mid->values, branch->values, mid->count * sizeof(double));
    mid = observe_site(&o, "layers.0.resid.mid");
    branch = observe_site(&o, "layers.0.attn.branch");
    ck_assert_mem_ne(mid->values, branch->values, mid->count * sizeof(double));
    observe_finish(&o);
}
END_TEST

START_TEST(without_the_output_projection_the_merged_heads_are_the_output)
{
    observed o = {0};

    faulty(&o, CFG(""), 5,
           "faults : ( { name = \"output_projection_missing\"; layers = \"1\"; } );");
    for (int layer = 0; layer < 3; layer++) {
        char merged[64], out[64];
        size_t same = 0;

        snprintf(merged, sizeof merged, "layers.%d.attn.merged", layer);
        snprintf(out, sizeof out, "layers.%d.attn.out", layer);
        for (size_t i = 0; i < 2 * 5 * 24; i++)
            same +=
                observe_site(&o, merged)->values[i] == observe_site(&o, out)->values[i];
        ck_assert_uint_eq(same, layer == 1 ? 2 * 5 * 24 : 0);
    }
    observe_finish(&o);
}
END_TEST

START_TEST(padding_ignored_shows_padding_to_real_tokens_on_either_side)
{
    for (int left = 0; left < 2; left++) {
        observed o = {0};
        size_t seen = 0;

        prepare(&o, CFG(""), 6);
        o.inputs.valid[left ? 0 : 5] = 0;
        txd_inputs_count_positions(&o.inputs);
        OK(observe_faults(&o, "faults = ( { name = \"padding_ignored\"; } );"));
        OK(observe_pass(&o));
        for (size_t q = 0; q < 6; q++)
            seen += weight(&o, 0, 6, (size_t[]){0, 0, q, left ? 0 : 5}) != 0;
        ck_assert_uint_ge(seen, 5);
        observe_finish(&o);
    }
}
END_TEST

START_TEST(faults_of_parameters_change_them_and_nothing_else)
{
    observed o = {0};
    txd_param *tok, *q;
    double before;

    prepare(&o, CFG(""), 6);
    tok = txd_params_get(o.params, TXD_PARAM_EMBED_TOK, -1);
    q = txd_params_get(o.params, TXD_PARAM_QKV_WEIGHT, 1);
    before = txd_tensor_get(&tok->value, 3);
    OK(observe_faults(&o,
                      "faults = ( { name = \"embedding_too_large\"; strength = 50; }, "
                      "{ name = \"nan_in_weights\"; layers = 1; } );"));
    ck_assert(txd_close(txd_tensor_get(&tok->value, 3), 50 * before, 1e-6));
    ck_assert(isnan(txd_tensor_get(&q->value, 0)));
    ck_assert(isfinite(txd_tensor_get(&q->value, 1)));
    q = txd_params_get(o.params, TXD_PARAM_QKV_WEIGHT, 0);
    ck_assert(isfinite(txd_tensor_get(&q->value, 0)));
    observe_finish(&o);
}
END_TEST

START_TEST(the_claimed_configuration_is_never_touched)
{
    observed o = {0};
    double scale;

    prepare(&o, CFG(""), 6);
    scale = o.config.layers[0].score_scale;
    OK(observe_faults(&o, "faults = ( { name = \"scale_missing\"; layers = 0; } );"));
    ck_assert_double_eq(o.config.layers[0].score_scale, scale);
    ck_assert_double_eq(txd_plan_config(o.plan)->layers[0].score_scale, 1);
    ck_assert_double_eq(txd_plan_config(o.plan)->layers[1].score_scale, scale);
    observe_finish(&o);
}
END_TEST

START_TEST(every_query_can_be_masked_fully)
{
    observed o = {0};

    faulty(&o, CFG(""), 6,
           "faults = ( { name = \"fully_masked_row\"; queries = \"*\"; } );");
    for (size_t i = 0; i < (size_t)2 * 4 * 36; i++)
        ck_assert_double_eq(weights(&o, 1)[i], 0);
    observe_finish(&o);
}
END_TEST

START_TEST(documents_are_a_mask)
{
    observed o = {0};

    prepare(&o, CFG("") " mask : { causal = false; };", 6);
    o.inputs.document[5] = 1;
    OK(observe_faults(&o, "faults = ( { name = \"mask_after_softmax\"; } );"));
    observe_finish(&o);
}
END_TEST

TEST_MAIN(every_fault_says_what_goes_wrong_and_how_it_shows,
          a_strength_is_the_one_that_the_sentence_states,
          off_by_one_shows_the_next_key_and_no_other,
          selectors_confine_a_fault_to_one_query_of_one_head_of_one_row,
          two_faults_at_one_layer_both_act, inverted_sees_exactly_what_should_be_hidden,
          a_mask_after_the_softmax_leaves_the_seen_part_of_the_full_softmax,
          without_the_residual_the_stream_is_the_branch,
          without_the_output_projection_the_merged_heads_are_the_output,
          padding_ignored_shows_padding_to_real_tokens_on_either_side,
          faults_of_parameters_change_them_and_nothing_else,
          the_claimed_configuration_is_never_touched, every_query_can_be_masked_fully,
          documents_are_a_mask)
