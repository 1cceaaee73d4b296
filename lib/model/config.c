/* SPDX-License-Identifier: MIT
 *
 * Reading a configuration: a base (preset or checkpoint), what the user wrote over it,
 * and the values that follow others. A value follows another one as long as it did in
 * the base and the user did not write it: with d_model changed, head_dim changes too.
 */
#include "model/config.h"

#include <math.h>
#include <stdio.h>

#include "base/select.h"
#include "model/config_internal.h"
#include "model/bias.h"
#include "model/rope.h"

/* What one reading knows. */
struct reading {
    const txd_setting *root;
    const txd_config *defaults; /* NULL with a preset */
    txd_config base;            /* before what the user wrote */
    txd_layer_config base_layer;
};

static bool is_given(const txd_setting *group, const char *path)
{
    const txd_setting *setting = txd_setting_find(group, path);

    return setting && setting->kind != TXD_SETTING_NULL;
}

/* Puts the place of a group of the tree in front of the message. */
static txd_status fail_in(txd_status status, const txd_setting *root, const char *path)
{
    const txd_setting *setting = txd_setting_find(root, path);
    char place[512];

    if (status == TXD_OK || status == TXD_ERR_MEMORY)
        return status;
    txd_setting_place(place, sizeof place, setting ? setting : root);
    return *place ? txd_fail_prefix(status, "%s", place) : status;
}

/* A file that states no conventions leaves them to a preset. */
static txd_status check_exclusive(const txd_setting *root, bool stated)
{
    if (!is_given(root, "model.from"))
        return TXD_OK;
    if (stated && is_given(root, "model.preset"))
        return fail_in(txd_fail(TXD_ERR_CONFIG, "a model is either from a file or by a "
                                                "preset; remove preset or from"),
                       root, "model.preset");
    if (is_given(root, "weights"))
        return fail_in(txd_fail(TXD_ERR_CONFIG, "weights are drawn only without "
                                                "model.from; remove one of the two"),
                       root, "weights");
    return TXD_OK;
}

static txd_status check_version(const txd_setting *root)
{
    int64_t version = 1, seed = 0;

    TXD_TRY(txd_setting_int(&version, root, "version", 1, 1));
    return txd_setting_int(&seed, root, "seed", 0, INT64_MAX);
}

static txd_status read_base(struct reading *r)
{
    static const struct txd_field preset = {.name = "preset", .kind = TXD_FIELD_WORD};
    int chosen = 0;

    if (r->defaults) {
        r->base = *r->defaults;
        return TXD_OK;
    }
    TXD_TRY(txd_field_read(&chosen, &preset, r->root, "model.preset"));
    txd_config_preset(&r->base, &r->base_layer, chosen);
    return TXD_OK;
}

static txd_status read_fields(void *object, const struct txd_field *fields,
                              const txd_setting *root)
{
    for (; fields->name; fields++) {
        char path[64];

        snprintf(path, sizeof path, "%s.%s", fields->group, fields->name);
        TXD_TRY(txd_field_read(object, fields, root, path));
    }
    return TXD_OK;
}

static txd_status check_required(const txd_setting *root)
{
    static const char *const required[] = {"vocab", "d_model", "n_heads", "n_layers"};
    /* A checkpoint with a configuration has given defaults by now. */
    const char *also = is_given(root, "model.from")
                           ? ", which `from` alone does not tell; whatever else "
                             "differs from the preset belongs here, too"
                           : ", or from (a checkpoint)";

    for (size_t i = 0; i < sizeof required / sizeof *required; i++) {
        char path[64];

        snprintf(path, sizeof path, "model.%s", required[i]);
        if (!is_given(root, path))
            return fail_in(txd_fail(TXD_ERR_CONFIG,
                                    "%s is missing; a model needs vocab, d_model, "
                                    "n_heads and n_layers%s",
                                    required[i], also),
                           root, "model");
    }
    return TXD_OK;
}

/* S13: heads x head_dim is the width, unless head_dim says otherwise. */
static txd_status follow_heads(txd_config *c, const struct reading *r)
{
    const txd_config *base = &r->base;
    bool given = is_given(r->root, "model.head_dim");

    if (!is_given(r->root, "model.n_kv_heads") && base->n_kv_heads == base->n_heads)
        c->n_kv_heads = c->n_heads;
    if (!given && base->n_heads * base->head_dim == base->d_model) {
        if (c->d_model % c->n_heads != 0)
            return txd_fail(TXD_ERR_CONFIG,
                            "d_model %zu is not divisible by n_heads %zu; change one "
                            "of them, or give head_dim",
                            c->d_model, c->n_heads);
        c->head_dim = c->d_model / c->n_heads;
    }
    if (!is_given(r->root, "model.value_dim") && base->value_dim == base->head_dim)
        c->value_dim = c->head_dim;
    if (!is_given(r->root, "model.d_ff") && base->d_ff == 4 * base->d_model)
        c->d_ff = 4 * c->d_model;
    return TXD_OK;
}

static txd_status follow_conventions(txd_config *c, const struct reading *r)
{
    bool bias = false;

    if (!is_given(r->root, "model.final_norm") &&
        r->base.final_norm == (r->base.norm_placement != TXD_PLACEMENT_POST))
        c->final_norm = c->norm_placement != TXD_PLACEMENT_POST;
    if (is_given(r->root, "model.norm") && c->norm == TXD_NORM_RMS &&
        !is_given(r->root, "model.norm_bias"))
        c->norm_bias = false;
    if (!is_given(r->root, "model.bias"))
        return TXD_OK;
    TXD_TRY(txd_setting_bool(&bias, r->root, "model.bias"));
    if (!is_given(r->root, "model.qkv_bias"))
        c->qkv_bias = bias;
    if (!is_given(r->root, "model.out_bias"))
        c->out_bias = bias;
    if (!is_given(r->root, "model.mlp_bias"))
        c->mlp_bias = bias;
    if (!is_given(r->root, "model.norm_bias"))
        c->norm_bias = bias && c->norm == TXD_NORM_LAYER;
    return TXD_OK;
}

static double default_scale(size_t head_dim)
{
    return 1 / sqrt((double)head_dim);
}

static size_t default_rope_width(size_t head_dim)
{
    return head_dim - head_dim % 2;
}

/* One layer: `from` in the base, with what the user wrote for all layers. */
static txd_status read_layer(txd_layer_config *layer, const txd_config *c,
                             const struct reading *r, const txd_layer_config *from)
{
    size_t before = r->base.head_dim; /* 0 with a preset, whose layers follow */
    bool fresh = before == 0;

    *layer = *from;
    if (fresh || from->score_scale == default_scale(before))
        layer->score_scale = 0;
    if (fresh || from->rope_width == default_rope_width(before))
        layer->rope_width = default_rope_width(c->head_dim);
    if (is_given(r->root, "model.positions"))
        layer->rotary = c->positions == TXD_POSITIONS_ROTARY;
    if (is_given(r->root, "model.rope_scaling") ||
        is_given(r->root, "model.rope_factor"))
        layer->rope_attention_factor = 0; /* follows them */
    return read_fields(layer, txd_layer_fields, r->root);
}

static txd_status read_layers(txd_config *c, txd_arena *arena, const struct reading *r)
{
    c->layers = txd_arena_alloc(arena, c->n_layers, sizeof *c->layers);
    if (!c->layers)
        return TXD_ERR_MEMORY;
    for (size_t i = 0; i < c->n_layers; i++) {
        const txd_layer_config *from = &r->base_layer;

        if (r->defaults)
            from = &r->base.layers[i < r->base.n_layers ? i : r->base.n_layers - 1];
        TXD_TRY(read_layer(&c->layers[i], c, r, from));
    }
    return TXD_OK;
}

/* One element of model.layers. */
static txd_status read_difference(txd_config *c, const txd_setting *element)
{
    const char *text = NULL;
    txd_range range;
    bool any = false;

    TXD_TRY(txd_setting_string(&text, element, "range"));
    if (!text)
        return fail_in(txd_fail(TXD_ERR_CONFIG,
                                "range is missing; say which layers, as in "
                                "range = \"0:4\""),
                       element, "");
    TXD_TRY(fail_in(txd_range_parse(&range, text), element, "range"));
    for (size_t i = 0; i < c->n_layers; i++) {
        if (!txd_range_has(&range, i))
            continue;
        any = true;
        for (const struct txd_field *f = txd_layer_fields; f->name; f++)
            TXD_TRY(txd_field_read(&c->layers[i], f, element, f->name));
    }
    if (any)
        return TXD_OK;
    return fail_in(txd_fail(TXD_ERR_CONFIG,
                            "\"%.100s\" selects none of the %zu layers, which count "
                            "from 0",
                            text, c->n_layers),
                   element, "range");
}

static txd_status read_differences(txd_config *c, const txd_setting *root)
{
    const txd_setting *list = txd_setting_find(root, "model.layers");
    const txd_setting *element = list ? list->child : NULL;

    for (; element; element = element->next)
        TXD_TRY(read_difference(c, element));
    for (size_t i = 0; i < c->n_layers; i++) {
        if (c->layers[i].score_scale == 0)
            c->layers[i].score_scale = default_scale(c->head_dim);
        txd_rope_resolve(&c->layers[i]);
    }
    return TXD_OK;
}

/* What is drawn can have any part; what is stored has those of its model. */
static txd_status check_cross(const txd_config *c, const struct reading *r)
{
    bool cross = c->cross && !r->base.cross;
    bool encoder = c->encoder_layers > 0 && r->base.encoder_layers == 0;

    if (!r->defaults || !(cross || encoder))
        return TXD_OK;
    return fail_in(txd_fail(TXD_ERR_CONFIG,
                            "this checkpoint has no parameters for cross-attention and "
                            "an encoder; remove cross and encoder_layers, or draw the "
                            "weights of a preset"),
                   r->root, cross ? "model.cross" : "model.encoder_layers");
}

txd_status txd_config_read(txd_config *out, txd_arena *arena, const txd_setting *root,
                           const txd_config *defaults)
{
    struct reading r = {.root = root, .defaults = defaults};
    txd_config c;

    TXD_TRY(check_version(root));
    TXD_TRY(check_exclusive(root, defaults != NULL));
    TXD_TRY(read_base(&r));
    if (!defaults)
        TXD_TRY(check_required(root));
    c = r.base;
    TXD_TRY(read_fields(&c, txd_config_fields, root));
    TXD_TRY(fail_in(follow_heads(&c, &r), root, "model"));
    txd_relative_resolve(&c);
    TXD_TRY(follow_conventions(&c, &r));
    TXD_TRY(check_cross(&c, &r));
    TXD_TRY(read_layers(&c, arena, &r));
    TXD_TRY(read_differences(&c, root));
    TXD_TRY(fail_in(txd_config_check(&c), root, "model"));
    TXD_TRY(txd_config_make_encoder(&c, arena));
    *out = c;
    return TXD_OK;
}

txd_status txd_config_make_encoder(txd_config *c, txd_arena *arena)
{
    txd_config *encoder;

    c->encoder = NULL;
    if (c->encoder_layers == 0)
        return TXD_OK;
    encoder = txd_arena_alloc(arena, 1, sizeof *encoder);
    if (!encoder)
        return TXD_ERR_MEMORY;
    *encoder = *c;
    encoder->n_layers = c->encoder_layers;
    encoder->encoder_layers = 0;
    encoder->cross = false;
    encoder->is_encoder = true;
    encoder->layers =
        txd_arena_alloc(arena, encoder->n_layers, sizeof *encoder->layers);
    if (!encoder->layers)
        return TXD_ERR_MEMORY;
    for (size_t i = 0; i < encoder->n_layers; i++) {
        encoder->layers[i] = c->layers[0];
        encoder->layers[i].causal = false;
        encoder->layers[i].window = 0;
    }
    c->encoder = encoder;
    return TXD_OK;
}
