/* SPDX-License-Identifier: MIT
 *
 * StarCoder 2: layer norms and biases everywhere, rotary positions, an MLP of two
 * matrices.
 */
#include "formats/families/family_internal.h"

static const txd_tensor_name names[] = {
    {TXD_PARAM_NORM1_BIAS, "input_layernorm.bias", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_NORM2_BIAS, "post_attention_layernorm.bias", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_FINAL_BIAS, "norm.bias", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_UP_WEIGHT, "mlp.c_fc.weight", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_UP_BIAS, "mlp.c_fc.bias", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_DOWN_WEIGHT, "mlp.c_proj.weight", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_DOWN_BIAS, "mlp.c_proj.bias", TXD_LAYOUT_PLAIN},
};

static const char *const types[] = {"starcoder2", NULL};
static const char *const architectures[] = {"starcoder2", NULL};

static txd_status read(txd_reading *r)
{
    txd_size_fields sizes = txd_usual_sizes;
    txd_usual usual = txd_usual_llama;

    sizes.absent_n_kv_heads = 2;
    usual.sizes = &sizes;
    usual.activation = "gelu_pytorch_tanh";
    TXD_TRY(txd_reading_usual(r, &usual));
    txd_reading_tied_if_unstated(r);
    r->config.norm = TXD_NORM_LAYER;
    r->config.gated = false;
    r->layer.norm_eps = 1e-5;
    TXD_TRY(txd_reading_real(&r->layer.norm_eps, r,
                             "norm_epsilon|attention.layer_norm_epsilon", 0, 1e30));
    TXD_TRY(txd_reading_biases(r, "use_bias", "use_bias"));
    return txd_reading_window(r, 0);
}

const txd_family txd_family_starcoder2 = {
    .name = "starcoder2",
    .types = types,
    .architectures = architectures,
    .read = read,
    .naming = {.prefixes = txd_usual_prefixes,
               .layer = "layers.",
               .names = names,
               .name_count = TXD_COUNT_OF(names),
               .rest = &txd_usual_naming},
};
