/* SPDX-License-Identifier: MIT
 *
 * T5 and its later versions: an encoder and a decoder, with a bias by distance
 * instead of positions, and scores that are not scaled.
 */
#include <math.h>
#include <string.h>

#include "formats/families/family_internal.h"

#define SELF "layer.0.SelfAttention."
#define CROSS "layer.1.EncDecAttention."
#define MLP "DenseReluDense."
#define BIAS "block.0." SELF "relative_attention_bias.weight"

#define OF_BOTH                                                                        \
    {TXD_PARAM_NORM1_WEIGHT, "layer.0.layer_norm.weight", TXD_LAYOUT_PLAIN},           \
        {TXD_PARAM_Q_WEIGHT, SELF "q.weight", TXD_LAYOUT_PLAIN},                       \
        {TXD_PARAM_K_WEIGHT, SELF "k.weight", TXD_LAYOUT_PLAIN},                       \
        {TXD_PARAM_V_WEIGHT, SELF "v.weight", TXD_LAYOUT_PLAIN},                       \
    {                                                                                  \
        TXD_PARAM_O_WEIGHT, SELF "o.weight", TXD_LAYOUT_PLAIN                          \
    }

/* The MLP is the block's last part: its third, or an encoder's second. */
#define OF_MLP(layer)                                                                  \
    {TXD_PARAM_NORM2_WEIGHT, layer "layer_norm.weight", TXD_LAYOUT_PLAIN},             \
        {TXD_PARAM_GATE_WEIGHT, layer MLP "wi_0.weight", TXD_LAYOUT_PLAIN},            \
        {TXD_PARAM_UP_WEIGHT, layer MLP "wi.weight", TXD_LAYOUT_PLAIN},                \
        {TXD_PARAM_UP_WEIGHT, layer MLP "wi_1.weight", TXD_LAYOUT_PLAIN},              \
    {                                                                                  \
        TXD_PARAM_DOWN_WEIGHT, layer MLP "wo.weight", TXD_LAYOUT_PLAIN                 \
    }

static const txd_tensor_name names[] = {
    {TXD_PARAM_EMBED_TOK, "/shared.weight", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_EMBED_TOK, "/encoder.embed_tokens.weight", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_EMBED_TOK, "/decoder.embed_tokens.weight", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_RELATIVE_WEIGHT, "/decoder." BIAS, TXD_LAYOUT_PLAIN},
    OF_BOTH,
    {TXD_PARAM_NORM_CROSS_WEIGHT, "layer.1.layer_norm.weight", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_CROSS_Q_WEIGHT, CROSS "q.weight", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_CROSS_K_WEIGHT, CROSS "k.weight", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_CROSS_V_WEIGHT, CROSS "v.weight", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_CROSS_O_WEIGHT, CROSS "o.weight", TXD_LAYOUT_PLAIN},
    OF_MLP("layer.2."),
    {TXD_PARAM_FINAL_WEIGHT, "/decoder.final_layer_norm.weight", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_HEAD_WEIGHT, "/lm_head.weight", TXD_LAYOUT_PLAIN},
};

static const txd_tensor_name encoder_names[] = {
    {TXD_PARAM_RELATIVE_WEIGHT, "/encoder." BIAS, TXD_LAYOUT_PLAIN},
    OF_BOTH,
    OF_MLP("layer.1."),
    {TXD_PARAM_FINAL_WEIGHT, "/encoder.final_layer_norm.weight", TXD_LAYOUT_PLAIN},
};

static const txd_size_fields sizes = {
    .d_model = "d_model",
    .n_layers = "num_layers",
    .n_heads = "num_heads",
    .head_dim = "d_kv",
    .d_ff = "d_ff",
    .absent_head_dim = 64,
};

static const char *const types[] = {"t5", NULL};
/* A table that early files hold and that was never used. */
static const char *const layer_buffers[] = {CROSS "relative_attention_bias.weight",
                                            NULL};

/* "relu", "gated-gelu", "gated-silu", ...; its parts, where they are stated, come
 * first.
 */
static txd_status read_mlp(txd_reading *r)
{
    static const char field[] = "feed_forward_proj", part[] = "dense_act_fn";
    static const char gated[] = "gated-";
    const char *word = "relu", *stated = NULL;
    bool *is_gated = &r->config.gated;

    TXD_TRY(txd_reading_string(&word, r, field));
    *is_gated = strncmp(word, gated, strlen(gated)) == 0;
    if (*is_gated)
        word += strlen(gated);
    if (*is_gated && strcmp(word, "gelu") == 0)
        word = "gelu_new";
    TXD_TRY(txd_reading_bool(is_gated, r, "is_gated_act"));
    TXD_TRY(txd_reading_string(&stated, r, part));
    return txd_reading_activation_of(&r->config.activation, r, stated ? part : field,
                                     stated ? stated : word);
}

static txd_status insist_on_both(const txd_reading *r)
{
    static const char field[] = "is_encoder_decoder";
    bool both = true;

    TXD_TRY(txd_reading_bool(&both, r, field));
    if (both)
        return TXD_OK;
    return txd_reading_fail(r, field, TXD_ERR_UNSUPPORTED,
                            "one half of the model alone is not supported");
}

/* Where the head is the embedding, what it reads is scaled down. */
static txd_status read_head(txd_reading *r)
{
    bool scaled;

    TXD_TRY(txd_reading_flag(&r->tied, r, "tie_word_embeddings"));
    scaled = r->tied != TXD_STATED_FALSE;
    TXD_TRY(txd_reading_bool(&scaled, r, "scale_decoder_outputs"));
    if (scaled)
        r->config.logit_scale = 1 / sqrt((double)r->config.d_model);
    r->tied = scaled ? TXD_STATED_TRUE : TXD_UNSTATED;
    return TXD_OK;
}

static txd_status read(txd_reading *r)
{
    txd_config *c = &r->config;

    *c = (txd_config){.norm = TXD_NORM_RMS,
                      .norm_placement = TXD_PLACEMENT_PRE,
                      .final_norm = true,
                      .positions = TXD_POSITIONS_RELATIVE,
                      .relative_buckets = 32,
                      .relative_distance = 128,
                      .cross = true,
                      .qkv = TXD_QKV_SEPARATE};
    TXD_TRY(insist_on_both(r));
    TXD_TRY(txd_reading_sizes(r, &sizes));
    c->encoder_layers = c->n_layers;
    TXD_TRY(txd_reading_size(&c->n_layers, r, "num_decoder_layers", 1, 65536));
    TXD_TRY(txd_reading_size(&c->relative_buckets, r, "relative_attention_num_buckets",
                             4, 65536));
    TXD_TRY(txd_reading_size(&c->relative_distance, r,
                             "relative_attention_max_distance", 1, 2147483647));
    r->layer.score_scale = 1;
    r->layer.norm_eps = 1e-6;
    TXD_TRY(txd_reading_real(&r->layer.norm_eps, r, "layer_norm_epsilon", 0, 1e30));
    TXD_TRY(read_mlp(r));
    return read_head(r);
}

const txd_family txd_family_t5 = {
    .name = "t5",
    .types = types,
    .read = read,
    .naming = {.layer = "decoder.block.",
               .names = names,
               .name_count = TXD_COUNT_OF(names),
               .layer_buffers = layer_buffers},
    .encoder_naming = {.layer = "encoder.block.",
                       .names = encoder_names,
                       .name_count = TXD_COUNT_OF(encoder_names)},
};
