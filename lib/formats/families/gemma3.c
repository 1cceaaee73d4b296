/* SPDX-License-Identifier: MIT
 *
 * Gemma 3: Gemma 2 with norms over the lanes of each query and key head, five
 * layers with windows to one without, and rotary positions that differ between
 * the two. The text part of a model of pictures and text is read, too.
 */
#include <math.h>

#include "formats/families/family_internal.h"

static const char *const types[] = {"gemma3_text", "gemma3", NULL};
static const char *const architectures[] = {"gemma3", NULL};
/* Of the cap of scores the library knows the name, and does not apply it. */
static const char *const refused[] = {"use_bidirectional_attention",
                                      "attn_logit_softcapping", NULL};
static const char *const prefixes[] = {"model.", "language_model.model.",
                                       "model.language_model.", "", NULL};
static const char *const buffers[] = {"vision_tower.*", "multi_modal_projector.*",
                                      "model.vision_tower.*",
                                      "model.multi_modal_projector.*", NULL};
static const txd_tensor_name names[] = {
    {TXD_PARAM_HEAD_WEIGHT, "/lm_head.weight", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_HEAD_WEIGHT, "/language_model.lm_head.weight", TXD_LAYOUT_PLAIN},
};

static const txd_size_fields sizes = {
    .d_model = "hidden_size|embedding_length",
    .n_layers = "num_hidden_layers|block_count",
    .n_heads = "num_attention_heads|attention.head_count",
    .n_kv_heads = "num_key_value_heads|attention.head_count_kv",
    .head_dim = "head_dim|attention.key_length",
    .d_ff = "intermediate_size|feed_forward_length",
    .length = "max_position_embeddings|context_length",
    .absent_vocab = 262208,
    .absent_n_heads = 8,
    .absent_n_kv_heads = 4,
    .absent_head_dim = 256,
};

static txd_status read_scale(txd_reading *r)
{
    const txd_config *c = &r->config;
    double scalar = r->architecture ? (double)c->head_dim : 256;

    if (r->architecture && c->n_layers == 62)
        scalar = (double)c->d_model / (double)c->n_heads;
    TXD_TRY(txd_reading_real(&scalar, r, "query_pre_attn_scalar", 1e-6, 1e9));
    r->layer.score_scale = 1 / sqrt(scalar);
    return txd_reading_real(&r->config.logit_softcap, r,
                            "final_logit_softcapping|final_logit_softcapping", 1e-6,
                            1e30);
}

/* Those of full layers. */
static txd_status read_rope(txd_reading *r)
{
    double share = 1;

    TXD_TRY(
        txd_reading_rope_group(&r->layer, &share, r, "rope_parameters.full_attention"));
    return txd_reading_rope_width(&r->layer, r, share);
}

static txd_status read(txd_reading *r)
{
    const txd_usual usual = {.sizes = &sizes,
                             .activation_field = "hidden_activation",
                             .activation = "gelu_pytorch_tanh",
                             .norm_eps = 1e-6,
                             .rope = {.base = 1000000, .share = 1},
                             .attention_bias = "attention_bias"};

    TXD_TRY(txd_reading_refuse(r, refused));
    TXD_TRY(txd_reading_usual(r, &usual));
    txd_reading_tied_if_unstated(r);
    r->config.norm_placement = TXD_PLACEMENT_SANDWICH;
    r->config.qk_norm = TXD_QK_NORM_HEAD;
    r->config.embed_scale = sqrt((double)r->config.d_model);
    if (!r->architecture)
        r->config.norm_offset = 1;
    TXD_TRY(read_scale(r));
    TXD_TRY(read_rope(r));
    return txd_reading_window(r, 4096);
}

/* Those of layers with a window are never scaled, unless it says so of them. */
static txd_status read_local_rope(const txd_reading *r, txd_layer_config *layer)
{
    double share = 1;

    layer->rope_scaling = TXD_ROPE_PLAIN;
    layer->rope_factor = layer->rope_attention_factor = 0;
    layer->rope_beta_fast = layer->rope_beta_slow = 0;
    layer->rope_original_length = 0;
    layer->rope_exact = false;
    layer->rope_base = 10000;
    TXD_TRY(txd_reading_real(&layer->rope_base, r,
                             "rope_local_base_freq|rope.freq_base_swa", 1e-30, 1e30));
    TXD_TRY(
        txd_reading_rope_group(layer, &share, r, "rope_parameters.sliding_attention"));
    return txd_reading_rope_width(layer, r, share);
}

static txd_status differ(const txd_reading *r, txd_layer_config *layer, size_t i)
{
    size_t pattern = 6;
    bool is_full;

    TXD_TRY(txd_reading_size(&pattern, r, "_sliding_window_pattern", 1, 65536));
    TXD_TRY(txd_reading_size(&pattern, r,
                             "sliding_window_pattern|attention.sliding_window_pattern",
                             1, 65536));
    is_full = (i + 1) % pattern == 0;
    TXD_TRY(txd_reading_layer_type(r, layer, i, &is_full));
    return is_full ? TXD_OK : read_local_rope(r, layer);
}

const txd_family txd_family_gemma3 = {
    .name = "gemma3",
    .types = types,
    .architectures = architectures,
    .group = "text_config",
    .read = read,
    .layer = differ,
    .naming = {.prefixes = prefixes,
               .layer = "layers.",
               .names = names,
               .name_count = TXD_COUNT_OF(names),
               .rest = &txd_sandwich_naming,
               .buffers = buffers},
};
