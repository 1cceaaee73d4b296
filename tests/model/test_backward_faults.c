/* SPDX-License-Identifier: MIT
 *
 * The backward half under faults: a faulty model has the gradient of what it computes;
 * attention is computed again with the faults in it; what an operation of the backward
 * half gets wrong shows first at the site that it makes.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "slopes.h"
#include "suite.h"

#define SIZES                                                                          \
    "vocab = 11; d_model = 12; n_heads = 4; n_layers = 2; d_ff = 10; "                 \
    "max_seq_len = 16; "
#define GPT2 "model : { preset = \"gpt2\"; " SIZES "}; "
#define CROSS "model : { preset = \"gpt2\"; cross = true; n_kv_heads = 2; " SIZES "}; "

static void begin(observed *o, const char *cfg)
{
    const size_t real[2] = {4, 3};

    slopes_model(o, cfg);
    OK(observe_random(o, 2, 7));
    o->inputs.valid[13] = 0;
    txd_inputs_count_positions(&o->inputs);
    if (o->config.cross)
        OK(observe_memory(o, 4, real));
    o->backward = true;
}

/* Mild: a loss that is all steps has no slope to measure. */
static txd_status try_to_plant(observed *o, const char *fault)
{
    bool wild = txd_glob_list("init_too_large,head_init_too_large", fault);
    char text[128];

    snprintf(text, sizeof text, "faults = ( { name = \"%s\"; %s } );", fault,
             wild ? "strength = 1.5;" : "");
    return observe_faults(o, text);
}

static void plant(observed *o, const char *fault)
{
    OK(try_to_plant(o, fault));
}

/* Roundings have no slope, nor has a NaN; the others are wrong on purpose. */
static const char *const no_slope = "softmax_bf16,fp16_scores,nan_in_weights";
static const char *const backward_alone =
    "grad_zeroed,softmax_jacobian_wrong,gradient_scale_wrong,kv_gradient_not_summed";

START_TEST(a_faulty_model_has_the_gradient_of_what_it_computes)
{
    size_t acted = 0;

    for (size_t f = 0; txd_fault_at(f) != NULL; f++) {
        const char *name = txd_fault_name(txd_fault_at(f));
        bool bends = strcmp(name, "norm_inverted") == 0; /* the square of its input */
        struct slope_bound bound = {name, bends ? SLOPE_STEP_KINKS : SLOPE_STEP};
        observed o = {0};
        txd_status status;

        if (txd_glob_list(no_slope, name) || txd_glob_list(backward_alone, name))
            continue;
        begin(&o, CROSS);
        status = try_to_plant(&o, name);
        ck_assert_msg(status == TXD_OK || status == TXD_ERR_INAPPLICABLE, "%s: %s",
                      name, txd_message());
        acted += status == TXD_OK;
        for (size_t i = 0; status == TXD_OK && i < txd_params_count(o.params); i++)
            slopes_check_parameter(&o, i, &bound);
        observe_finish(&o);
    }
    ck_assert_uint_gt(acted, 25);
}
END_TEST

/* Those that can act; where they cannot, the model says why. */
START_TEST(faulty_models_of_other_conventions_have_the_gradient_of_what_they_compute)
{
    static const char *const models[] = {
        "model : { preset = \"gpt2\"; parallel = true; shared_norm = true; head_bias = "
        "true; logit_softcap = 4.0; embed_scale = 1.5; token_types = 2; " SIZES "}; ",
        "model : { preset = \"llama\"; norm_placement = \"sandwich\"; norm_offset = "
        "0.5; n_kv_heads = 2; head_dim = 6; rope_width = 4; " SIZES "}; ",
        "model : { preset = \"gpt2\"; positions = \"alibi\"; sinks = true; "
        "score_softcap = 3.0; qk_norm = \"head\"; " SIZES "}; ",
        "model : { preset = \"mini\"; positions = \"relative\"; relative_buckets = 6; "
        "relative_distance = 5; qk_norm = \"width\"; " SIZES "}; "};
    size_t acted = 0;

    for (size_t m = 0; m < sizeof models / sizeof *models; m++)
        for (size_t f = 0; txd_fault_at(f) != NULL; f++) {
            const char *name = txd_fault_name(txd_fault_at(f));
            struct slope_bound bound = {name, SLOPE_STEP_KINKS}; /* they bend a lot */
            observed o = {0};
            txd_status status;

            if (txd_glob_list(no_slope, name) || txd_glob_list(backward_alone, name))
                continue;
            begin(&o, models[m]);
            status = try_to_plant(&o, name);
            ck_assert_msg(status == TXD_OK || status == TXD_ERR_INAPPLICABLE, "%s: %s",
                          name, txd_message());
            acted += status == TXD_OK;
            for (size_t i = 0; status == TXD_OK && i < txd_params_count(o.params); i++)
                slopes_check_parameter(&o, i, &bound);
            observe_finish(&o);
        }
    ck_assert_uint_gt(acted, 80);
}
END_TEST

static double slope_error(observed *o, const char *param)
{
    txd_tensor g;
    double *u, expected;
    size_t i = 0, count;

    while (strcmp(txd_params_at(o->params, i)->name, param) != 0)
        i++;
    OK(observe_pass(o));
    OK(txd_run_gradient(&g, o->run, i));
    count = txd_tensor_count(&g);
    u = txd_arena_alloc(o->arena, count, sizeof *u);
    slopes_direction(u, count, param);
    expected = slopes_dot(g.data, u, count);
    return fabs(slopes_of_parameter(o, i, u, SLOPE_STEP) - expected);
}

START_TEST(faults_of_the_backward_half_alone_break_the_slope)
{
    observed healthy = {0}, zeroed = {0}, wrong = {0};

    begin(&healthy, GPT2);
    ck_assert_double_lt(slope_error(&healthy, "layers.0.attn.qkv.weight"), 1e-9);
    begin(&zeroed, GPT2);
    plant(&zeroed, "grad_zeroed");
    ck_assert_double_gt(slope_error(&zeroed, "layers.0.attn.qkv.weight"), 1e-4);
    begin(&wrong, GPT2);
    plant(&wrong, "softmax_jacobian_wrong");
    ck_assert_double_gt(slope_error(&wrong, "layers.0.attn.qkv.weight"), 1e-4);
    observe_finish(&healthy);
    observe_finish(&zeroed);
    observe_finish(&wrong);
}
END_TEST

/* ---- attention computed again ---- */

struct again {
    observed *o; /* what the forward half had */
    size_t tiles;
};

static unsigned again_ask(void *self, const txd_site *site)
{
    (void)self;
    return site->kind == TXD_SITE_GRADIENT && site->point == TXD_POINT_ATTN_WEIGHTS
               ? TXD_ASK_VALUE
               : 0;
}

static const txd_point *again_needs(void *self, txd_point point)
{
    static const txd_point needs[] = {TXD_POINT_ATTN_SCORES, TXD_POINT_ATTN_MASKED,
                                      TXD_POINT_ATTN_WEIGHTS, TXD_POINT_COUNT};

    (void)self;
    (void)point;
    return needs;
}

static txd_status again_merge(void *self, const txd_block *block, const void *slot)
{
    struct again *again = self;
    const txd_point *need = again_needs(NULL, TXD_POINT_COUNT);
    size_t cells = block->dims[2] * block->dims[3];
    size_t start = (block->start[0] * block->dims[1] + block->start[1]) * cells;

    (void)slot;
    again->tiles++;
    for (; *need != TXD_POINT_COUNT; need++) {
        char name[96];
        txd_tensor tile;
        const struct observed_site *site;

        OK(txd_block_earlier(&tile, block, *need));
        txd_point_name(name, sizeof name, *need, block->site->layer);
        site = observe_site(again->o, name);
        ck_assert_uint_eq(txd_tensor_count(&tile), cells);
        ck_assert_msg(memcmp(tile.data, site->values + start, cells * 8) == 0, "%s",
                      name);
    }
    return TXD_OK;
}

START_TEST(attention_is_computed_again_to_the_bit_whatever_faults_do)
{
    size_t acted = 0;

    for (size_t f = 0; txd_fault_at(f) != NULL; f++) {
        observed o = {0}, back = {0};
        struct again again = {&o, 0};
        txd_status status;
        txd_tap tap = {.name = "again",
                       .self = &again,
                       .gradients = true,
                       .ask = again_ask,
                       .needs = again_needs,
                       .merge = again_merge};

        begin(&o, CROSS);
        status = try_to_plant(&o, txd_fault_name(txd_fault_at(f)));
        ck_assert(status == TXD_OK || status == TXD_ERR_INAPPLICABLE);
        if (status != TXD_OK) {
            observe_finish(&o);
            continue;
        }
        acted++;
        OK(observe_pass(&o));
        begin(&back, CROSS);
        plant(&back, txd_fault_name(txd_fault_at(f)));
        back.before = &tap;
        OK(observe_pass(&back));
        ck_assert_uint_eq(again.tiles, 2 * 2 * 4);
        observe_finish(&o);
        observe_finish(&back);
    }
    ck_assert_uint_gt(acted, 30);
}
END_TEST

TEST_MAIN(a_faulty_model_has_the_gradient_of_what_it_computes,
          faulty_models_of_other_conventions_have_the_gradient_of_what_they_compute,
          faults_of_the_backward_half_alone_break_the_slope,
          attention_is_computed_again_to_the_bit_whatever_faults_do)
