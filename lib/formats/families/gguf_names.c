/* SPDX-License-Identifier: MIT
 *
 * The names of tensors in GGUF files, which are those of one list for nearly all
 * architectures.
 */
#include <stddef.h>

#include "formats/families/family_internal.h"

static const txd_tensor_name names[] = {
    {TXD_PARAM_EMBED_TOK, "token_embd.weight", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_EMBED_POS, "position_embd.weight", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_EMBED_NORM_WEIGHT, "token_embd_norm.weight", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_EMBED_NORM_BIAS, "token_embd_norm.bias", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_NORM1_WEIGHT, "attn_norm.weight", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_NORM1_BIAS, "attn_norm.bias", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_QKV_WEIGHT, "attn_qkv.weight", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_QKV_BIAS, "attn_qkv.bias", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_Q_WEIGHT, "attn_q.weight", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_Q_WEIGHT, "attn_qkv.weight", TXD_LAYOUT_STACKED},
    {TXD_PARAM_Q_BIAS, "attn_q.bias", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_Q_BIAS, "attn_qkv.bias", TXD_LAYOUT_STACKED},
    {TXD_PARAM_K_WEIGHT, "attn_k.weight", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_K_WEIGHT, "attn_qkv.weight", TXD_LAYOUT_STACKED},
    {TXD_PARAM_K_BIAS, "attn_k.bias", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_K_BIAS, "attn_qkv.bias", TXD_LAYOUT_STACKED},
    {TXD_PARAM_V_WEIGHT, "attn_v.weight", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_V_WEIGHT, "attn_qkv.weight", TXD_LAYOUT_STACKED},
    {TXD_PARAM_V_BIAS, "attn_v.bias", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_V_BIAS, "attn_qkv.bias", TXD_LAYOUT_STACKED},
    {TXD_PARAM_Q_NORM_WEIGHT, "attn_q_norm.weight", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_K_NORM_WEIGHT, "attn_k_norm.weight", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_O_WEIGHT, "attn_output.weight", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_O_BIAS, "attn_output.bias", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_NORM1_POST_WEIGHT, "post_attention_norm.weight", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_NORM2_POST_WEIGHT, "post_ffw_norm.weight", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_NORM2_WEIGHT, "ffn_norm.weight", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_NORM2_BIAS, "ffn_norm.bias", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_GATE_WEIGHT, "ffn_gate.weight", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_GATE_BIAS, "ffn_gate.bias", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_UP_WEIGHT, "ffn_up.weight", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_UP_BIAS, "ffn_up.bias", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_DOWN_WEIGHT, "ffn_down.weight", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_DOWN_BIAS, "ffn_down.bias", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_FINAL_WEIGHT, "output_norm.weight", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_FINAL_BIAS, "output_norm.bias", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_HEAD_WEIGHT, "output.weight", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_HEAD_BIAS, "output.bias", TXD_LAYOUT_PLAIN},
};

/* Of old files: rotary frequencies that follow from their base. */
static const char *const layer_buffers[] = {"attn_rot_embd*", NULL};

const txd_naming txd_gguf_naming = {
    .layer = "blk.",
    .layer_buffers = layer_buffers,
    .names = names,
    .name_count = TXD_COUNT_OF(names),
};
