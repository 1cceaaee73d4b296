/* SPDX-License-Identifier: MIT
 *
 * Names and conventions of Llama, which many families follow in most of what they are.
 */
#include "formats/families/family_internal.h"

static const txd_tensor_name names[] = {
    {TXD_PARAM_EMBED_TOK, "embed_tokens.weight", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_NORM1_WEIGHT, "input_layernorm.weight", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_Q_WEIGHT, "self_attn.q_proj.weight", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_Q_BIAS, "self_attn.q_proj.bias", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_K_WEIGHT, "self_attn.k_proj.weight", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_K_BIAS, "self_attn.k_proj.bias", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_V_WEIGHT, "self_attn.v_proj.weight", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_V_BIAS, "self_attn.v_proj.bias", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_Q_NORM_WEIGHT, "self_attn.q_norm.weight", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_K_NORM_WEIGHT, "self_attn.k_norm.weight", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_SINK_WEIGHT, "self_attn.sinks", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_O_WEIGHT, "self_attn.o_proj.weight", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_O_BIAS, "self_attn.o_proj.bias", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_NORM2_WEIGHT, "post_attention_layernorm.weight", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_GATE_WEIGHT, "mlp.gate_proj.weight", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_GATE_BIAS, "mlp.gate_proj.bias", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_UP_WEIGHT, "mlp.up_proj.weight", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_UP_BIAS, "mlp.up_proj.bias", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_DOWN_WEIGHT, "mlp.down_proj.weight", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_DOWN_BIAS, "mlp.down_proj.bias", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_FINAL_WEIGHT, "norm.weight", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_HEAD_WEIGHT, "/lm_head.weight", TXD_LAYOUT_PLAIN},
};

const char *const txd_usual_prefixes[] = {"model.", "", NULL};
static const char *const buffers[] = {"rotary_emb.inv_freq", NULL};
static const char *const layer_buffers[] = {"self_attn.rotary_emb.inv_freq", NULL};

const txd_naming txd_usual_naming = {
    .prefixes = txd_usual_prefixes,
    .layer = "layers.",
    .names = names,
    .name_count = TXD_COUNT_OF(names),
    .buffers = buffers,
    .layer_buffers = layer_buffers,
};

static const txd_tensor_name sandwich_names[] = {
    {TXD_PARAM_NORM1_POST_WEIGHT, "post_attention_layernorm.weight", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_NORM2_WEIGHT, "pre_feedforward_layernorm.weight", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_NORM2_POST_WEIGHT, "post_feedforward_layernorm.weight",
     TXD_LAYOUT_PLAIN},
};

const txd_naming txd_sandwich_naming = {
    .names = sandwich_names,
    .name_count = TXD_COUNT_OF(sandwich_names),
    .rest = &txd_usual_naming,
};

const txd_usual txd_usual_llama = {
    .activation_field = "hidden_act",
    .activation = "silu",
    .norm_eps = 1e-6,
    .rope = {.base = 10000, .share = 1},
    .attention_bias = "attention_bias",
    .mlp_bias = "mlp_bias",
};

void txd_reading_tied_if_unstated(txd_reading *r)
{
    if (r->tied == TXD_UNSTATED && !r->architecture)
        r->tied = TXD_STATED_TRUE;
}

txd_status txd_reading_usual(txd_reading *r, const txd_usual *usual)
{
    r->config = (txd_config){.norm = TXD_NORM_RMS,
                             .norm_placement = TXD_PLACEMENT_PRE,
                             .final_norm = true,
                             .positions = TXD_POSITIONS_ROTARY,
                             .gated = true,
                             .qkv = TXD_QKV_SEPARATE};
    TXD_TRY(txd_reading_sizes(r, usual->sizes ? usual->sizes : &txd_usual_sizes));
    TXD_TRY(txd_reading_activation(r, usual->activation_field, usual->activation));
    r->layer.norm_eps = usual->norm_eps;
    TXD_TRY(txd_reading_real(&r->layer.norm_eps, r,
                             "rms_norm_eps|attention.layer_norm_rms_epsilon", 0, 1e30));
    TXD_TRY(txd_reading_rope(r, &usual->rope));
    TXD_TRY(txd_reading_biases(r, usual->attention_bias, usual->mlp_bias));
    return txd_reading_flag(&r->tied, r, "tie_word_embeddings");
}
