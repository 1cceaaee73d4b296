/* SPDX-License-Identifier: MIT
 *
 * GPT-NeoX and Pythia: attention and MLP side by side, each behind its own layer norm;
 * a part of each head turns; q, k and v of a head are stored together.
 */
#include "formats/families/family_internal.h"

static const txd_tensor_name names[] = {
    {TXD_PARAM_EMBED_TOK, "embed_in.weight", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_NORM1_WEIGHT, "input_layernorm.weight", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_NORM1_BIAS, "input_layernorm.bias", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_Q_WEIGHT, "attention.query_key_value.weight", TXD_LAYOUT_GROUPED},
    {TXD_PARAM_Q_BIAS, "attention.query_key_value.bias", TXD_LAYOUT_GROUPED},
    {TXD_PARAM_K_WEIGHT, "attention.query_key_value.weight", TXD_LAYOUT_GROUPED},
    {TXD_PARAM_K_BIAS, "attention.query_key_value.bias", TXD_LAYOUT_GROUPED},
    {TXD_PARAM_V_WEIGHT, "attention.query_key_value.weight", TXD_LAYOUT_GROUPED},
    {TXD_PARAM_V_BIAS, "attention.query_key_value.bias", TXD_LAYOUT_GROUPED},
    {TXD_PARAM_O_WEIGHT, "attention.dense.weight", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_O_BIAS, "attention.dense.bias", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_NORM2_WEIGHT, "post_attention_layernorm.weight", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_NORM2_BIAS, "post_attention_layernorm.bias", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_UP_WEIGHT, "mlp.dense_h_to_4h.weight", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_UP_BIAS, "mlp.dense_h_to_4h.bias", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_DOWN_WEIGHT, "mlp.dense_4h_to_h.weight", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_DOWN_BIAS, "mlp.dense_4h_to_h.bias", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_FINAL_WEIGHT, "final_layer_norm.weight", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_FINAL_BIAS, "final_layer_norm.bias", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_HEAD_WEIGHT, "/embed_out.weight", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_HEAD_WEIGHT, "/lm_head.weight", TXD_LAYOUT_PLAIN},
};

static const char *const types[] = {"gpt_neox", NULL};
static const char *const architectures[] = {"gptneox", NULL};
static const char *const prefixes[] = {"gpt_neox.", "", NULL};
static const char *const layer_buffers[] = {"attention.bias", "attention.masked_bias",
                                            "attention.rotary_emb.inv_freq", NULL};

static txd_status read(txd_reading *r)
{
    txd_rope_defaults rope = {.base = 10000, .share = 0.25, .partial = true};
    txd_size_fields sizes = txd_usual_sizes;

    sizes.n_kv_heads = sizes.head_dim = NULL;
    r->config = (txd_config){.norm = TXD_NORM_LAYER,
                             .norm_placement = TXD_PLACEMENT_PRE,
                             .final_norm = true,
                             .positions = TXD_POSITIONS_ROTARY,
                             .parallel = true,
                             .qkv = TXD_QKV_SEPARATE};
    TXD_TRY(txd_reading_sizes(r, &sizes));
    TXD_TRY(txd_reading_activation(r, "hidden_act", "gelu"));
    r->layer.norm_eps = 1e-5;
    TXD_TRY(txd_reading_real(&r->layer.norm_eps, r,
                             "layer_norm_eps|attention.layer_norm_epsilon", 0, 1e30));
    TXD_TRY(txd_reading_bool(&r->config.parallel, r,
                             "use_parallel_residual|use_parallel_residual"));
    TXD_TRY(txd_reading_real(&rope.share, r, "rotary_pct", 0, 1));
    TXD_TRY(txd_reading_real(&rope.base, r, "rotary_emb_base", 1e-30, 1e30));
    TXD_TRY(txd_reading_rope(r, &rope));
    TXD_TRY(txd_reading_biases(r, "attention_bias", NULL));
    return txd_reading_flag(&r->tied, r, "tie_word_embeddings");
}

const txd_family txd_family_gpt_neox = {
    .name = "gpt_neox",
    .types = types,
    .architectures = architectures,
    .read = read,
    .naming = {.prefixes = prefixes,
               .layer = "layers.",
               .names = names,
               .name_count = TXD_COUNT_OF(names),
               .layer_buffers = layer_buffers},
};
