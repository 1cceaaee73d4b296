/* SPDX-License-Identifier: MIT
 *
 * BERT: an encoder with norms after the sums, learned positions and token
 * types; with or without the head of its masked language model.
 */
#include <string.h>

#include "formats/families/family_internal.h"

#define EMBED "embeddings."
#define OUT "attention.output."
#define HEAD "/cls.predictions."

static const txd_tensor_name names[] = {
    {TXD_PARAM_EMBED_TOK, EMBED "word_embeddings.weight", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_EMBED_POS, EMBED "position_embeddings.weight", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_EMBED_TYPE, EMBED "token_type_embeddings.weight", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_EMBED_NORM_WEIGHT, EMBED "LayerNorm.weight", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_EMBED_NORM_WEIGHT, EMBED "LayerNorm.gamma", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_EMBED_NORM_BIAS, EMBED "LayerNorm.bias", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_EMBED_NORM_BIAS, EMBED "LayerNorm.beta", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_Q_WEIGHT, "attention.self.query.weight", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_Q_BIAS, "attention.self.query.bias", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_K_WEIGHT, "attention.self.key.weight", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_K_BIAS, "attention.self.key.bias", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_V_WEIGHT, "attention.self.value.weight", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_V_BIAS, "attention.self.value.bias", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_O_WEIGHT, OUT "dense.weight", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_O_BIAS, OUT "dense.bias", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_NORM1_WEIGHT, OUT "LayerNorm.weight", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_NORM1_WEIGHT, OUT "LayerNorm.gamma", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_NORM1_BIAS, OUT "LayerNorm.bias", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_NORM1_BIAS, OUT "LayerNorm.beta", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_UP_WEIGHT, "intermediate.dense.weight", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_UP_BIAS, "intermediate.dense.bias", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_DOWN_WEIGHT, "output.dense.weight", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_DOWN_BIAS, "output.dense.bias", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_NORM2_WEIGHT, "output.LayerNorm.weight", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_NORM2_WEIGHT, "output.LayerNorm.gamma", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_NORM2_BIAS, "output.LayerNorm.bias", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_NORM2_BIAS, "output.LayerNorm.beta", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_HEAD_DENSE_WEIGHT, HEAD "transform.dense.weight", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_HEAD_DENSE_BIAS, HEAD "transform.dense.bias", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_HEAD_NORM_WEIGHT, HEAD "transform.LayerNorm.weight", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_HEAD_NORM_WEIGHT, HEAD "transform.LayerNorm.gamma", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_HEAD_NORM_BIAS, HEAD "transform.LayerNorm.bias", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_HEAD_NORM_BIAS, HEAD "transform.LayerNorm.beta", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_HEAD_WEIGHT, HEAD "decoder.weight", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_HEAD_BIAS, HEAD "bias", TXD_LAYOUT_PLAIN},
    {TXD_PARAM_HEAD_BIAS, HEAD "decoder.bias", TXD_LAYOUT_PLAIN},
};

static const char *const types[] = {"bert", NULL};
static const char *const prefixes[] = {"bert.", "", NULL};
static const char *const buffers[] = {"embeddings.position_ids", "pooler.*",
                                      "cls.seq_relationship.*", NULL};
static const char *const refused[] = {"is_decoder", "add_cross_attention", NULL};

static txd_status check_positions(const txd_reading *r)
{
    static const char field[] = "position_embedding_type";
    const char *type = "absolute";

    TXD_TRY(txd_reading_string(&type, r, field));
    if (strcmp(type, "absolute") == 0)
        return TXD_OK;
    return txd_reading_fail(r, field, TXD_ERR_UNSUPPORTED,
                            "not supported; only \"absolute\" is");
}

/* A head of its own has its own bias, and the one beside it is not used. */
static const txd_tensor_name untied_names[] = {
    {TXD_PARAM_HEAD_BIAS, HEAD "decoder.bias", TXD_LAYOUT_PLAIN},
};
static const char *const untied_buffers[] = {HEAD "bias" + 1, NULL};
static const txd_naming untied_naming = {
    .prefixes = prefixes,
    .layer = "encoder.layer.",
    .names = untied_names,
    .name_count = TXD_COUNT_OF(untied_names),
    .rest = &txd_family_bert.naming,
    .buffers = untied_buffers,
};

/* A bare encoder has no head but its embeddings. */
static bool has_head(const txd_reading *r)
{
    return txd_reading_has_tensor(r, HEAD "transform.dense.weight" + 1);
}

static txd_status read(txd_reading *r)
{
    txd_size_fields sizes = txd_usual_sizes;

    sizes.n_kv_heads = sizes.head_dim = NULL;
    r->config = (txd_config){.norm = TXD_NORM_LAYER,
                             .norm_placement = TXD_PLACEMENT_POST,
                             .positions = TXD_POSITIONS_LEARNED,
                             .embed_norm = true,
                             .token_types = 2,
                             .qkv = TXD_QKV_SEPARATE};
    TXD_TRY(txd_reading_refuse(r, refused));
    TXD_TRY(check_positions(r));
    TXD_TRY(txd_reading_sizes(r, &sizes));
    if (r->config.max_seq_len == 0)
        r->config.max_seq_len = 512;
    TXD_TRY(txd_reading_size(&r->config.token_types, r, "type_vocab_size", 1, 65536));
    TXD_TRY(txd_reading_activation(r, "hidden_act", "gelu"));
    r->config.head_transform = r->config.head_bias = has_head(r);
    r->layer.causal = false;
    r->layer.norm_eps = 1e-12;
    TXD_TRY(txd_reading_real(&r->layer.norm_eps, r, "layer_norm_eps", 0, 1e30));
    TXD_TRY(txd_reading_flag(&r->tied, r, "tie_word_embeddings"));
    txd_reading_tied_if_unstated(r);
    if (r->tied == TXD_STATED_FALSE)
        r->naming = &untied_naming;
    return TXD_OK;
}

const txd_family txd_family_bert = {
    .name = "bert",
    .types = types,
    .read = read,
    .naming = {.prefixes = prefixes,
               .layer = "encoder.layer.",
               .names = names,
               .name_count = TXD_COUNT_OF(names),
               .buffers = buffers},
};
