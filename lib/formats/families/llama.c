/* SPDX-License-Identifier: MIT
 *
 * Llama 1 to 3 and Mistral: root mean square norms, rotary positions, a gated MLP.
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

static const char *const types[] = {"llama", "mistral", NULL};
static const char *const architectures[] = {"llama", NULL};
static const char *const prefixes[] = {"model.", "", NULL};
static const char *const buffers[] = {"rotary_emb.inv_freq", NULL};
static const char *const layer_buffers[] = {"self_attn.rotary_emb.inv_freq", NULL};

static txd_status read(txd_reading *r)
{
    txd_config *c = &r->config;

    *c = (txd_config){.norm = TXD_NORM_RMS,
                      .norm_placement = TXD_PLACEMENT_PRE,
                      .final_norm = true,
                      .positions = TXD_POSITIONS_ROTARY,
                      .gated = true,
                      .qkv = TXD_QKV_SEPARATE};
    TXD_TRY(txd_reading_sizes(r, &txd_usual_sizes));
    TXD_TRY(txd_reading_activation(r, "hidden_act", "silu"));
    r->layer.norm_eps = 1e-6;
    TXD_TRY(txd_reading_real(&r->layer.norm_eps, r,
                             "rms_norm_eps|attention.layer_norm_rms_epsilon", 0, 1e30));
    TXD_TRY(txd_reading_rope(r, &(txd_rope_defaults){.base = 10000, .share = 1}));
    /* GGUF files hold the rows of q and k in the order of adjacent pairs. */
    if (r->architecture)
        r->layer.rope_pairing = TXD_PAIRING_ADJACENT;
    TXD_TRY(txd_reading_window(r));
    TXD_TRY(txd_reading_flag(&r->attention_bias, r, "attention_bias"));
    TXD_TRY(txd_reading_flag(&r->mlp_bias, r, "mlp_bias"));
    return txd_reading_flag(&r->tied, r, "tie_word_embeddings");
}

const txd_family txd_family_llama = {
    .name = "llama",
    .types = types,
    .architectures = architectures,
    .read = read,
    .naming = {.prefixes = prefixes,
               .layer = "layers.",
               .names = names,
               .name_count = TXD_COUNT_OF(names),
               .buffers = buffers,
               .layer_buffers = layer_buffers},
};
