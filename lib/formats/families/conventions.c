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

/* `absent`: what the library takes where the field is not there; 0 = it is needed. */
static txd_status need_size(size_t *out, const txd_reading *r, const char *field,
                            size_t high, size_t absent)
{
    *out = absent;
    if (absent > 0 && txd_reading_is_absent(r, field))
        return TXD_OK;
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
static txd_status read_vocab(txd_reading *r, size_t absent)
{
    static const char field[] = "vocab_size|vocab_size";

    if (!r->architecture)
        return need_size(&r->config.vocab, r, field, SIZE_LIMIT, absent);
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

static txd_status read_head_dim(txd_reading *r, const txd_size_fields *fields)
{
    txd_config *c = &r->config;

    if (fields->head_dim && txd_reading_find(r, fields->head_dim))
        return txd_reading_size(&c->head_dim, r, fields->head_dim, 1, SIZE_LIMIT);
    c->head_dim = fields->absent_head_dim;
    if (c->head_dim > 0 && txd_reading_is_absent(r, fields->head_dim))
        return TXD_OK;
    if (c->d_model % c->n_heads != 0)
        return fail_heads(r, fields);
    c->head_dim = c->d_model / c->n_heads;
    return TXD_OK;
}

/* A size that GGUF files state, where the family leaves no choice. */
static txd_status insist(const txd_reading *r, const char *field, size_t expected)
{
    size_t found = expected;
    char text[120];

    TXD_TRY(txd_reading_size(&found, r, field, 0, SIZE_LIMIT));
    if (found == expected)
        return TXD_OK;
    snprintf(text, sizeof text, "expected %zu, found %zu; this family has no other",
             expected, found);
    return txd_reading_fail(r, field, TXD_ERR_UNSUPPORTED, text);
}

static txd_status read_heads(txd_reading *r, const txd_size_fields *fields)
{
    txd_config *c = &r->config;
    char heads[160], text[240];

    TXD_TRY(need_size(&c->n_heads, r, fields->n_heads, COUNT_LIMIT,
                      fields->absent_n_heads));
    c->n_kv_heads = c->n_heads;
    if (fields->n_kv_heads && txd_reading_is_absent(r, fields->n_kv_heads) &&
        fields->absent_n_kv_heads > 0)
        c->n_kv_heads = fields->absent_n_kv_heads;
    TXD_TRY(may_size(&c->n_kv_heads, r, fields->n_kv_heads, COUNT_LIMIT));
    if (c->n_heads % c->n_kv_heads != 0) {
        snprintf(text, sizeof text, "%zu does not divide %s %zu", c->n_kv_heads,
                 txd_reading_path(heads, r, fields->n_heads), c->n_heads);
        return txd_reading_fail(r, fields->n_kv_heads, TXD_ERR_FORMAT, text);
    }
    TXD_TRY(read_head_dim(r, fields));
    c->value_dim = c->head_dim;
    if (!fields->n_kv_heads)
        TXD_TRY(insist(r, "|attention.head_count_kv", c->n_kv_heads));
    if (!fields->head_dim)
        TXD_TRY(insist(r, "|attention.key_length", c->head_dim));
    return txd_reading_size(&c->value_dim, r, "|attention.value_length", 1, SIZE_LIMIT);
}

static void set_layer(txd_reading *r)
{
    r->config.loss_scale = r->config.embed_scale = r->config.logit_scale = 1;
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

    TXD_TRY(read_vocab(r, fields->absent_vocab));
    TXD_TRY(need_size(&c->d_model, r, fields->d_model, SIZE_LIMIT, 0));
    TXD_TRY(need_size(&c->n_layers, r, fields->n_layers, COUNT_LIMIT, 0));
    TXD_TRY(read_heads(r, fields));
    c->d_ff = 4 * c->d_model;
    if (fields->may_lack_d_ff)
        TXD_TRY(may_size(&c->d_ff, r, fields->d_ff, SIZE_LIMIT));
    else if (fields->d_ff)
        TXD_TRY(need_size(&c->d_ff, r, fields->d_ff, SIZE_LIMIT, 0));
    TXD_TRY(may_size(&c->max_seq_len, r, fields->length, LENGTH_LIMIT));
    set_layer(r);
    return TXD_OK;
}

txd_status txd_reading_activation_of(txd_activation *out, const txd_reading *r,
                                     const char *field, const char *word)
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
    char text[200];

    for (size_t i = 0; i < TXD_COUNT_OF(known); i++) {
        if (strcmp(known[i].word, word) == 0) {
            *out = known[i].value;
            return TXD_OK;
        }
    }
    snprintf(text, sizeof text,
             "\"%.60s\" is not supported; gelu, gelu_new, gelu_pytorch_tanh, relu and "
             "silu are",
             word);
    return txd_reading_fail(r, field, TXD_ERR_UNSUPPORTED, text);
}

txd_status txd_reading_activation(txd_reading *r, const char *field,
                                  const char *fallback)
{
    const char *word = fallback;

    TXD_TRY(txd_reading_string(&word, r, field));
    return txd_reading_activation_of(&r->config.activation, r, field, word);
}

txd_status txd_reading_window(txd_reading *r, size_t absent)
{
    static const char field[] = "sliding_window|attention.sliding_window";

    if (txd_reading_is_absent(r, field))
        r->layer.window = absent;
    /* GGUF files write 0 for none. */
    return txd_reading_size(&r->layer.window, r, field, r->architecture ? 0 : 1,
                            LENGTH_LIMIT);
}

txd_status txd_reading_layer_type(const txd_reading *r, txd_layer_config *layer,
                                  size_t i, bool *is_full)
{
    const char *type;
    char text[160];

    TXD_TRY(txd_reading_word_at(&type, r, "layer_types", i));
    if (type && strcmp(type, "full_attention") == 0)
        *is_full = true;
    else if (type && strcmp(type, "sliding_attention") == 0)
        *is_full = false;
    else if (type) {
        snprintf(text, sizeof text,
                 "\"%.40s\" (layer %zu) is not supported; \"full_attention\" and "
                 "\"sliding_attention\" are",
                 type, i);
        return txd_reading_fail(r, "layer_types", TXD_ERR_UNSUPPORTED, text);
    }
    if (*is_full)
        layer->window = 0;
    return TXD_OK;
}

txd_status txd_reading_late_window(const txd_reading *r, txd_layer_config *layer,
                                   size_t i)
{
    bool windows = false, is_full;
    size_t first = 28;

    TXD_TRY(txd_reading_bool(&windows, r, "use_sliding_window"));
    TXD_TRY(txd_reading_size(&first, r, "max_window_layers", 0, COUNT_LIMIT));
    if (!windows)
        layer->window = 0;
    is_full = i < first;
    return txd_reading_layer_type(r, layer, i, &is_full);
}
