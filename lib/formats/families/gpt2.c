/* SPDX-License-Identifier: MIT
 *
 * GPT-2: learned positions, and layers of the kind Conv1D, whose weights are stored
 * (in, out).
 */
#include "formats/families/family_internal.h"

static const txd_tensor_name names[] = {
    {TXD_PARAM_EMBED_TOK, "wte.weight", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_EMBED_POS, "wpe.weight", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_NORM1_WEIGHT, "ln_1.weight", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_NORM1_BIAS, "ln_1.bias", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_QKV_WEIGHT, "attn.c_attn.weight", TXD_LAYOUT_TRANSPOSED},
    {TXD_PARAM_QKV_BIAS, "attn.c_attn.bias", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_O_WEIGHT, "attn.c_proj.weight", TXD_LAYOUT_TRANSPOSED},
    {TXD_PARAM_O_BIAS, "attn.c_proj.bias", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_NORM2_WEIGHT, "ln_2.weight", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_NORM2_BIAS, "ln_2.bias", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_UP_WEIGHT, "mlp.c_fc.weight", TXD_LAYOUT_TRANSPOSED},
    {TXD_PARAM_UP_BIAS, "mlp.c_fc.bias", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_DOWN_WEIGHT, "mlp.c_proj.weight", TXD_LAYOUT_TRANSPOSED},
    {TXD_PARAM_DOWN_BIAS, "mlp.c_proj.bias", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_FINAL_WEIGHT, "ln_f.weight", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_FINAL_BIAS, "ln_f.bias", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_HEAD_WEIGHT, "/lm_head.weight", TXD_LAYOUT_PLAIN},
};

static const txd_size_fields sizes = {
    .d_model = "n_embd|embedding_length",
    .n_layers = "n_layer|block_count",
    .n_heads = "n_head|attention.head_count",
    .d_ff = "n_inner|feed_forward_length",
    .length = "n_positions|context_length",
    .may_lack_d_ff = true,
};

static const char *const types[] = {"gpt2", NULL};
static const char *const architectures[] = {"gpt2", NULL};
static const char *const prefixes[] = {"transformer.", "", NULL};
static const char *const layer_buffers[] = {"attn.bias", "attn.masked_bias", NULL};
static const char *const refused[] = {"add_cross_attention", NULL};

static txd_status read(txd_reading *r)
{
    bool scaled = true;

    r->config = (txd_config){.norm = TXD_NORM_LAYER,
                             .norm_placement = TXD_PLACEMENT_PRE,
                             .final_norm = true,
                             .positions = TXD_POSITIONS_LEARNED,
                             .qkv = TXD_QKV_FUSED};
    TXD_TRY(txd_reading_refuse(r, refused));
    TXD_TRY(txd_reading_sizes(r, &sizes));
    if (r->config.max_seq_len == 0)
        return txd_reading_fail(r, sizes.length, TXD_ERR_FORMAT,
                                "missing; it is needed");
    TXD_TRY(txd_reading_activation(r, "activation_function", "gelu_new"));
    r->layer.norm_eps = 1e-5;
    TXD_TRY(txd_reading_real(&r->layer.norm_eps, r,
                             "layer_norm_epsilon|attention.layer_norm_epsilon", 0,
                             1e30));
    TXD_TRY(txd_reading_bool(&scaled, r, "scale_attn_weights"));
    if (!scaled)
        r->layer.score_scale = 1;
    TXD_TRY(txd_reading_bool(&r->scale_by_layer, r, "scale_attn_by_inverse_layer_idx"));
    if (!r->architecture)
        r->tied = TXD_STATED_TRUE; /* the library's own default */
    return txd_reading_flag(&r->tied, r, "tie_word_embeddings");
}

static txd_status differ(const txd_reading *r, txd_layer_config *layer, size_t i)
{
    if (r->scale_by_layer)
        layer->score_scale /= (double)(i + 1);
    return TXD_OK;
}

const txd_family txd_family_gpt2 = {
    .name = "gpt2",
    .types = types,
    .architectures = architectures,
    .read = read,
    .layer = differ,
    .naming = {.prefixes = prefixes,
               .layer = "h.",
               .names = names,
               .name_count = TXD_COUNT_OF(names),
               .layer_buffers = layer_buffers},
};
