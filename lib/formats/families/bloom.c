/* SPDX-License-Identifier: MIT
 *
 * BLOOM: ALiBi instead of positions, a norm over the embeddings, q, k and v of
 * a head stored together.
 */
#include "formats/families/family_internal.h"

static const txd_tensor_name names[] = {
    {TXD_PARAM_EMBED_TOK, "word_embeddings.weight", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_EMBED_NORM_WEIGHT, "word_embeddings_layernorm.weight", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_EMBED_NORM_BIAS, "word_embeddings_layernorm.bias", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_NORM1_WEIGHT, "input_layernorm.weight", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_NORM1_BIAS, "input_layernorm.bias", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_Q_WEIGHT, "self_attention.query_key_value.weight", TXD_LAYOUT_GROUPED},
    {TXD_PARAM_Q_BIAS, "self_attention.query_key_value.bias", TXD_LAYOUT_GROUPED},
    {TXD_PARAM_K_WEIGHT, "self_attention.query_key_value.weight", TXD_LAYOUT_GROUPED},
    {TXD_PARAM_K_BIAS, "self_attention.query_key_value.bias", TXD_LAYOUT_GROUPED},
    {TXD_PARAM_V_WEIGHT, "self_attention.query_key_value.weight", TXD_LAYOUT_GROUPED},
    {TXD_PARAM_V_BIAS, "self_attention.query_key_value.bias", TXD_LAYOUT_GROUPED},
    {TXD_PARAM_O_WEIGHT, "self_attention.dense.weight", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_O_BIAS, "self_attention.dense.bias", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_NORM2_WEIGHT, "post_attention_layernorm.weight", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_NORM2_BIAS, "post_attention_layernorm.bias", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_UP_WEIGHT, "mlp.dense_h_to_4h.weight", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_UP_BIAS, "mlp.dense_h_to_4h.bias", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_DOWN_WEIGHT, "mlp.dense_4h_to_h.weight", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_DOWN_BIAS, "mlp.dense_4h_to_h.bias", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_FINAL_WEIGHT, "ln_f.weight", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_FINAL_BIAS, "ln_f.bias", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_HEAD_WEIGHT, "/lm_head.weight", TXD_LAYOUT_PLAIN},
};

static const char *const types[] = {"bloom", NULL};
static const char *const architectures[] = {"bloom", NULL};
static const char *const prefixes[] = {"transformer.", "", NULL};
static const char *const refused[] = {"apply_residual_connection_post_layernorm", NULL};

/* Sums over parts of a row: then the library leaves out the biases behind them. */
static txd_status check_slices(const txd_reading *r)
{
    static const char field[] = "slow_but_exact";
    bool slow = false;
    size_t parts = 1;

    TXD_TRY(txd_reading_bool(&slow, r, field));
    TXD_TRY(txd_reading_size(&parts, r, "pretraining_tp", 0, 65536));
    if (!slow || parts <= 1)
        return TXD_OK;
    return txd_reading_fail(r, field, TXD_ERR_UNSUPPORTED,
                            "not supported where pretraining_tp is above 1");
}

/* Files say it in older words, too. */
static const char *first_of(const txd_reading *r, const char *older, const char *now)
{
    return txd_reading_find(r, older) ? older : now;
}

static txd_status read(txd_reading *r)
{
    const txd_size_fields sizes = {
        .d_model = first_of(r, "n_embed", "hidden_size|embedding_length"),
        .n_layers = first_of(r, "num_hidden_layers", "n_layer|block_count"),
        .n_heads = first_of(r, "num_attention_heads", "n_head|attention.head_count"),
        .d_ff = "|feed_forward_length",
        .may_lack_d_ff = true,
    };

    r->config = (txd_config){.norm = TXD_NORM_LAYER,
                             .norm_placement = TXD_PLACEMENT_PRE,
                             .final_norm = true,
                             .positions = TXD_POSITIONS_ALIBI,
                             .embed_norm = true,
                             .activation = TXD_ACTIVATION_GELU_TANH,
                             .qkv = TXD_QKV_SEPARATE};
    TXD_TRY(txd_reading_refuse(r, refused));
    TXD_TRY(check_slices(r));
    TXD_TRY(txd_reading_sizes(r, &sizes));
    r->layer.norm_eps = 1e-5;
    TXD_TRY(txd_reading_real(&r->layer.norm_eps, r,
                             "layer_norm_epsilon|attention.layer_norm_epsilon", 0,
                             1e30));
    TXD_TRY(txd_reading_flag(&r->tied, r, "tie_word_embeddings"));
    txd_reading_tied_if_unstated(r);
    return TXD_OK;
}

const txd_family txd_family_bloom = {
    .name = "bloom",
    .types = types,
    .architectures = architectures,
    .read = read,
    .naming = {.prefixes = prefixes,
               .layer = "h.",
               .names = names,
               .name_count = TXD_COUNT_OF(names)},
};
