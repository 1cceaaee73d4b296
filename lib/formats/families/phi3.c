/* SPDX-License-Identifier: MIT
 *
 * Phi-3 and Phi-4: Llama whose q, k and v are stored as one matrix, and gate and up as
 * another.
 */
#include "formats/families/family_internal.h"

static const txd_tensor_name names[] = {
    {TXD_PARAM_Q_WEIGHT, "self_attn.qkv_proj.weight", TXD_LAYOUT_STACKED},
    {TXD_PARAM_K_WEIGHT, "self_attn.qkv_proj.weight", TXD_LAYOUT_STACKED},
    {TXD_PARAM_V_WEIGHT, "self_attn.qkv_proj.weight", TXD_LAYOUT_STACKED},
    {TXD_PARAM_GATE_WEIGHT, "mlp.gate_up_proj.weight", TXD_LAYOUT_STACKED},
    {TXD_PARAM_UP_WEIGHT, "mlp.gate_up_proj.weight", TXD_LAYOUT_STACKED},
};

static const txd_tensor_name gguf_names[] = {
    {TXD_PARAM_GATE_WEIGHT, "ffn_up.weight", TXD_LAYOUT_STACKED},
    {TXD_PARAM_UP_WEIGHT, "ffn_up.weight", TXD_LAYOUT_STACKED},
};

static const txd_naming gguf_naming = {
    .layer = "blk.",
    .names = gguf_names,
    .name_count = TXD_COUNT_OF(gguf_names),
    .rest = &txd_gguf_naming,
};

static const char *const types[] = {"phi3", NULL};
static const char *const architectures[] = {"phi3", NULL};

static txd_status read(txd_reading *r)
{
    txd_usual usual = txd_usual_llama;

    usual.rope.partial = true;
    usual.norm_eps = 1e-5;
    usual.attention_bias = usual.mlp_bias = NULL;
    TXD_TRY(txd_reading_usual(r, &usual));
    return txd_reading_window(r, 0);
}

const txd_family txd_family_phi3 = {
    .name = "phi3",
    .types = types,
    .architectures = architectures,
    .read = read,
    .naming = {.prefixes = txd_usual_prefixes,
               .layer = "layers.",
               .names = names,
               .name_count = TXD_COUNT_OF(names),
               .rest = &txd_usual_naming},
    .gguf_naming = &gguf_naming,
};
