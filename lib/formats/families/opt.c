/* SPDX-License-Identifier: MIT
 *
 * OPT: learned positions that begin at row 2 of their table, ReLU; the one of
 * 350m has its norms after the sums, and embeddings of another width.
 */
#include "formats/families/family_internal.h"

static const txd_tensor_name names[] = {
    {TXD_PARAM_EMBED_TOK, "embed_tokens.weight", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_EMBED_POS, "embed_positions.weight", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_EMBED_IN_WEIGHT, "project_in.weight", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_NORM1_WEIGHT, "self_attn_layer_norm.weight", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_NORM1_BIAS, "self_attn_layer_norm.bias", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_Q_WEIGHT, "self_attn.q_proj.weight", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_Q_BIAS, "self_attn.q_proj.bias", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_K_WEIGHT, "self_attn.k_proj.weight", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_K_BIAS, "self_attn.k_proj.bias", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_V_WEIGHT, "self_attn.v_proj.weight", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_V_BIAS, "self_attn.v_proj.bias", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_O_WEIGHT, "self_attn.out_proj.weight", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_O_BIAS, "self_attn.out_proj.bias", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_NORM2_WEIGHT, "final_layer_norm.weight", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_NORM2_BIAS, "final_layer_norm.bias", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_UP_WEIGHT, "fc1.weight", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_UP_BIAS, "fc1.bias", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_DOWN_WEIGHT, "fc2.weight", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_DOWN_BIAS, "fc2.bias", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_FINAL_WEIGHT, "final_layer_norm.weight", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_FINAL_BIAS, "final_layer_norm.bias", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_HEAD_IN_WEIGHT, "project_out.weight", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_HEAD_WEIGHT, "/lm_head.weight", TXD_LAYOUT_PLAIN},
};

static const txd_size_fields sizes = {
    .d_model = "hidden_size",
    .n_layers = "num_hidden_layers",
    .n_heads = "num_attention_heads",
    .d_ff = "ffn_dim",
    .length = "max_position_embeddings",
};

static const char *const types[] = {"opt", NULL};
static const char *const prefixes[] = {"model.decoder.", "decoder.", "", NULL};

static txd_status insist_on_gains(const txd_reading *r)
{
    static const char field[] = "layer_norm_elementwise_affine";
    bool affine = true;

    TXD_TRY(txd_reading_bool(&affine, r, field));
    if (affine)
        return TXD_OK;
    return txd_reading_fail(r, field, TXD_ERR_UNSUPPORTED,
                            "norms without gains are not supported");
}

static txd_status read_norms(txd_reading *r)
{
    bool before = true, removed = false;

    TXD_TRY(insist_on_gains(r));
    TXD_TRY(txd_reading_bool(&before, r, "do_layer_norm_before"));
    TXD_TRY(txd_reading_bool(&removed, r, "_remove_final_layer_norm"));
    r->config.norm_placement = before ? TXD_PLACEMENT_PRE : TXD_PLACEMENT_POST;
    r->config.final_norm = before && !removed;
    return TXD_OK;
}

static txd_status read(txd_reading *r)
{
    r->config = (txd_config){.norm = TXD_NORM_LAYER,
                             .positions = TXD_POSITIONS_LEARNED,
                             .position_offset = 2,
                             .qkv = TXD_QKV_SEPARATE};
    TXD_TRY(txd_reading_sizes(r, &sizes));
    if (r->config.max_seq_len == 0)
        return txd_reading_fail(r, sizes.length, TXD_ERR_FORMAT,
                                "missing; it is needed");
    TXD_TRY(
        txd_reading_size(&r->config.embed_dim, r, "word_embed_proj_dim", 1, 16777216));
    TXD_TRY(txd_reading_activation(r, "activation_function", "relu"));
    r->layer.norm_eps = 1e-5;
    TXD_TRY(read_norms(r));
    TXD_TRY(txd_reading_biases(r, "enable_bias", "enable_bias"));
    TXD_TRY(txd_reading_flag(&r->tied, r, "tie_word_embeddings"));
    txd_reading_tied_if_unstated(r);
    return TXD_OK;
}

const txd_family txd_family_opt = {
    .name = "opt",
    .types = types,
    .read = read,
    .naming = {.prefixes = prefixes,
               .layer = "layers.",
               .names = names,
               .name_count = TXD_COUNT_OF(names)},
};
