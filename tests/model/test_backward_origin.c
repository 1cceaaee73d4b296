/* SPDX-License-Identifier: MIT
 *
 * Where a NaN of the backward half begins: each operation in turn makes one, and the
 * first site that holds a number which is none, in order of execution, is the one that
 * the operation makes.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "faults/fault.h"
#include "slopes.h"
#include "suite.h"

#define SIZES                                                                          \
    "vocab = 11; d_model = 12; n_heads = 4; n_layers = 2; d_ff = 10; "                 \
    "max_seq_len = 16; residual_scale = 0.7; "
#define LLAMA "model : { preset = \"llama\"; n_kv_heads = 2; " SIZES "};"
#define CROSS "model : { preset = \"gpt2\"; cross = true; " SIZES "};"

/* One operation of one layer, whose first result becomes NaN where it makes `point`. */
struct poison {
    txd_point point;
    struct txd_layer_ops below;
};

static bool here(const txd_op_site *at)
{
    const struct poison *poison = at->self;

    return at->point == (int)poison->point && (at->batch < 0 || at->batch == 1) &&
           (at->head < 0 || at->head == 2);
}

#define POISON(name, arguments, result)                                                \
    static txd_status name##_##result(txd_ctx *ctx,                                    \
                                      const struct txd_##arguments##_args *args)       \
    {                                                                                  \
        const struct poison *poison = args->at.self;                                   \
        struct txd_##arguments##_args below = *args;                                   \
                                                                                       \
        below.at.self = poison->below.self[TXD_OP_##name];                             \
        TXD_TRY(poison->below.ops.name(ctx, &below));                                  \
        if (here(&args->at) && args->result != NULL)                                   \
            *(double *)args->result = NAN;                                             \
        return TXD_OK;                                                                 \
    }                                                                                  \
    static void install_##name##_##result(struct txd_layer_ops *ops, void *self)       \
    {                                                                                  \
        struct poison *poison = self;                                                  \
                                                                                       \
        poison->below = *ops;                                                          \
        ops->ops.name = name##_##result;                                               \
        ops->self[TXD_OP_##name] = self;                                               \
    }

POISON(loss_back, loss_back, d_logits)
POISON(linear_back, linear_back, d_x)
POISON(linear_back, linear_back, d_weight)
POISON(linear_back, linear_back, d_bias)
POISON(norm_back, norm_back, d_x)
POISON(norm_back, norm_back, d_gain)
POISON(add_back, pair_back, d_a)
POISON(add_back, pair_back, d_b)
POISON(scale_back, scale, out)
POISON(multiply_back, pair_back, d_a)
POISON(multiply_back, pair_back, d_b)
POISON(activate_back, activate_back, d_x)
POISON(merge_heads_back, heads, out)
POISON(split_heads_back, heads, out)
POISON(rotate_back, rotate, out)
POISON(mix_back, mix_back, d_weights)
POISON(mix_back, mix_back, d_v)
POISON(softmax_back, softmax_back, d_masked)
POISON(mask_back, mask_back, d_scores)
POISON(scores_back, scores_back, d_q)
POISON(scores_back, scores_back, d_k)
POISON(embed_back, embed_back, d_table)

struct origin {
    void (*install)(struct txd_layer_ops *ops, void *self);
    txd_point point; /* that the operation makes on the way there */
    int layer;       /* 2 = of no layer */
    const char *site;
};

static const struct origin in_llama[] = {
    {install_loss_back_d_logits, TXD_POINT_LOSS_TOKEN, 2, "logits@grad"},
    {install_linear_back_d_x, TXD_POINT_LOGITS, 2, "final.norm@grad"},
    {install_linear_back_d_weight, TXD_POINT_LOGITS, 2, "head.weight@grad"},
    {install_norm_back_d_x, TXD_POINT_FINAL_NORM, 2, "layers.1.resid.post@grad"},
    {install_norm_back_d_gain, TXD_POINT_FINAL_NORM, 2, "final_norm.weight@grad"},
    {install_add_back_d_b, TXD_POINT_RESID_POST, 1, "layers.1.mlp.branch@grad"},
    {install_add_back_d_a, TXD_POINT_RESID_POST, 1, "layers.1.resid.mid@grad"},
    {install_scale_back_out, TXD_POINT_MLP_BRANCH, 1, "layers.1.mlp.out@grad"},
    {install_linear_back_d_x, TXD_POINT_MLP_OUT, 1, "layers.1.mlp.act@grad"},
    {install_linear_back_d_weight, TXD_POINT_MLP_OUT, 1,
     "layers.1.mlp.down.weight@grad"},
    {install_multiply_back_d_b, TXD_POINT_MLP_ACT, 1, "layers.1.mlp.up@grad"},
    {install_multiply_back_d_a, TXD_POINT_MLP_ACT, 1, "layers.1.mlp.gate_act@grad"},
    {install_activate_back_d_x, TXD_POINT_MLP_GATE_ACT, 0, "layers.0.mlp.gate@grad"},
    {install_linear_back_d_x, TXD_POINT_MLP_UP, 0, "layers.0.norm2.out@grad"},
    {install_linear_back_d_x, TXD_POINT_MLP_GATE, 0, "layers.0.norm2.out@grad"},
    {install_norm_back_d_x, TXD_POINT_NORM2_OUT, 0, "layers.0.resid.mid@grad"},
    {install_norm_back_d_gain, TXD_POINT_NORM2_OUT, 0, "layers.0.norm2.weight@grad"},
    {install_add_back_d_b, TXD_POINT_RESID_MID, 0, "layers.0.attn.branch@grad"},
    {install_add_back_d_a, TXD_POINT_RESID_MID, 0, "layers.0.resid.pre@grad"},
    {install_scale_back_out, TXD_POINT_ATTN_BRANCH, 1, "layers.1.attn.out@grad"},
    {install_linear_back_d_x, TXD_POINT_ATTN_OUT, 1, "layers.1.attn.merged@grad"},
    {install_merge_heads_back_out, TXD_POINT_ATTN_MERGED, 1,
     "layers.1.attn.heads@grad"},
    {install_mix_back_d_weights, TXD_POINT_ATTN_HEADS, 1, "layers.1.attn.weights@grad"},
    {install_mix_back_d_v, TXD_POINT_ATTN_HEADS, 1, "layers.1.attn.v@grad"},
    {install_softmax_back_d_masked, TXD_POINT_ATTN_WEIGHTS, 1,
     "layers.1.attn.masked@grad"},
    {install_mask_back_d_scores, TXD_POINT_ATTN_MASKED, 1, "layers.1.attn.scores@grad"},
    {install_scores_back_d_k, TXD_POINT_ATTN_SCORES, 1, "layers.1.attn.k@grad"},
    {install_scores_back_d_q, TXD_POINT_ATTN_SCORES, 1, "layers.1.attn.q@grad"},
    {install_rotate_back_out, TXD_POINT_ATTN_K, 1, "layers.1.attn.k_proj@grad"},
    {install_rotate_back_out, TXD_POINT_ATTN_Q, 1, "layers.1.attn.q_proj@grad"},
    {install_split_heads_back_out, TXD_POINT_ATTN_V, 1, "layers.1.norm1.out@grad"},
    {install_split_heads_back_out, TXD_POINT_ATTN_K_PROJ, 1, "layers.1.norm1.out@grad"},
    {install_split_heads_back_out, TXD_POINT_ATTN_Q_PROJ, 1, "layers.1.norm1.out@grad"},
    {install_norm_back_d_x, TXD_POINT_NORM1_OUT, 0, "layers.0.resid.pre@grad"},
    {install_norm_back_d_x, TXD_POINT_NORM1_OUT, 1, "layers.1.resid.pre@grad"},
    {install_embed_back_d_table, TXD_POINT_EMBED_TOK, 2, "embed.tok.weight@grad"},
};

static const struct origin in_cross[] = {
    {install_add_back_d_b, TXD_POINT_EMBED_OUT, 2, "embed.pos@grad"},
    {install_add_back_d_a, TXD_POINT_EMBED_OUT, 2, "embed.tok@grad"},
    {install_embed_back_d_table, TXD_POINT_EMBED_POS, 2, "embed.pos.weight@grad"},
    {install_norm_back_d_x, TXD_POINT_NORM_CROSS_OUT, 1, "layers.1.resid.mid@grad"},
    {install_add_back_d_b, TXD_POINT_RESID_CROSS, 1, "layers.1.cross.branch@grad"},
    {install_scale_back_out, TXD_POINT_CROSS_BRANCH, 1, "layers.1.cross.out@grad"},
    {install_linear_back_d_x, TXD_POINT_CROSS_OUT, 1, "layers.1.cross.merged@grad"},
    {install_linear_back_d_bias, TXD_POINT_CROSS_OUT, 1, "layers.1.cross.o.bias@grad"},
    {install_merge_heads_back_out, TXD_POINT_CROSS_MERGED, 1,
     "layers.1.cross.heads@grad"},
    {install_mix_back_d_weights, TXD_POINT_CROSS_HEADS, 1,
     "layers.1.cross.weights@grad"},
    {install_mix_back_d_v, TXD_POINT_CROSS_HEADS, 1, "layers.1.cross.v@grad"},
    {install_softmax_back_d_masked, TXD_POINT_CROSS_WEIGHTS, 1,
     "layers.1.cross.masked@grad"},
    {install_mask_back_d_scores, TXD_POINT_CROSS_MASKED, 1,
     "layers.1.cross.scores@grad"},
    {install_scores_back_d_k, TXD_POINT_CROSS_SCORES, 1, "layers.1.cross.k@grad"},
    {install_scores_back_d_q, TXD_POINT_CROSS_SCORES, 1, "layers.1.cross.q@grad"},
    {install_split_heads_back_out, TXD_POINT_CROSS_Q_PROJ, 1,
     "layers.1.norm_cross.out@grad"},
    {install_split_heads_back_out, TXD_POINT_CROSS_V, 1, "input.memory@grad"},
    {install_split_heads_back_out, TXD_POINT_CROSS_K_PROJ, 0, "input.memory@grad"},
    {install_activate_back_d_x, TXD_POINT_MLP_ACT, 0, "layers.0.mlp.up@grad"},
};

/* The first site whose values have one that is no number, in order of execution. */
static const char *first_of(const observed *o)
{
    for (size_t s = 0; s < o->sites; s++)
        if (strstr(o->site[s].name, "@grad") != NULL &&
            o->site[s].stats[TXD_STAT_NONFINITE] > 0)
            return o->site[s].name;
    return "none";
}

static void check_origin(const char *cfg, const struct origin *origin)
{
    observed o = {0};
    struct poison poison = {.point = origin->point};
    const struct txd_override override = {
        .layer = origin->layer, .install = origin->install, .self = &poison};
    txd_fault_scene scene = {0};

    slopes_model(&o, cfg);
    OK(observe_random(&o, 2, 5));
    if (o.config.cross)
        OK(observe_memory(&o, 4, NULL));
    scene.claimed = &o.config;
    OK(txd_plan_create(&o.plan, &scene, NULL, 0));
    OK(txd_plan_override(o.plan, &override));
    OK(observe_rebind(&o));
    o.backward = true;
    OK(observe_pass(&o));
    ck_assert_str_eq(first_of(&o), origin->site);
    observe_finish(&o);
}

START_TEST(a_nan_shows_first_at_the_site_that_its_operation_makes)
{
    for (size_t i = 0; i < sizeof in_llama / sizeof *in_llama; i++)
        check_origin(LLAMA, &in_llama[i]);
}
END_TEST

START_TEST(a_nan_of_cross_attention_and_positions_does_too)
{
    for (size_t i = 0; i < sizeof in_cross / sizeof *in_cross; i++)
        check_origin(CROSS, &in_cross[i]);
}
END_TEST

TEST_MAIN(a_nan_shows_first_at_the_site_that_its_operation_makes,
          a_nan_of_cross_attention_and_positions_does_too)
