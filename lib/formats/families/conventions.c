/* SPDX-License-Identifier: MIT
 *
 * What several families state in the same fields: sizes, activation, rotary positions,
 * windows.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "formats/families/family_internal.h"

#define SIZE_LIMIT 16777216
#define COUNT_LIMIT 65536
#define LENGTH_LIMIT 2147483647

const txd_size_fields txd_usual_sizes = {
    .d_model = "hidden_size|embedding_length",
    .n_layers = "num_hidden_layers|block_count",
    .n_heads = "num_attention_heads|attention.head_count",
    .n_kv_heads = "num_key_value_heads|attention.head_count_kv",
    .head_dim = "head_dim|attention.key_length",
    .d_ff = "intermediate_size|feed_forward_length",
    .length = "max_position_embeddings|context_length",
};

static txd_status need_size(size_t *out, const txd_reading *r, const char *field,
                            size_t high)
{
    if (!txd_reading_find(r, field))
        return txd_reading_fail(r, field, TXD_ERR_FORMAT, "missing; it is needed");
    return txd_reading_size(out, r, field, 1, high);
}

static txd_status may_size(size_t *out, const txd_reading *r, const char *field,
                           size_t high)
{
    return field ? txd_reading_size(out, r, field, 1, high) : TXD_OK;
}

/* GGUF files need not say it: the embedding has a row for each. */
static txd_status read_vocab(txd_reading *r)
{
    static const char field[] = "vocab_size|vocab_size";

    if (!r->architecture)
        return need_size(&r->config.vocab, r, field, SIZE_LIMIT);
    r->config.vocab = r->vocab_rows;
    TXD_TRY(txd_reading_size(&r->config.vocab, r, field, 1, SIZE_LIMIT));
    if (r->config.vocab == 0)
        return txd_reading_fail(r, field, TXD_ERR_FORMAT,
                                "missing, and there is no embedding to tell it");
    return TXD_OK;
}

static txd_status fail_heads(const txd_reading *r, const txd_size_fields *fields)
{
    char width[160], heads[160], text[400];

    snprintf(text, sizeof text, "%s %zu is not divisible by %s %zu",
             txd_reading_path(width, r, fields->d_model), r->config.d_model,
             txd_reading_path(heads, r, fields->n_heads), r->config.n_heads);
    return txd_reading_fail(r, fields->n_heads, TXD_ERR_FORMAT, text);
}

static txd_status read_heads(txd_reading *r, const txd_size_fields *fields)
{
    txd_config *c = &r->config;
    char heads[160], text[240];

    TXD_TRY(need_size(&c->n_heads, r, fields->n_heads, COUNT_LIMIT));
    c->n_kv_heads = c->n_heads;
    TXD_TRY(may_size(&c->n_kv_heads, r, fields->n_kv_heads, COUNT_LIMIT));
    if (c->n_heads % c->n_kv_heads != 0) {
        snprintf(text, sizeof text, "%zu does not divide %s %zu", c->n_kv_heads,
                 txd_reading_path(heads, r, fields->n_heads), c->n_heads);
        return txd_reading_fail(r, fields->n_kv_heads, TXD_ERR_FORMAT, text);
    }
    if (!fields->head_dim || !txd_reading_find(r, fields->head_dim)) {
        if (c->d_model % c->n_heads != 0)
            return fail_heads(r, fields);
        c->head_dim = c->d_model / c->n_heads;
    }
    TXD_TRY(may_size(&c->head_dim, r, fields->head_dim, SIZE_LIMIT));
    c->value_dim = c->head_dim;
    return txd_reading_size(&c->value_dim, r, "|attention.value_length", 1, SIZE_LIMIT);
}

static void set_layer(txd_reading *r)
{
    r->config.loss_scale = 1;
    r->layer.causal = true;
    r->layer.fill = -INFINITY;
    r->layer.masked_row = TXD_MASKED_ROW_ZERO;
    r->layer.score_scale = 1 / sqrt((double)r->config.head_dim);
    r->layer.residual_scale = 1;
    r->layer.rotary = r->config.positions == TXD_POSITIONS_ROTARY;
    r->layer.rope_base = 10000;
    r->layer.rope_width = r->config.head_dim - r->config.head_dim % 2;
    r->layer.rope_pairing = TXD_PAIRING_HALF;
}

txd_status txd_reading_sizes(txd_reading *r, const txd_size_fields *fields)
{
    txd_config *c = &r->config;

    TXD_TRY(read_vocab(r));
    TXD_TRY(need_size(&c->d_model, r, fields->d_model, SIZE_LIMIT));
    TXD_TRY(need_size(&c->n_layers, r, fields->n_layers, COUNT_LIMIT));
    TXD_TRY(read_heads(r, fields));
    c->d_ff = 4 * c->d_model;
    if (fields->may_lack_d_ff)
        TXD_TRY(may_size(&c->d_ff, r, fields->d_ff, SIZE_LIMIT));
    else if (fields->d_ff)
        TXD_TRY(need_size(&c->d_ff, r, fields->d_ff, SIZE_LIMIT));
    TXD_TRY(may_size(&c->max_seq_len, r, fields->length, LENGTH_LIMIT));
    set_layer(r);
    return TXD_OK;
}

txd_status txd_reading_activation(txd_reading *r, const char *field,
                                  const char *fallback)
{
    static const struct {
        const char *word;
        txd_activation value;
    } known[] = {
        {"gelu", TXD_ACTIVATION_GELU},
        {"gelu_python", TXD_ACTIVATION_GELU},
        {"gelu_new", TXD_ACTIVATION_GELU_TANH},
        {"gelu_pytorch_tanh", TXD_ACTIVATION_GELU_TANH},
        {"gelu_fast", TXD_ACTIVATION_GELU_TANH},
        {"relu", TXD_ACTIVATION_RELU},
        {"silu", TXD_ACTIVATION_SILU},
        {"swish", TXD_ACTIVATION_SILU},
    };
    const char *word = fallback;
    char text[200];

    TXD_TRY(txd_reading_string(&word, r, field));
    for (size_t i = 0; i < TXD_COUNT_OF(known); i++) {
        if (strcmp(known[i].word, word) == 0) {
            r->config.activation = known[i].value;
            return TXD_OK;
        }
    }
    snprintf(text, sizeof text,
             "\"%.60s\" is not supported; gelu, gelu_new, gelu_pytorch_tanh, relu and "
             "silu are",
             word);
    return txd_reading_fail(r, field, TXD_ERR_UNSUPPORTED, text);
}

/* A rope_scaling or rope_parameters group that scales nothing. */
static txd_status check_rope_type(const txd_reading *r, const char *field)
{
    static const char *const names[] = {"rope_type", "type"};
    const txd_setting *group = txd_reading_find(r, field);
    const char *type = NULL;
    char text[160];

    if (!group)
        return TXD_OK;
    if (group->kind != TXD_SETTING_GROUP)
        return txd_reading_fail(r, field, TXD_ERR_FORMAT, "expected null or a group");
    for (size_t i = 0; i < 2; i++)
        TXD_TRY(txd_setting_string(&type, group, names[i]));
    if ((type && strcmp(type, "default") == 0) || (!type && group->count == 0))
        return TXD_OK;
    if (!type && txd_setting_find(group, "rope_theta") && group->count == 1)
        return TXD_OK;
    snprintf(text, sizeof text,
             "scaled rotary positions (\"%.40s\") are not supported; only null and "
             "\"default\" are",
             type ? type : "no rope_type");
    return txd_reading_fail(r, field, TXD_ERR_UNSUPPORTED, text);
}

static txd_status check_gguf_scaling(const txd_reading *r)
{
    static const char field[] = "|rope.scaling.type";
    const char *type = "none";

    TXD_TRY(txd_reading_string(&type, r, field));
    if (strcmp(type, "none") == 0)
        return TXD_OK;
    return txd_reading_fail(r, field, TXD_ERR_UNSUPPORTED,
                            "scaled rotary positions are not supported; only \"none\" "
                            "is");
}

txd_status txd_reading_rope(txd_reading *r, const txd_rope_defaults *defaults)
{
    static const char of_all[] = "rope_parameters.partial_rotary_factor";
    double share = defaults->share;
    double *base = &r->layer.rope_base;
    size_t *width = &r->layer.rope_width;

    *base = defaults->base;
    TXD_TRY(check_rope_type(r, "rope_scaling"));
    TXD_TRY(check_rope_type(r, "rope_parameters"));
    TXD_TRY(check_gguf_scaling(r));
    TXD_TRY(txd_reading_real(base, r, "rope_theta|rope.freq_base", 1e-30, 1e30));
    TXD_TRY(txd_reading_real(base, r, "rope_parameters.rope_theta", 1e-30, 1e30));
    TXD_TRY(txd_reading_real(&share, r, "partial_rotary_factor", 0, 1));
    TXD_TRY(txd_reading_real(&share, r, of_all, 0, 1));
    *width = (size_t)((double)r->config.head_dim * share);
    TXD_TRY(txd_reading_size(width, r, "|rope.dimension_count", 1, SIZE_LIMIT));
    if (*width % 2 == 0 && *width > 0)
        return TXD_OK;
    return txd_reading_fail(r, "head_dim|rope.dimension_count", TXD_ERR_UNSUPPORTED,
                            "rotary positions need an even number of lanes to turn");
}

txd_status txd_reading_window(txd_reading *r)
{
    bool used = true;

    TXD_TRY(txd_reading_bool(&used, r, "use_sliding_window"));
    if (!used)
        return TXD_OK;
    return txd_reading_size(&r->layer.window, r,
                            "sliding_window|attention.sliding_window", 1, LENGTH_LIMIT);
}
