/* SPDX-License-Identifier: MIT
 *
 * config.json in Llama and GPT-2 naming. A field that would change the arithmetic in a
 * way that the decoder does not have is refused by name: a run that silently ignores
 * it would accuse a healthy model.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "formats/huggingface_internal.h"

#define SIZE_LIMIT 16777216
#define COUNT_LIMIT 65536
#define LENGTH_LIMIT 2147483647

static txd_status fail_field(const txd_setting *root, const char *field,
                             txd_status status, const char *text)
{
    const txd_setting *setting = txd_setting_find(root, field);
    char place[512];

    txd_setting_place(place, sizeof place, setting ? setting : root);
    if (setting)
        return txd_fail(status, "%s: %s", place, text);
    return txd_fail(status, "%s: %s: %s", place, field, text);
}

static txd_status need_size(size_t *out, const txd_setting *root, const char *field,
                            size_t high)
{
    const txd_setting *setting = txd_setting_find(root, field);

    if (!setting || setting->kind == TXD_SETTING_NULL)
        return fail_field(root, field, TXD_ERR_FORMAT, "missing; it is needed");
    return txd_setting_size(out, root, field, 1, high);
}

static txd_status read_flag(enum txd_hf_flag *out, const txd_setting *root,
                            const char *field)
{
    const txd_setting *setting = txd_setting_find(root, field);
    bool value = false;

    TXD_TRY(txd_setting_bool(&value, root, field));
    *out = TXD_HF_UNSTATED;
    if (setting && setting->kind != TXD_SETTING_NULL)
        *out = value ? TXD_HF_TRUE : TXD_HF_FALSE;
    return TXD_OK;
}

/* A field that must be absent, null, false or an empty group. */
static txd_status refuse(const txd_setting *root, const char *field)
{
    const txd_setting *setting = txd_setting_find(root, field);

    if (!setting || setting->kind == TXD_SETTING_NULL ||
        (setting->kind == TXD_SETTING_BOOL && !setting->boolean) ||
        (setting->kind == TXD_SETTING_GROUP && setting->count == 0))
        return TXD_OK;
    return fail_field(root, field, TXD_ERR_UNSUPPORTED,
                      "not supported; only models without it can be read");
}

static txd_status read_activation(txd_activation *out, const txd_setting *root,
                                  const char *field, const char *fallback)
{
    static const struct {
        const char *word;
        txd_activation value;
    } known[] = {
        {"gelu", TXD_ACTIVATION_GELU},
        {"gelu_new", TXD_ACTIVATION_GELU_TANH},
        {"gelu_pytorch_tanh", TXD_ACTIVATION_GELU_TANH},
        {"gelu_fast", TXD_ACTIVATION_GELU_TANH},
        {"relu", TXD_ACTIVATION_RELU},
        {"silu", TXD_ACTIVATION_SILU},
        {"swish", TXD_ACTIVATION_SILU},
    };
    const char *word = fallback;
    char text[200];

    TXD_TRY(txd_setting_string(&word, root, field));
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (strcmp(known[i].word, word) == 0) {
            *out = known[i].value;
            return TXD_OK;
        }
    }
    snprintf(text, sizeof text,
             "\"%.60s\" is not supported; gelu, gelu_new, gelu_pytorch_tanh, relu and "
             "silu are",
             word);
    return fail_field(root, field, TXD_ERR_UNSUPPORTED, text);
}

static txd_status fail_heads(const txd_setting *root, const char *width_field,
                             const char *heads_field, const txd_config *c)
{
    char text[200];

    snprintf(text, sizeof text, "%s %zu is not divisible by %s %zu", width_field,
             c->d_model, heads_field, c->n_heads);
    return fail_field(root, heads_field, TXD_ERR_FORMAT, text);
}

static void set_layer(struct txd_hf_stated *stated)
{
    txd_config *c = &stated->config;
    bool rotary = c->positions == TXD_POSITIONS_ROTARY;

    c->loss_scale = 1;
    stated->layer.causal = true;
    stated->layer.fill = -INFINITY;
    stated->layer.masked_row = TXD_MASKED_ROW_ZERO;
    stated->layer.score_scale = 1 / sqrt((double)c->head_dim);
    stated->layer.residual_scale = 1;
    stated->layer.rotary = rotary;
    stated->layer.rope_width = c->head_dim - c->head_dim % 2;
    stated->layer.rope_pairing = TXD_PAIRING_HALF;
}

/* A rope_scaling or rope_parameters group that scales nothing. */
static txd_status check_rope_type(const txd_setting *root, const char *field)
{
    static const char *const names[] = {"rope_type", "type"};
    const txd_setting *group = txd_setting_find(root, field);
    const char *type = NULL;
    char text[160];

    if (!group || group->kind == TXD_SETTING_NULL)
        return TXD_OK;
    if (group->kind != TXD_SETTING_GROUP)
        return fail_field(root, field, TXD_ERR_FORMAT, "expected null or a group");
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
    return fail_field(root, field, TXD_ERR_UNSUPPORTED, text);
}

static txd_status read_rope(struct txd_hf_stated *stated, const txd_setting *root)
{
    double share = 1, width;
    double *base = &stated->layer.rope_base;

    *base = 10000;
    TXD_TRY(check_rope_type(root, "rope_scaling"));
    TXD_TRY(check_rope_type(root, "rope_parameters"));
    TXD_TRY(txd_setting_real(base, root, "rope_theta", 1e-30, 1e30));
    TXD_TRY(txd_setting_real(base, root, "rope_parameters.rope_theta", 1e-30, 1e30));
    TXD_TRY(txd_setting_real(&share, root, "partial_rotary_factor", 0, 1));
    width = (double)stated->config.head_dim * share;
    stated->layer.rope_width = (size_t)width;
    if (stated->layer.rope_width % 2 == 0 && stated->layer.rope_width > 0)
        return TXD_OK;
    return fail_field(root, "head_dim", TXD_ERR_UNSUPPORTED,
                      "rotary positions need an even number of lanes to turn");
}

static txd_status read_window(struct txd_hf_stated *stated, const txd_setting *root)
{
    bool used = true;

    TXD_TRY(txd_setting_bool(&used, root, "use_sliding_window"));
    if (!used)
        return TXD_OK;
    return txd_setting_size(&stated->layer.window, root, "sliding_window", 1,
                            LENGTH_LIMIT);
}

static txd_status read_llama_heads(txd_config *c, const txd_setting *root)
{
    const txd_setting *given = txd_setting_find(root, "head_dim");
    char text[128];

    TXD_TRY(need_size(&c->n_heads, root, "num_attention_heads", COUNT_LIMIT));
    c->n_kv_heads = c->n_heads;
    TXD_TRY(
        txd_setting_size(&c->n_kv_heads, root, "num_key_value_heads", 1, COUNT_LIMIT));
    if (c->n_heads % c->n_kv_heads != 0) {
        snprintf(text, sizeof text, "%zu does not divide num_attention_heads %zu",
                 c->n_kv_heads, c->n_heads);
        return fail_field(root, "num_key_value_heads", TXD_ERR_FORMAT, text);
    }
    if (!given || given->kind == TXD_SETTING_NULL) {
        if (c->d_model % c->n_heads != 0)
            return fail_heads(root, "hidden_size", "num_attention_heads", c);
        c->head_dim = c->d_model / c->n_heads;
    }
    TXD_TRY(txd_setting_size(&c->head_dim, root, "head_dim", 1, SIZE_LIMIT));
    c->value_dim = c->head_dim;
    return TXD_OK;
}

static txd_status read_llama(struct txd_hf_stated *stated, const txd_setting *root)
{
    txd_config *c = &stated->config;

    *c = (txd_config){.norm = TXD_NORM_RMS,
                      .norm_placement = TXD_PLACEMENT_PRE,
                      .final_norm = true,
                      .positions = TXD_POSITIONS_ROTARY,
                      .gated = true,
                      .qkv = TXD_QKV_SEPARATE};
    TXD_TRY(need_size(&c->vocab, root, "vocab_size", SIZE_LIMIT));
    TXD_TRY(need_size(&c->d_model, root, "hidden_size", SIZE_LIMIT));
    TXD_TRY(need_size(&c->d_ff, root, "intermediate_size", SIZE_LIMIT));
    TXD_TRY(need_size(&c->n_layers, root, "num_hidden_layers", COUNT_LIMIT));
    TXD_TRY(read_llama_heads(c, root));
    TXD_TRY(txd_setting_size(&c->max_seq_len, root, "max_position_embeddings", 1,
                             LENGTH_LIMIT));
    TXD_TRY(read_activation(&c->activation, root, "hidden_act", "silu"));
    set_layer(stated);
    stated->layer.norm_eps = 1e-6; /* the library's own default */
    TXD_TRY(txd_setting_real(&stated->layer.norm_eps, root, "rms_norm_eps", 0, 1e30));
    TXD_TRY(read_rope(stated, root));
    TXD_TRY(read_window(stated, root));
    TXD_TRY(read_flag(&stated->attention_bias, root, "attention_bias"));
    TXD_TRY(read_flag(&stated->mlp_bias, root, "mlp_bias"));
    return read_flag(&stated->tied, root, "tie_word_embeddings");
}

static txd_status read_gpt2_scale(struct txd_hf_stated *stated, const txd_setting *root)
{
    bool scaled = true;

    TXD_TRY(txd_setting_bool(&scaled, root, "scale_attn_weights"));
    if (!scaled)
        stated->layer.score_scale = 1;
    return txd_setting_bool(&stated->scale_by_layer, root,
                            "scale_attn_by_inverse_layer_idx");
}

static txd_status read_gpt2(struct txd_hf_stated *stated, const txd_setting *root)
{
    txd_config *c = &stated->config;

    *c = (txd_config){.norm = TXD_NORM_LAYER,
                      .norm_placement = TXD_PLACEMENT_PRE,
                      .final_norm = true,
                      .positions = TXD_POSITIONS_LEARNED,
                      .qkv = TXD_QKV_FUSED};
    TXD_TRY(refuse(root, "add_cross_attention"));
    TXD_TRY(need_size(&c->vocab, root, "vocab_size", SIZE_LIMIT));
    TXD_TRY(need_size(&c->d_model, root, "n_embd", SIZE_LIMIT));
    TXD_TRY(need_size(&c->n_layers, root, "n_layer", COUNT_LIMIT));
    TXD_TRY(need_size(&c->n_heads, root, "n_head", COUNT_LIMIT));
    TXD_TRY(need_size(&c->max_seq_len, root, "n_positions", LENGTH_LIMIT));
    if (c->d_model % c->n_heads != 0)
        return fail_heads(root, "n_embd", "n_head", c);
    c->n_kv_heads = c->n_heads;
    c->head_dim = c->value_dim = c->d_model / c->n_heads;
    c->d_ff = 4 * c->d_model;
    TXD_TRY(txd_setting_size(&c->d_ff, root, "n_inner", 1, SIZE_LIMIT));
    TXD_TRY(read_activation(&c->activation, root, "activation_function", "gelu_new"));
    set_layer(stated);
    stated->layer.rope_base = 10000; /* unused, but every value is defined */
    stated->layer.norm_eps = 1e-5;
    TXD_TRY(
        txd_setting_real(&stated->layer.norm_eps, root, "layer_norm_epsilon", 0, 1e30));
    TXD_TRY(read_gpt2_scale(stated, root));
    TXD_TRY(read_flag(&stated->tied, root, "tie_word_embeddings"));
    if (stated->tied == TXD_HF_UNSTATED) /* the library's own default */
        stated->tied = TXD_HF_TRUE;
    return TXD_OK;
}

txd_status txd_hf_read_config(struct txd_hf_stated *out, const txd_setting *root)
{
    struct txd_hf_stated stated = {.tied = TXD_HF_UNSTATED,
                                   .attention_bias = TXD_HF_UNSTATED,
                                   .mlp_bias = TXD_HF_UNSTATED};
    const char *type = NULL;
    char text[160];

    if (root->kind != TXD_SETTING_GROUP)
        return fail_field(root, "model_type", TXD_ERR_FORMAT, "this is no object");
    TXD_TRY(txd_setting_string(&type, root, "model_type"));
    if (!type)
        return fail_field(root, "model_type", TXD_ERR_FORMAT,
                          "missing; expected \"llama\", \"mistral\" or \"gpt2\"");
    TXD_TRY(refuse(root, "quantization_config"));
    if (strcmp(type, "llama") == 0 || strcmp(type, "mistral") == 0) {
        stated.family = &txd_hf_llama;
        TXD_TRY(read_llama(&stated, root));
    } else if (strcmp(type, "gpt2") == 0) {
        stated.family = &txd_hf_gpt2;
        TXD_TRY(read_gpt2(&stated, root));
    } else {
        snprintf(text, sizeof text,
                 "\"%.60s\" is not supported; llama, mistral and gpt2 are", type);
        return fail_field(root, "model_type", TXD_ERR_UNSUPPORTED, text);
    }
    *out = stated;
    return TXD_OK;
}
