/* SPDX-License-Identifier: MIT
 *
 * The conventions of a block as tables.
 */
#include "model/block.h"

#define NONE TXD_POINT_COUNT

/* Every part with all that it can have; `before` is also the norm after its sum. */
static const txd_sublayer whole[TXD_SUBLAYER_COUNT] = {
    {.kind = TXD_SUBLAYER_ATTENTION,
     .before = TXD_POINT_NORM1_OUT,
     .out = TXD_POINT_ATTN_OUT,
     .over = TXD_POINT_NORM1_POST_OUT,
     .branch = TXD_POINT_ATTN_BRANCH,
     .sum = TXD_POINT_RESID_MID},
    {.kind = TXD_SUBLAYER_CROSS,
     .before = TXD_POINT_NORM_CROSS_OUT,
     .out = TXD_POINT_CROSS_OUT,
     .over = TXD_POINT_NORM_CROSS_POST_OUT,
     .branch = TXD_POINT_CROSS_BRANCH,
     .sum = TXD_POINT_RESID_CROSS},
    {.kind = TXD_SUBLAYER_MLP,
     .before = TXD_POINT_NORM2_OUT,
     .out = TXD_POINT_MLP_OUT,
     .over = TXD_POINT_NORM2_POST_OUT,
     .branch = TXD_POINT_MLP_BRANCH,
     .sum = TXD_POINT_RESID_POST},
};

/* Where each placement has norms. */
static const struct {
    bool before, over, after;
} norms_of[] = {
    [TXD_PLACEMENT_PRE] = {.before = true},
    [TXD_PLACEMENT_POST] = {.after = true},
    [TXD_PLACEMENT_SANDWICH] = {.before = true, .over = true},
    [TXD_PLACEMENT_BRANCH] = {.over = true},
};

static const struct {
    txd_point out;
    txd_param_id gain, bias;
} norms[] = {
    {TXD_POINT_EMBED_NORM, TXD_PARAM_EMBED_NORM_WEIGHT, TXD_PARAM_EMBED_NORM_BIAS},
    {TXD_POINT_NORM1_OUT, TXD_PARAM_NORM1_WEIGHT, TXD_PARAM_NORM1_BIAS},
    {TXD_POINT_NORM1_POST_OUT, TXD_PARAM_NORM1_POST_WEIGHT, TXD_PARAM_NORM1_POST_BIAS},
    {TXD_POINT_NORM_CROSS_OUT, TXD_PARAM_NORM_CROSS_WEIGHT, TXD_PARAM_NORM_CROSS_BIAS},
    {TXD_POINT_NORM_CROSS_POST_OUT, TXD_PARAM_NORM_CROSS_POST_WEIGHT,
     TXD_PARAM_NORM_CROSS_POST_BIAS},
    {TXD_POINT_NORM2_OUT, TXD_PARAM_NORM2_WEIGHT, TXD_PARAM_NORM2_BIAS},
    {TXD_POINT_NORM2_POST_OUT, TXD_PARAM_NORM2_POST_WEIGHT, TXD_PARAM_NORM2_POST_BIAS},
    {TXD_POINT_HEAD_NORM, TXD_PARAM_HEAD_NORM_WEIGHT, TXD_PARAM_HEAD_NORM_BIAS},
    {TXD_POINT_FINAL_NORM, TXD_PARAM_FINAL_WEIGHT, TXD_PARAM_FINAL_BIAS},
};

enum { NORMS = sizeof norms / sizeof *norms };

const size_t txd_norm_point_count = NORMS;

txd_point txd_norm_point(size_t i)
{
    return norms[i].out;
}

bool txd_sublayer_exists(const txd_config *config, txd_sublayer_kind kind)
{
    return kind != TXD_SUBLAYER_CROSS || config->cross;
}

/* What a part passes on to the one behind it. */
static txd_point end_of(const txd_config *config, txd_sublayer_kind kind)
{
    return norms_of[config->norm_placement].after ? whole[kind].before
                                                  : whole[kind].sum;
}

static txd_point stream_into(const txd_config *config, txd_sublayer_kind kind)
{
    if (kind == TXD_SUBLAYER_ATTENTION || config->parallel)
        return TXD_POINT_RESID_PRE;
    if (kind == TXD_SUBLAYER_MLP && config->cross)
        return end_of(config, TXD_SUBLAYER_CROSS);
    return end_of(config, TXD_SUBLAYER_ATTENTION);
}

txd_sublayer txd_sublayer_of(const txd_config *config, txd_sublayer_kind kind)
{
    bool is_mlp = kind == TXD_SUBLAYER_MLP, is_shared = is_mlp && config->shared_norm;
    txd_sublayer part = whole[kind];

    part.stream = stream_into(config, kind);
    part.after = norms_of[config->norm_placement].after ? part.before : NONE;
    if (!norms_of[config->norm_placement].before || is_shared)
        part.before = NONE;
    if (!norms_of[config->norm_placement].over)
        part.over = NONE;
    part.input = part.before == NONE ? part.stream : part.before;
    if (is_shared)
        part.input = whole[TXD_SUBLAYER_ATTENTION].before;
    part.beside =
        is_mlp && config->parallel ? whole[TXD_SUBLAYER_ATTENTION].branch : NONE;
    if (!is_mlp && config->parallel)
        part.sum = NONE;
    return part;
}

bool txd_sublayer_with(txd_sublayer *out, const txd_config *config, txd_point point)
{
    for (int kind = 0; kind < TXD_SUBLAYER_COUNT; kind++) {
        txd_sublayer part = txd_sublayer_of(config, (txd_sublayer_kind)kind);

        if (!txd_sublayer_exists(config, part.kind) || point == NONE)
            continue;
        *out = part;
        if (point == part.before || point == part.out || point == part.over ||
            point == part.branch || point == part.sum || point == part.after)
            return true;
    }
    return false;
}

/* The last of these that exists. */
static txd_point last_of(const txd_config *config, const txd_point *points,
                         size_t count)
{
    while (count > 1 && !txd_point_exists(config, points[count - 1]))
        count--;
    return points[count - 1];
}

size_t txd_embed_terms(txd_point out[TXD_EMBED_TERMS], const txd_config *config)
{
    static const txd_point token[] = {TXD_POINT_EMBED_TOK, TXD_POINT_EMBED_IN,
                                      TXD_POINT_EMBED_SCALED};
    size_t count = 1;

    out[0] = last_of(config, token, 3);
    if (txd_point_exists(config, TXD_POINT_EMBED_POS))
        out[count++] = TXD_POINT_EMBED_POS;
    if (txd_point_exists(config, TXD_POINT_EMBED_TYPE))
        out[count++] = TXD_POINT_EMBED_TYPE;
    return count;
}

txd_point txd_embed_end(const txd_config *config)
{
    return config->embed_norm ? TXD_POINT_EMBED_NORM : TXD_POINT_EMBED_OUT;
}

txd_point txd_stream_after_layer(const txd_config *config)
{
    return end_of(config, TXD_SUBLAYER_MLP);
}

txd_point txd_stream_end(const txd_config *config)
{
    return config->final_norm ? TXD_POINT_FINAL_NORM : txd_stream_after_layer(config);
}

txd_point txd_head_reads(const txd_config *config, txd_point out)
{
    bool is_transformed = config->head_transform && out != TXD_POINT_HEAD_DENSE;
    bool is_led = out != TXD_POINT_HEAD_DENSE && out != TXD_POINT_HEAD_IN &&
                  txd_point_exists(config, TXD_POINT_HEAD_IN);

    if (is_led)
        return TXD_POINT_HEAD_IN;
    return is_transformed ? TXD_POINT_HEAD_NORM : txd_stream_end(config);
}

txd_point txd_head_out(const txd_config *config)
{
    return txd_point_exists(config, TXD_POINT_LOGITS_RAW) ? TXD_POINT_LOGITS_RAW
                                                          : TXD_POINT_LOGITS;
}

static size_t norm_at(txd_point point)
{
    size_t i = 0;

    while (i < NORMS && norms[i].out != point)
        i++;
    return i;
}

bool txd_point_is_norm(txd_point point)
{
    return norm_at(point) < NORMS;
}

txd_param_id txd_norm_gain(txd_point norm)
{
    return norms[norm_at(norm)].gain;
}

txd_param_id txd_norm_bias(txd_point norm)
{
    return norms[norm_at(norm)].bias;
}

txd_point txd_input_of_norm(const txd_config *config, txd_point norm)
{
    txd_sublayer part;

    if (norm == TXD_POINT_EMBED_NORM)
        return TXD_POINT_EMBED_OUT;
    if (norm == TXD_POINT_HEAD_NORM)
        return TXD_POINT_HEAD_ACT;
    if (!txd_sublayer_with(&part, config, norm))
        return txd_stream_after_layer(config);
    if (norm == part.before)
        return part.stream;
    return norm == part.over ? part.out : part.sum;
}
