/* SPDX-License-Identifier: MIT
 *
 * All tiles of a layer, backward. A tile is computed again by the very operations of
 * the way there, so that its weights have the same bits, whatever a fault put in their
 * place. Gradients of queries belong to one tile; those of keys and values get a part
 * from every tile of their group's heads, added in index order: the same sums for any
 * number of threads.
 *
 * Of the cells of a tile only those between `begin` and `end` had a part in the pass;
 * the others have no gradient, computed or not.
 */
#include "model/attention.h"

#include <string.h>

#include "model/backward.h"

static void *d_of(const struct txd_attention *job, txd_point point)
{
    return job->run->d_own[txd_point_in(job->kind, point)];
}

static void *value_of(const struct txd_attention *job, txd_point point)
{
    return job->run->value[txd_point_in(job->kind, point)];
}

static const struct txd_ops *ops_of(const struct txd_attention *job)
{
    return &job->run->layer_ops[job->layer].ops;
}

/* ---- the operations on a tile, in reverse order ---- */

/* Cell (0, begin) of a tile's array. */
static void *inside(const struct txd_attention *job, const struct txd_tile *tile,
                    const void *cells)
{
    return txd_row_of(job->run, (void *)cells, tile->begin, 1);
}

/* What took no part has no gradient. */
static txd_status clear_outside(const struct txd_attention *job,
                                const struct txd_tile *tile, void *cells)
{
    const txd_backend *backend = job->run->model->backend;
    size_t bytes = txd_dtype_bytes(job->run->pass.dtype);

    if (tile->end - tile->begin == tile->keys)
        return TXD_OK;
    if (backend->host != NULL) /* in one call; the others are written next */
        return backend->zero(cells, tile->rows * tile->keys * bytes);
    for (size_t r = 0; r < tile->rows; r++) {
        char *row = txd_row_of(job->run, cells, r, tile->keys);

        memset(row, 0, tile->begin * bytes);
        memset(row + tile->end * bytes, 0, (tile->keys - tile->end) * bytes);
    }
    return TXD_OK;
}

static txd_status zero(const struct txd_attention *job, void *values, size_t count)
{
    return job->run->model->backend->zero(
        values, count * txd_dtype_bytes(job->run->pass.dtype));
}

static txd_status mix_back(const struct txd_attention *job, struct txd_tile *tile)
{
    txd_run *run = job->run;
    size_t width = run->model->config->value_dim;
    size_t row = txd_tile_key_row(job, tile) + tile->key_begin + tile->begin;
    size_t keys = tile->end - tile->begin;
    struct txd_mix_back_args args = {
        .at = txd_tile_at(job, tile, TXD_OP_mix_back, TXD_POINT_ATTN_HEADS),
        .d_weights = inside(job, tile, tile->gradient[TXD_TILE_WEIGHTS]),
        .d_v = tile->d_v,
        .d_out = txd_row_of(run, d_of(job, TXD_POINT_ATTN_HEADS),
                            txd_tile_query_row(run, tile), width),
        .weights = inside(job, tile, tile->value[TXD_TILE_WEIGHTS]),
        .v = txd_row_of(run, value_of(job, TXD_POINT_ATTN_V), row, width),
        .used = tile->is_regular ? NULL : tile->used + tile->begin,
        .spans = tile->is_regular ? &tile->spans.used_inside : NULL,
        .rows = tile->rows,
        .keys = keys,
        .stride = tile->keys,
        .width = width,
    };

    TXD_TRY(clear_outside(job, tile, tile->gradient[TXD_TILE_WEIGHTS]));
    TXD_TRY(zero(job, tile->d_v, keys * width));
    return keys == 0 ? TXD_OK : ops_of(job)->mix_back(&run->ctx, &args);
}

static txd_status softmax_back(const struct txd_attention *job, struct txd_tile *tile)
{
    txd_mask_view mask = txd_tile_mask_view(job, tile);
    struct txd_softmax_back_args args = {
        .at = txd_tile_at(job, tile, TXD_OP_softmax_back, TXD_POINT_ATTN_WEIGHTS),
        .d_masked = tile->gradient[TXD_TILE_MASKED],
        .d_out = tile->gradient[TXD_TILE_WEIGHTS],
        .weights = tile->softmax,
        .masked = tile->value[TXD_TILE_MASKED],
        .sink = txd_tile_sink(job, tile),
        .max = job->run->max + txd_tile_query_row(job->run, tile),
        .spans = tile->is_regular ? &tile->spans.used : NULL,
        .rows = tile->rows,
        .keys = tile->keys,
        .stride = tile->keys,
        .begin = tile->begin,
        .end = tile->end,
        .mask = &mask,
        .key_begin = tile->key_begin,
    };

    return ops_of(job)->softmax_back(&job->run->ctx, &args);
}

/* Reads the gradient of the weights, so before it may be overwritten. */
static txd_status sink_back(const struct txd_attention *job, struct txd_tile *tile)
{
    size_t row = txd_tile_query_row(job->run, tile);
    struct txd_sink_back_args args = {
        .at = txd_tile_at(job, tile, TXD_OP_sink_back, TXD_POINT_ATTN_WEIGHTS),
        .d_sink = tile->d_sink,
        .d_out = tile->gradient[TXD_TILE_WEIGHTS],
        .weights = tile->softmax,
        .sink = txd_tile_sink(job, tile),
        .max = job->run->max + row,
        .lse = job->run->lse + row,
        .spans = tile->is_regular ? &tile->spans.used : NULL,
        .rows = tile->rows,
        .keys = tile->keys,
        .stride = tile->keys,
        .begin = tile->begin,
        .end = tile->end,
    };

    if (args.sink == NULL)
        return TXD_OK;
    TXD_TRY(zero(job, tile->d_sink, 1));
    return ops_of(job)->sink_back(&job->run->ctx, &args);
}

static txd_status mask_back(const struct txd_attention *job, struct txd_tile *tile)
{
    struct txd_mask_back_args args = {
        .at = txd_tile_at(job, tile, TXD_OP_mask_back, TXD_POINT_ATTN_MASKED),
        .d_scores = tile->gradient[TXD_TILE_CAPPED],
        .d_out = tile->gradient[TXD_TILE_MASKED],
        .visible = tile->is_regular ? NULL : tile->visible,
        .spans = tile->is_regular ? &tile->spans.visible : NULL,
        .rows = tile->rows,
        .keys = tile->keys,
        .stride = tile->keys,
    };

    return ops_of(job)->mask_back(&job->run->ctx, &args);
}

/* What is added has the gradient of the sum: none of its own is formed. */
static txd_status bias_back(const struct txd_attention *job, struct txd_tile *tile)
{
    txd_run *run = job->run;
    txd_mask_view mask = txd_tile_mask_view(job, tile);
    struct txd_relative relative;
    struct txd_bias_back_args args = {
        .at = txd_tile_at(job, tile, TXD_OP_bias_back, TXD_POINT_ATTN_BIAS),
        .d_table = tile->d_table,
        .d_out = tile->gradient[TXD_TILE_BIAS],
        .query_positions = mask.query_positions + tile->first,
        .key_positions = mask.key_positions + tile->key_begin,
        .relative = &relative,
        .rows = tile->rows,
        .keys = tile->keys,
        .stride = tile->keys,
    };

    if (!txd_tile_relative(&relative, job, tile))
        return TXD_OK;
    TXD_TRY(zero(job, tile->d_table, relative.buckets * relative.heads));
    return ops_of(job)->bias_back(&run->ctx, &args);
}

static txd_status cap_back(const struct txd_attention *job, struct txd_tile *tile)
{
    txd_run *run = job->run;
    struct txd_softcap_back_args args = {
        .at = txd_tile_at(job, tile, TXD_OP_softcap_back, TXD_POINT_ATTN_CAPPED),
        .d_x = tile->gradient[TXD_TILE_SCORES],
        .d_out = tile->gradient[TXD_TILE_CAPPED],
        .x = tile->value[TXD_TILE_SCORES],
        .cap = run->model->config->layers[job->layer].score_softcap,
        .rows = tile->rows,
        .width = tile->keys,
        .stride = tile->keys,
    };

    return args.cap == 0 ? TXD_OK : ops_of(job)->softcap_back(&run->ctx, &args);
}

static txd_status scores_back(const struct txd_attention *job, struct txd_tile *tile)
{
    txd_run *run = job->run;
    size_t width = run->model->config->head_dim, keys = tile->end - tile->begin;
    size_t query = txd_tile_query_row(run, tile);
    size_t key = txd_tile_key_row(job, tile) + tile->key_begin + tile->begin;
    struct txd_scores_back_args args = {
        .at = txd_tile_at(job, tile, TXD_OP_scores_back, TXD_POINT_ATTN_SCORES),
        .d_q = txd_row_of(run, d_of(job, TXD_POINT_ATTN_Q), query, width),
        .d_k = tile->d_k,
        .d_out = inside(job, tile, tile->gradient[TXD_TILE_SCORES]),
        .q = txd_row_of(run, value_of(job, TXD_POINT_ATTN_Q), query, width),
        .k = txd_row_of(run, value_of(job, TXD_POINT_ATTN_K), key, width),
        .visible = tile->is_regular ? NULL : tile->visible + tile->begin,
        .spans = tile->is_regular ? &tile->spans.visible_inside : NULL,
        .rows = tile->rows,
        .keys = keys,
        .width = width,
        .stride = tile->keys,
        .scale = run->model->config->layers[job->layer].score_scale,
    };

    TXD_TRY(zero(job, args.d_q, tile->rows * width));
    TXD_TRY(zero(job, tile->d_k, keys * width));
    return keys == 0 ? TXD_OK : ops_of(job)->scores_back(&run->ctx, &args);
}

/* ---- a tile ---- */

/* The tile as it was. Where somebody edited it, the planes hold what became of it; the
 * softmax is taken again all the same, for an edit of its weights moved its result, not
 * its slope. */
static txd_status again(const struct txd_attention *job, struct txd_tile *tile)
{
    struct txd_tile softmax;

    tile->softmax = tile->value[TXD_TILE_WEIGHTS];
    if (job->planes != NULL)
        txd_tile_aim_at_planes(job, tile);
    TXD_TRY(txd_tile_cells(job, tile));
    if (job->planes == NULL) {
        TXD_TRY(txd_tile_scores(job, tile));
        TXD_TRY(txd_tile_cap(job, tile));
        TXD_TRY(txd_tile_bias(job, tile));
        TXD_TRY(txd_tile_mask(job, tile));
    }
    softmax = *tile;
    softmax.value[TXD_TILE_WEIGHTS] = (void *)tile->softmax;
    return txd_tile_softmax(job, &softmax);
}

static txd_status reduce(const struct txd_attention *job, struct txd_tile *tile,
                         int which)
{
    return txd_taps_reduce_tile(job->run, tile, job->layer, TXD_SITE_GRADIENT, which);
}

static txd_status tile_back(const struct txd_attention *job, struct txd_tile *tile)
{
    txd_tile_take_arrays(job, tile);
    TXD_TRY(again(job, tile));
    TXD_TRY(mix_back(job, tile));
    TXD_TRY(reduce(job, tile, TXD_TILE_WEIGHTS));
    TXD_TRY(sink_back(job, tile));
    TXD_TRY(softmax_back(job, tile));
    TXD_TRY(reduce(job, tile, TXD_TILE_MASKED));
    TXD_TRY(mask_back(job, tile));
    TXD_TRY(reduce(job, tile, TXD_TILE_BIAS));
    TXD_TRY(bias_back(job, tile));
    TXD_TRY(reduce(job, tile, TXD_TILE_CAPPED));
    TXD_TRY(cap_back(job, tile));
    TXD_TRY(reduce(job, tile, TXD_TILE_SCORES));
    return scores_back(job, tile);
}

/* ---- sums over tiles ---- */

/* What tile->d_k, d_v, d_sink and d_table have, into the whole. */
static txd_status add_part(const struct txd_attention *job, const struct txd_tile *tile)
{
    struct txd_relative relative;
    const txd_run *run = job->run;
    size_t row = txd_tile_key_row(job, tile) + tile->key_begin + tile->begin;
    size_t k = run->model->config->head_dim, v = run->model->config->value_dim;
    size_t keys = tile->end - tile->begin;

    TXD_TRY(txd_gradient_add(run, txd_row_of(run, d_of(job, TXD_POINT_ATTN_K), row, k),
                             tile->d_k, keys * k));
    TXD_TRY(txd_gradient_add(run, txd_row_of(run, d_of(job, TXD_POINT_ATTN_V), row, v),
                             tile->d_v, keys * v));
    if (txd_tile_sink(job, tile) != NULL)
        TXD_TRY(txd_gradient_add(run, txd_gradient_of(run, txd_tile_sink(job, tile)),
                                 tile->d_sink, 1));
    if (!txd_tile_relative(&relative, job, tile))
        return TXD_OK;
    return txd_gradient_add(run, txd_gradient_of(run, relative.table), tile->d_table,
                            relative.buckets * relative.heads);
}

static txd_status merge(const struct txd_attention *job, struct txd_tile *tile)
{
    TXD_TRY(txd_taps_merge_tile(job->run, tile, job->layer, TXD_SITE_GRADIENT,
                                tile->index + 1 == job->count));
    return add_part(job, tile);
}

/* Gradients that tiles had parts of. */
static txd_status store_parameters(txd_run *run, int layer)
{
    const struct txd_relative *relative = run->model->relative;
    const void *sinks = txd_model_parameter(run->model, TXD_PARAM_SINK_WEIGHT, layer);

    if (sinks != NULL)
        TXD_TRY(txd_run_store(run, txd_gradient_of(run, sinks),
                              run->model->config->n_heads));
    if (relative == NULL)
        return TXD_OK;
    return txd_run_store(run, txd_gradient_of(run, relative->table),
                         relative->buckets * relative->heads);
}

txd_status txd_attend_back(txd_run *run, int layer, txd_attention_kind kind)
{
    struct txd_attention job = txd_attention_begin(run, layer, kind, TXD_SITE_GRADIENT);
    const txd_config *c = run->model->config;
    size_t rows = run->batch * c->n_kv_heads * job.keys;
    void *d_k = d_of(&job, TXD_POINT_ATTN_K), *d_v = d_of(&job, TXD_POINT_ATTN_V);

    TXD_TRY(zero(&job, d_k, rows * c->head_dim));
    TXD_TRY(zero(&job, d_v, rows * c->value_dim));
    if (txd_attention_is_whole(&job, TXD_SITE_GRADIENT))
        return txd_attend_whole_back(&job);
    TXD_TRY(txd_over_tiles(&job, tile_back, merge));
    TXD_TRY(txd_run_store(run, d_k, rows * c->head_dim));
    TXD_TRY(txd_run_store(run, d_v, rows * c->value_dim));
    return kind == TXD_ATTENTION_CROSS ? TXD_OK : store_parameters(run, layer);
}
