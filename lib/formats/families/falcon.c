/* SPDX-License-Identifier: MIT
 *
 * Falcon: attention and MLP side by side; 7B: behind one norm, with one key and value
 * head; 40B: behind two norms, with a key and value head per group of query heads. The
 * rows of a group are stored together.
 */
#include "formats/families/family_internal.h"

static const txd_tensor_name names[] = {
    {TXD_PARAM_EMBED_TOK, "word_embeddings.weight", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_NORM1_WEIGHT, "input_layernorm.weight", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_NORM1_WEIGHT, "ln_attn.weight", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_NORM1_BIAS, "input_layernorm.bias", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_NORM1_BIAS, "ln_attn.bias", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_Q_WEIGHT, "self_attention.query_key_value.weight", TXD_LAYOUT_GROUPED},
    {TXD_PARAM_Q_BIAS, "self_attention.query_key_value.bias", TXD_LAYOUT_GROUPED},
    {TXD_PARAM_K_WEIGHT, "self_attention.query_key_value.weight", TXD_LAYOUT_GROUPED},
    {TXD_PARAM_K_BIAS, "self_attention.query_key_value.bias", TXD_LAYOUT_GROUPED},
    {TXD_PARAM_V_WEIGHT, "self_attention.query_key_value.weight", TXD_LAYOUT_GROUPED},
    {TXD_PARAM_V_BIAS, "self_attention.query_key_value.bias", TXD_LAYOUT_GROUPED},
    {TXD_PARAM_O_WEIGHT, "self_attention.dense.weight", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_O_BIAS, "self_attention.dense.bias", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_NORM2_WEIGHT, "post_attention_layernorm.weight", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_NORM2_WEIGHT, "ln_mlp.weight", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_NORM2_BIAS, "post_attention_layernorm.bias", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_NORM2_BIAS, "ln_mlp.bias", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_UP_WEIGHT, "mlp.dense_h_to_4h.weight", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_UP_BIAS, "mlp.dense_h_to_4h.bias", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_DOWN_WEIGHT, "mlp.dense_4h_to_h.weight", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_DOWN_BIAS, "mlp.dense_4h_to_h.bias", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_FINAL_WEIGHT, "ln_f.weight", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_FINAL_BIAS, "ln_f.bias", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_HEAD_WEIGHT, "/lm_head.weight", TXD_LAYOUT_PLAIN},
};

static const txd_size_fields sizes = {
    .d_model = "hidden_size|embedding_length",
    .n_layers = "num_hidden_layers|block_count",
    .n_heads = "num_attention_heads|attention.head_count",
    .n_kv_heads = "|attention.head_count_kv", /* config.json: by three fields */
    .d_ff = "ffn_hidden_size|feed_forward_length",
    .length = "max_position_embeddings|context_length",
    .may_lack_d_ff = true,
};

static const char *const types[] = {"falcon", NULL};
static const char *const architectures[] = {"falcon", NULL};
static const char *const prefixes[] = {"transformer.", "", NULL};
static const char *const layer_buffers[] = {"self_attention.rotary_emb.inv_freq", NULL};
/* The biases of ALiBi are also divided by sqrt(head_dim) here. */
static const char *const refused[] = {"alibi", "n_embed", NULL};

/* In GGUF the norm of the MLP has the name that the shared one has elsewhere. */
static const txd_tensor_name two_norms[] = {
    {TXD_PARAM_NORM1_WEIGHT, "attn_norm_2.weight", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_NORM1_BIAS, "attn_norm_2.bias", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_NORM2_WEIGHT, "attn_norm.weight", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_NORM2_BIAS, "attn_norm.bias", TXD_LAYOUT_PLAIN},
};

static const txd_naming two_norms_naming = {
    .layer = "blk.",
    .names = two_norms,
    .name_count = TXD_COUNT_OF(two_norms),
    .rest = &txd_gguf_naming,
};

/* num_kv_heads counts where heads are grouped; before that there was one, or all. */
static txd_status read_groups(txd_reading *r, bool grouped)
{
    static const char field[] = "num_kv_heads";
    txd_config *c = &r->config;
    size_t groups = c->n_heads;
    bool single = true;

    if (r->architecture)
        return TXD_OK;
    TXD_TRY(txd_reading_bool(&single, r, "multi_query"));
    TXD_TRY(txd_reading_size(&groups, r, field, 1, 65536));
    if (!grouped)
        groups = single ? 1 : c->n_heads;
    c->n_kv_heads = groups;
    if (c->n_heads % groups == 0)
        return TXD_OK;
    return txd_reading_fail(r, field, TXD_ERR_FORMAT,
                            "does not divide num_attention_heads");
}

static txd_status read_blocks(txd_reading *r)
{
    size_t norms = 1;
    bool grouped = false;

    TXD_TRY(txd_reading_bool(&grouped, r, "new_decoder_architecture"));
    TXD_TRY(txd_reading_bool(&r->config.parallel, r, "parallel_attn"));
    if (grouped)
        norms = 2;
    if (r->architecture && txd_reading_has_tensor(r, "blk.0.attn_norm_2.weight")) {
        norms = 2;
        r->naming = &two_norms_naming;
    }
    TXD_TRY(txd_reading_size(&norms, r, "num_ln_in_parallel_attn", 1, 2));
    r->config.shared_norm = r->config.parallel && norms == 1;
    return read_groups(r, grouped);
}

static txd_status read(txd_reading *r)
{
    r->config = (txd_config){.norm = TXD_NORM_LAYER,
                             .norm_placement = TXD_PLACEMENT_PRE,
                             .final_norm = true,
                             .positions = TXD_POSITIONS_ROTARY,
                             .parallel = true,
                             .qkv = TXD_QKV_SEPARATE};
    TXD_TRY(txd_reading_refuse(r, refused));
    TXD_TRY(txd_reading_sizes(r, &sizes));
    TXD_TRY(txd_reading_activation(r, "activation", "gelu"));
    r->layer.norm_eps = 1e-5;
    TXD_TRY(txd_reading_real(&r->layer.norm_eps, r,
                             "layer_norm_epsilon|attention.layer_norm_epsilon", 0,
                             1e30));
    TXD_TRY(txd_reading_rope(r, &(txd_rope_defaults){.base = 10000, .share = 1}));
    TXD_TRY(read_blocks(r));
    TXD_TRY(txd_reading_biases(r, "bias", "bias"));
    TXD_TRY(txd_reading_flag(&r->tied, r, "tie_word_embeddings"));
    txd_reading_tied_if_unstated(r);
    return TXD_OK;
}

const txd_family txd_family_falcon = {
    .name = "falcon",
    .types = types,
    .architectures = architectures,
    .read = read,
    .naming = {.prefixes = prefixes,
               .layer = "h.",
               .names = names,
               .name_count = TXD_COUNT_OF(names),
               .layer_buffers = layer_buffers},
};
