/* SPDX-License-Identifier: MIT
 *
 * Names, shapes and order of the points, all from points.def. What a point holds is
 * the decoder's business; where it lies in a pass is told here, once, so that
 * recordings, diffs and the decoder cannot disagree.
 */
#include "model/points.h"

#include "model/bias.h"
#include "model/block.h"

static const txd_point_info points[TXD_POINT_COUNT] = {
#define TXD_POINT(id, name, axes, place, meaning)                                      \
    {name, axes, meaning, TXD_PLACE_##place},
#include "model/points.def"
#undef TXD_POINT
};

/* What an attention forms before its output, in order. */
static const txd_point attention[] = {
    TXD_POINT_ATTN_Q_PROJ, TXD_POINT_ATTN_K_PROJ, TXD_POINT_ATTN_Q_NORM,
    TXD_POINT_ATTN_K_NORM, TXD_POINT_ATTN_Q,      TXD_POINT_ATTN_K,
    TXD_POINT_ATTN_V,      TXD_POINT_ATTN_SCORES, TXD_POINT_ATTN_CAPPED,
    TXD_POINT_ATTN_BIAS,   TXD_POINT_ATTN_MASKED, TXD_POINT_ATTN_WEIGHTS,
    TXD_POINT_ATTN_HEADS,  TXD_POINT_ATTN_MERGED,
};

/* points.def lists the points of both attentions in the same order. */
#define CROSS_OFFSET (TXD_POINT_CROSS_Q_PROJ - TXD_POINT_ATTN_Q_PROJ)
_Static_assert(TXD_POINT_CROSS_BRANCH - TXD_POINT_ATTN_BRANCH == CROSS_OFFSET &&
                   TXD_POINT_CROSS_WEIGHTS - TXD_POINT_ATTN_WEIGHTS == CROSS_OFFSET,
               "attn and cross have the same points");
_Static_assert(TXD_POINT_ATTN_WEIGHTS - TXD_POINT_ATTN_SCORES == TXD_TILE_WEIGHTS &&
                   TXD_POINT_ATTN_MASKED - TXD_POINT_ATTN_SCORES == TXD_TILE_MASKED &&
                   TXD_POINT_ATTN_BIAS - TXD_POINT_ATTN_SCORES == TXD_TILE_BIAS,
               "the points of tiles stand in a row");

static const txd_point mlp[] = {
    TXD_POINT_MLP_GATE,
    TXD_POINT_MLP_GATE_ACT,
    TXD_POINT_MLP_UP,
    TXD_POINT_MLP_ACT,
};

#define LENGTH(array) (sizeof(array) / sizeof *(array))

struct walk {
    const txd_config *config;
    txd_stop *stops; /* NULL: only counts */
    size_t count;
};

static void add(struct walk *walk, txd_point point, int layer)
{
    if (point == TXD_POINT_COUNT || !txd_point_exists(walk->config, point))
        return;
    if (walk->stops)
        walk->stops[walk->count] = (txd_stop){.point = point, .layer = layer};
    walk->count++;
}

static void add_all(struct walk *walk, const txd_point *list, size_t count, int layer)
{
    for (size_t i = 0; i < count; i++)
        add(walk, list[i], layer);
}

static void add_sublayer(struct walk *walk, txd_sublayer_kind kind, int layer)
{
    txd_sublayer part = txd_sublayer_of(walk->config, kind);
    const txd_point ends[] = {part.out, part.over, part.branch, part.sum, part.after};

    if (!txd_sublayer_exists(walk->config, kind))
        return;
    add(walk, part.before, layer);
    for (size_t i = 0; kind == TXD_SUBLAYER_MLP && i < LENGTH(mlp); i++)
        add(walk, mlp[i], layer);
    for (size_t i = 0; kind != TXD_SUBLAYER_MLP && i < LENGTH(attention); i++)
        add(walk, txd_point_in((txd_attention_kind)kind, attention[i]), layer);
    add_all(walk, ends, LENGTH(ends), layer);
}

static void add_layer(struct walk *walk, int layer)
{
    add(walk, TXD_POINT_RESID_PRE, layer);
    for (int kind = 0; kind < TXD_SUBLAYER_COUNT; kind++)
        add_sublayer(walk, (txd_sublayer_kind)kind, layer);
}

static void add_pass(struct walk *walk)
{
    int point = 0;

    for (; !txd_point_per_layer((txd_point)point); point++)
        add(walk, (txd_point)point, -1);
    for (size_t layer = 0; layer < walk->config->n_layers; layer++)
        add_layer(walk, (int)layer);
    for (; point < TXD_POINT_COUNT; point++)
        if (!txd_point_per_layer((txd_point)point))
            add(walk, (txd_point)point, -1);
}

/* True where keys are rows of the memory. */
static bool reads_memory(txd_point point)
{
    return point == TXD_POINT_INPUT_MEMORY ||
           txd_point_attention(point) == TXD_ATTENTION_CROSS;
}

static size_t dim_of(const txd_config *c, txd_point point, char axis,
                     const txd_extent *extent)
{
    switch (axis) {
    case 'b':
        return extent->batch;
    case 't':
    case 'q':
        return extent->length;
    case 'k':
        if (reads_memory(point))
            return extent->memory;
        /* Keys and values are formed of new tokens; cells are of all. */
        return extent->length +
               (points[point].place == TXD_PLACE_TILE ? extent->past : 0);
    case 'h':
        return c->n_heads;
    case 'g':
        return c->n_kv_heads;
    case 'e':
        return c->head_dim;
    case 'f':
        return c->value_dim;
    case 'm':
        return c->d_ff;
    case 'v':
        return c->vocab;
    case 'd':
    default:
        return c->d_model;
    }
}

const txd_point_info *txd_point_get(txd_point point)
{
    return &points[point];
}

bool txd_point_per_layer(txd_point point)
{
    return points[point].place == TXD_PLACE_LAYER ||
           points[point].place == TXD_PLACE_TILE;
}

size_t txd_embed_width(const txd_config *config)
{
    return config->embed_dim > 0 ? config->embed_dim : config->d_model;
}

int txd_point_dims(size_t dims[TXD_MAX_RANK], const txd_config *config, txd_point point,
                   const txd_extent *extent)
{
    const char *axes = points[point].axes;
    int rank = 0;

    for (; axes[rank]; rank++)
        dims[rank] = dim_of(config, point, axes[rank], extent);
    /* Those whose width is not that of the model. */
    if (txd_point_in_self(point) == TXD_POINT_ATTN_MERGED)
        dims[rank - 1] = config->n_heads * config->value_dim;
    if (point == TXD_POINT_EMBED_TOK || point == TXD_POINT_HEAD_IN)
        dims[rank - 1] = txd_embed_width(config);
    return rank;
}

txd_attention_kind txd_point_attention(txd_point point)
{
    return point >= TXD_POINT_CROSS_Q_PROJ && point <= TXD_POINT_CROSS_BRANCH
               ? TXD_ATTENTION_CROSS
               : TXD_ATTENTION_SELF;
}

txd_point txd_point_in(txd_attention_kind kind, txd_point point)
{
    bool own = point >= TXD_POINT_ATTN_Q_PROJ && point <= TXD_POINT_ATTN_BRANCH;

    return own && kind == TXD_ATTENTION_CROSS ? (txd_point)(point + CROSS_OFFSET)
                                              : point;
}

txd_point txd_point_in_self(txd_point point)
{
    return txd_point_attention(point) == TXD_ATTENTION_CROSS
               ? (txd_point)(point - CROSS_OFFSET)
               : point;
}

bool txd_point_is_of_memory(txd_point point)
{
    return point == TXD_POINT_INPUT_MEMORY || point == TXD_POINT_CROSS_K_PROJ ||
           point == TXD_POINT_CROSS_K_NORM || point == TXD_POINT_CROSS_K ||
           point == TXD_POINT_CROSS_V;
}

/* What the sublayers have besides their insides, by the conventions. */
static bool is_joint(txd_point point)
{
    return txd_point_is_norm(point) || point == TXD_POINT_RESID_MID ||
           point == TXD_POINT_RESID_CROSS;
}

bool txd_point_is_qk_norm(txd_point point)
{
    txd_point own = txd_point_in_self(point);

    return own == TXD_POINT_ATTN_Q_NORM || own == TXD_POINT_ATTN_K_NORM;
}

txd_point txd_point_that_turns(const txd_config *config, txd_point point)
{
    bool normed = config->qk_norm != TXD_QK_NORM_NONE;
    txd_point q = normed ? TXD_POINT_ATTN_Q_NORM : TXD_POINT_ATTN_Q_PROJ;
    txd_point k = normed ? TXD_POINT_ATTN_K_NORM : TXD_POINT_ATTN_K_PROJ;

    return txd_point_in(txd_point_attention(point),
                        txd_point_in_self(point) == TXD_POINT_ATTN_Q ? q : k);
}

static bool some_layer_caps(const txd_config *config)
{
    for (size_t i = 0; i < config->n_layers; i++)
        if (config->layers[i].score_softcap != 0)
            return true;
    return false;
}

bool txd_point_exists(const txd_config *config, txd_point point)
{
    txd_attention_kind kind = txd_point_attention(point);
    txd_sublayer part;

    if (txd_point_per_layer(point) && is_joint(point))
        return txd_sublayer_with(&part, config, point);
    if (kind == TXD_ATTENTION_CROSS && !config->cross)
        return false;
    if (txd_point_is_qk_norm(point))
        return config->qk_norm != TXD_QK_NORM_NONE;
    if (txd_point_in_self(point) == TXD_POINT_ATTN_CAPPED)
        return some_layer_caps(config);
    if (txd_point_in_self(point) == TXD_POINT_ATTN_BIAS)
        return txd_has_bias(config, kind);
    switch (point) {
    case TXD_POINT_INPUT_MEMORY:
        return config->cross;
    case TXD_POINT_INPUT_LABELS:
    case TXD_POINT_LOGITS:
    case TXD_POINT_LOSS_TOKEN:
        return !config->is_encoder;
    case TXD_POINT_EMBED_POS:
        return config->positions == TXD_POSITIONS_LEARNED ||
               config->positions == TXD_POSITIONS_SINUSOIDAL;
    case TXD_POINT_MLP_GATE:
    case TXD_POINT_MLP_GATE_ACT:
        return config->gated;
    case TXD_POINT_LOGITS_RAW:
        return !config->is_encoder &&
               (txd_config_scales_logits(config) || config->logit_softcap != 0);
    case TXD_POINT_HEAD_DENSE:
    case TXD_POINT_HEAD_ACT:
    case TXD_POINT_HEAD_NORM:
        return !config->is_encoder && config->head_transform;
    case TXD_POINT_INPUT_TYPES:
    case TXD_POINT_EMBED_TYPE:
        return config->token_types > 0;
    case TXD_POINT_EMBED_IN:
        return txd_embed_width(config) != config->d_model;
    case TXD_POINT_HEAD_IN:
        return !config->is_encoder && txd_embed_width(config) != config->d_model;
    case TXD_POINT_EMBED_SCALED:
        return config->embed_scale != 0 && config->embed_scale != 1;
    case TXD_POINT_EMBED_NORM:
        return config->embed_norm;
    case TXD_POINT_FINAL_NORM:
        return config->final_norm;
    default:
        return true;
    }
}

txd_status txd_points_order(txd_stop **out, size_t *count, txd_arena *arena,
                            const txd_config *config)
{
    struct walk walk = {.config = config};

    add_pass(&walk);
    walk.stops = txd_arena_alloc(arena, walk.count, sizeof *walk.stops);
    if (!walk.stops)
        return TXD_ERR_MEMORY;
    walk.count = 0;
    add_pass(&walk);
    *out = walk.stops;
    *count = walk.count;
    return TXD_OK;
}
