/* SPDX-License-Identifier: MIT
 *
 * Rotary positions as files state them: fields of their own (rope_theta, rope_scaling),
 * one group (rope_parameters), or a group per kind of layer; in GGUF under "rope.".
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "formats/families/family_internal.h"

#define LENGTH_LIMIT 2147483647

/* One group that describes rotary positions, and the reading it is in. */
struct group {
    const txd_reading *r;
    const char *path; /* of the group, for messages */
    const txd_setting *setting;
};

static txd_status fail(const struct group *g, txd_status status, const char *text)
{
    return txd_reading_fail(g->r, g->path, status, text);
}

static bool has(const struct group *g, const char *field)
{
    const txd_setting *setting = txd_setting_find(g->setting, field);

    return setting && setting->kind != TXD_SETTING_NULL;
}

static txd_status need_real(double *out, const struct group *g, const char *field)
{
    char text[80];

    if (has(g, field))
        return txd_setting_real(out, g->setting, field, 1e-6, 1e30);
    snprintf(text, sizeof text, "%s is missing; this scaling needs it", field);
    return fail(g, TXD_ERR_FORMAT, text);
}

/* Beside the group it comes first, then in it; else the length of now. */
static txd_status read_original(txd_layer_config *layer, const struct group *g)
{
    static const char field[] = "original_max_position_embeddings";
    size_t *length = &layer->rope_original_length;

    *length = g->r->config.max_seq_len;
    TXD_TRY(txd_setting_size(length, g->setting, field, 1, LENGTH_LIMIT));
    return txd_reading_size(length, g->r, field, 1, LENGTH_LIMIT);
}

static txd_status read_llama3(txd_layer_config *layer, const struct group *g)
{
    layer->rope_scaling = TXD_ROPE_LLAMA3;
    TXD_TRY(need_real(&layer->rope_factor, g, "factor"));
    TXD_TRY(need_real(&layer->rope_low, g, "low_freq_factor"));
    TXD_TRY(need_real(&layer->rope_high, g, "high_freq_factor"));
    return read_original(layer, g);
}

static double logarithmic(double factor, double scale)
{
    return factor <= 1 ? 1 : 0.1 * scale * log(factor) + 1;
}

static txd_status read_yarn(txd_layer_config *layer, const struct group *g)
{
    double above = 0, below = 0;
    bool truncate = true;

    layer->rope_scaling = TXD_ROPE_YARN;
    TXD_TRY(read_original(layer, g));
    if (layer->rope_original_length > 0)
        layer->rope_factor =
            (double)g->r->config.max_seq_len / (double)layer->rope_original_length;
    TXD_TRY(txd_setting_real(&layer->rope_factor, g->setting, "factor", 1e-6, 1e30));
    TXD_TRY(txd_setting_real(&layer->rope_beta_fast, g->setting, "beta_fast", 0, 1e30));
    TXD_TRY(txd_setting_real(&layer->rope_beta_slow, g->setting, "beta_slow", 0, 1e30));
    TXD_TRY(txd_setting_bool(&truncate, g->setting, "truncate"));
    layer->rope_exact = !truncate;
    TXD_TRY(txd_setting_real(&above, g->setting, "mscale", 0, 1e30));
    TXD_TRY(txd_setting_real(&below, g->setting, "mscale_all_dim", 0, 1e30));
    layer->rope_attention_factor = logarithmic(layer->rope_factor, 1);
    if (above != 0 && below != 0)
        layer->rope_attention_factor = logarithmic(layer->rope_factor, above) /
                                       logarithmic(layer->rope_factor, below);
    return txd_setting_real(&layer->rope_attention_factor, g->setting,
                            "attention_factor", 1e-6, 1e30);
}

static txd_status read_type(txd_layer_config *layer, const struct group *g)
{
    static const char *const names[] = {"type", "rope_type"};
    const char *type = "default";
    char text[160];

    for (size_t i = 0; i < TXD_COUNT_OF(names); i++)
        TXD_TRY(txd_setting_string(&type, g->setting, names[i]));
    if (strcmp(type, "default") == 0 && has(g, "factor"))
        return fail(g, TXD_ERR_UNSUPPORTED,
                    "a factor without a rope_type is not supported; null and "
                    "\"default\" scale nothing");
    if (strcmp(type, "default") == 0)
        return TXD_OK;
    if (strcmp(type, "linear") == 0) {
        layer->rope_scaling = TXD_ROPE_LINEAR;
        return need_real(&layer->rope_factor, g, "factor");
    }
    if (strcmp(type, "llama3") == 0)
        return read_llama3(layer, g);
    if (strcmp(type, "yarn") == 0)
        return read_yarn(layer, g);
    snprintf(text, sizeof text,
             "scaled rotary positions of the kind \"%.40s\" are not supported; "
             "\"default\", \"linear\", \"llama3\" and \"yarn\" are",
             type);
    return fail(g, TXD_ERR_UNSUPPORTED, text);
}

/* Sections of lanes that turn with other positions than those of the text. */
static txd_status refuse_sections(const struct group *g)
{
    if (!has(g, "mrope_section"))
        return TXD_OK;
    return fail(g, TXD_ERR_UNSUPPORTED, "mrope_section is not supported");
}

txd_status txd_reading_rope_group(txd_layer_config *layer, double *share,
                                  const txd_reading *r, const char *path)
{
    struct group g = {r, path, txd_reading_find(r, path)};

    if (!g.setting)
        return TXD_OK;
    if (g.setting->kind != TXD_SETTING_GROUP)
        return fail(&g, TXD_ERR_FORMAT, "expected null or a group");
    TXD_TRY(refuse_sections(&g));
    TXD_TRY(read_type(layer, &g));
    TXD_TRY(txd_setting_real(&layer->rope_base, g.setting, "rope_theta", 1e-30, 1e30));
    return txd_setting_real(share, g.setting, "partial_rotary_factor", 0, 1);
}

static txd_status read_gguf_yarn(txd_reading *r)
{
    txd_layer_config *layer = &r->layer;
    double factor = 1;

    layer->rope_scaling = TXD_ROPE_YARN;
    layer->rope_original_length = r->config.max_seq_len;
    TXD_TRY(txd_reading_size(&layer->rope_original_length, r,
                             "|rope.scaling.original_context_length", 1, LENGTH_LIMIT));
    TXD_TRY(txd_reading_real(&layer->rope_beta_fast, r, "|rope.scaling.yarn_beta_fast",
                             0, 1e30));
    TXD_TRY(txd_reading_real(&layer->rope_beta_slow, r, "|rope.scaling.yarn_beta_slow",
                             0, 1e30));
    TXD_TRY(txd_reading_real(&factor, r, "|rope.scaling.attn_factor", 1e-6, 1e30));
    TXD_TRY(txd_reading_real(&factor, r, "|rope.scaling.yarn_attn_factor", 1e-6, 1e30));
    layer->rope_attention_factor = factor * logarithmic(layer->rope_factor, 1);
    return TXD_OK;
}

static txd_status read_gguf_scaling(txd_reading *r)
{
    static const char field[] = "|rope.scaling.type";
    const char *type = NULL;
    double factor = 1;

    TXD_TRY(txd_reading_string(&type, r, field));
    TXD_TRY(txd_reading_real(&factor, r, "|rope.scale_linear", 1e-6, 1e30));
    TXD_TRY(txd_reading_real(&factor, r, "|rope.scaling.factor", 1e-6, 1e30));
    if (!type) /* as files were before there were kinds */
        type = factor == 1 ? "none" : "linear";
    if (strcmp(type, "none") == 0)
        return TXD_OK;
    r->layer.rope_factor = factor;
    if (strcmp(type, "yarn") == 0)
        return read_gguf_yarn(r);
    if (strcmp(type, "linear") != 0)
        return txd_reading_fail(r, field, TXD_ERR_UNSUPPORTED,
                                "scaled rotary positions of this kind are not "
                                "supported; \"none\", \"linear\" and \"yarn\" are");
    r->layer.rope_scaling = TXD_ROPE_LINEAR;
    return TXD_OK;
}

txd_status txd_reading_rope_width(txd_layer_config *layer, const txd_reading *r,
                                  double share)
{
    size_t *width = &layer->rope_width;

    *width = (size_t)((double)r->config.head_dim * share);
    TXD_TRY(txd_reading_size(width, r, "|rope.dimension_count", 1, LENGTH_LIMIT));
    if (*width % 2 == 0 && *width > 0 && *width <= r->config.head_dim)
        return TXD_OK;
    return txd_reading_fail(r, "head_dim|rope.dimension_count", TXD_ERR_UNSUPPORTED,
                            "rotary positions need an even number of lanes to turn, up "
                            "to all of a head");
}

txd_status txd_reading_rope(txd_reading *r, const txd_rope_defaults *defaults)
{
    const txd_setting *scaling = txd_reading_find(r, "rope_scaling");
    double share = defaults->share;

    r->layer.rope_base = defaults->base;
    TXD_TRY(txd_reading_real(&r->layer.rope_base, r, "rope_theta|rope.freq_base", 1e-30,
                             1e30));
    TXD_TRY(txd_reading_real(&share, r, "partial_rotary_factor", 0, 1));
    if (scaling && (scaling->kind != TXD_SETTING_GROUP || scaling->count > 0))
        TXD_TRY(txd_reading_rope_group(&r->layer, &share, r, "rope_scaling"));
    else
        TXD_TRY(txd_reading_rope_group(&r->layer, &share, r, "rope_parameters"));
    if (!defaults->partial && share != defaults->share)
        return txd_reading_fail(r, "partial_rotary_factor", TXD_ERR_UNSUPPORTED,
                                "in this family all lanes of a head turn");
    TXD_TRY(read_gguf_scaling(r));
    return txd_reading_rope_width(&r->layer, r, share);
}
