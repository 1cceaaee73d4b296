/* SPDX-License-Identifier: MIT
 *
 * Phi-1 to Phi-2: attention and MLP side by side behind one layer norm, a part
 * of each head turns, and the head has a bias.
 */
#include "formats/families/family_internal.h"

static const txd_tensor_name names[] = {
    {TXD_PARAM_NORM1_BIAS, "input_layernorm.bias", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_O_WEIGHT, "self_attn.dense.weight", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_O_BIAS, "self_attn.dense.bias", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_UP_WEIGHT, "mlp.fc1.weight", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_UP_BIAS, "mlp.fc1.bias", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_DOWN_WEIGHT, "mlp.fc2.weight", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_DOWN_BIAS, "mlp.fc2.bias", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_FINAL_WEIGHT, "final_layernorm.weight", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_FINAL_BIAS, "final_layernorm.bias", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_HEAD_BIAS, "/lm_head.bias", TXD_LAYOUT_PLAIN},
};

static const char *const types[] = {"phi", NULL};
static const char *const architectures[] = {"phi2", NULL};
static const char *const refused[] = {"qk_layernorm", NULL};

static txd_status read(txd_reading *r)
{
    txd_usual usual = txd_usual_llama;

    usual.activation = "gelu_new";
    usual.rope.share = 0.5;
    usual.rope.partial = true;
    usual.attention_bias = usual.mlp_bias = NULL;
    TXD_TRY(txd_reading_refuse(r, refused));
    TXD_TRY(txd_reading_usual(r, &usual));
    r->config.norm = TXD_NORM_LAYER;
    r->config.gated = false;
    r->config.parallel = r->config.shared_norm = true;
    r->config.head_bias = true;
    r->layer.norm_eps = 1e-5;
    return txd_reading_real(&r->layer.norm_eps, r,
                            "layer_norm_eps|attention.layer_norm_epsilon", 0, 1e30);
}

const txd_family txd_family_phi = {
    .name = "phi",
    .types = types,
    .architectures = architectures,
    .read = read,
    .naming = {.prefixes = txd_usual_prefixes,
               .layer = "layers.",
               .names = names,
               .name_count = TXD_COUNT_OF(names),
               .rest = &txd_usual_naming},
};
