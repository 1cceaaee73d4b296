/* SPDX-License-Identifier: MIT
 *
 * The operations on one tile of attention: a block of query rows of one head. Which
 * cells it has: attention_cells.c.
 */
#include "model/attention.h"
#include "model/bias.h"

#include <math.h>

static const txd_layer_config *layer_config(const txd_run *run, int layer)
{
    return &run->model->config->layers[layer];
}

char *txd_row_of(const txd_run *run, void *data, size_t row, size_t width)
{
    return (char *)data + row * width * txd_dtype_bytes(run->model->backend->dtype);
}

txd_op_site txd_tile_at(const struct txd_attention *job, const struct txd_tile *tile,
                        txd_op op, txd_point point)
{
    txd_op_site at = txd_op_at(&job->run->layer_ops[job->layer], op, job->layer,
                               txd_point_in(job->kind, point));

    at.batch = (int)tile->batch;
    at.head = (int)tile->head;
    at.first_query = (int)tile->first;
    return at;
}

/* ---- the operations on a tile ---- */

size_t txd_tile_key_row(const struct txd_attention *job, const struct txd_tile *tile)
{
    const txd_config *c = job->run->model->config;
    const uint32_t *order = c->layers[job->layer].kv_heads;
    size_t group = order ? order[tile->head] : txd_kv_head_of(c, tile->head);

    return (tile->batch * c->n_kv_heads + group) * job->key_rows;
}

static void *value_of(const struct txd_attention *job, txd_point point)
{
    return job->run->value[txd_point_in(job->kind, point)];
}

size_t txd_tile_query_row(const txd_run *run, const struct txd_tile *tile)
{
    return (tile->batch * run->model->config->n_heads + tile->head) * run->length +
           tile->first;
}

txd_status txd_tile_scores(const struct txd_attention *job, struct txd_tile *tile)
{
    txd_run *run = job->run;
    size_t width = run->model->config->head_dim;
    const size_t edges[4] = {0, tile->begin, tile->end, tile->keys};
    struct txd_scores_args args = {
        .at = txd_tile_at(job, tile, TXD_OP_scores, TXD_POINT_ATTN_SCORES),
        .q = txd_row_of(run, value_of(job, TXD_POINT_ATTN_Q),
                        txd_tile_query_row(run, tile), width),
        .rows = tile->rows,
        .width = width,
        .stride = tile->keys,
        .scale = layer_config(run, job->layer)->score_scale,
    };

    for (int part = 0; part < 3; part++) {
        size_t row = txd_tile_key_row(job, tile) + tile->key_begin + edges[part];

        args.out = txd_row_of(run, tile->value[TXD_TILE_SCORES], edges[part], 1);
        args.k = txd_row_of(run, job->k, row, width);
        args.keys = edges[part + 1] - edges[part];
        if (args.keys > 0)
            TXD_TRY(run->layer_ops[job->layer].ops.scores(&run->ctx, &args));
    }
    return TXD_OK;
}

bool txd_layer_caps(const txd_run *run, int layer)
{
    return layer_config(run, layer)->score_softcap != 0;
}

txd_status txd_tile_cap(const struct txd_attention *job, struct txd_tile *tile)
{
    txd_run *run = job->run;
    struct txd_softcap_args args = {
        .at = txd_tile_at(job, tile, TXD_OP_softcap, TXD_POINT_ATTN_CAPPED),
        .out = tile->value[TXD_TILE_CAPPED],
        .x = tile->value[TXD_TILE_SCORES],
        .cap = layer_config(run, job->layer)->score_softcap,
        .rows = tile->rows,
        .width = tile->keys,
        .stride = tile->keys,
    };

    if (args.cap != 0)
        return run->layer_ops[job->layer].ops.softcap(&run->ctx, &args);
    return args.out == args.x
               ? TXD_OK
               : txd_run_copy(run, args.out, args.x, tile->rows * tile->keys);
}

bool txd_tile_relative(struct txd_relative *out, const struct txd_attention *job,
                       const struct txd_tile *tile)
{
    const struct txd_relative *relative = job->run->model->relative;

    if (relative == NULL || job->kind == TXD_ATTENTION_CROSS)
        return false;
    *out = *relative;
    out->head = tile->head;
    return true;
}

/* `relative` is what the arguments may point to. */
static struct txd_bias_args bias_args(const struct txd_attention *job,
                                      const struct txd_tile *tile,
                                      struct txd_relative *relative)
{
    txd_mask_view mask = txd_tile_mask_view(job, tile);

    return (struct txd_bias_args){
        .at = txd_tile_at(job, tile, TXD_OP_bias, TXD_POINT_ATTN_BIAS),
        .query_positions = mask.query_positions + tile->first,
        .key_positions = mask.key_positions + tile->key_begin,
        .slope = txd_alibi_slope(tile->head, job->run->model->config->n_heads),
        .relative = txd_tile_relative(relative, job, tile) ? relative : NULL,
        .rows = tile->rows,
        .keys = tile->keys,
        .stride = tile->keys,
    };
}

txd_status txd_tile_bias(const struct txd_attention *job, struct txd_tile *tile)
{
    txd_run *run = job->run;
    struct txd_relative relative;
    struct txd_bias_args args;

    if (!txd_has_bias(run->model->config, job->kind) ||
        tile->value[TXD_TILE_BIAS] == NULL)
        return TXD_OK;
    args = bias_args(job, tile, &relative);
    args.out = tile->value[TXD_TILE_BIAS];
    return run->layer_ops[job->layer].ops.bias(&run->ctx, &args);
}

/* Where the bias was edited it is what is added; else it need not be formed. */
static txd_status add_bias(const struct txd_attention *job, struct txd_tile *tile)
{
    txd_run *run = job->run;
    const struct txd_ops *ops = &run->layer_ops[job->layer].ops;
    struct txd_pair_args sum = {
        .at = txd_tile_at(job, tile, TXD_OP_add, TXD_POINT_ATTN_MASKED),
        .out = tile->value[TXD_TILE_MASKED],
        .a = tile->value[TXD_TILE_CAPPED],
        .b = tile->value[TXD_TILE_BIAS],
        .count = tile->rows * tile->keys,
    };
    struct txd_relative relative;
    struct txd_bias_args args = bias_args(job, tile, &relative);

    if (job->planes != NULL)
        return ops->add(&run->ctx, &sum);
    args.out = sum.out;
    args.scores = sum.a;
    return ops->bias(&run->ctx, &args);
}

txd_status txd_tile_mask(const struct txd_attention *job, struct txd_tile *tile)
{
    txd_mask_view mask = txd_tile_mask_view(job, tile);
    struct txd_mask_args args = {
        .at = txd_tile_at(job, tile, TXD_OP_mask, TXD_POINT_ATTN_MASKED),
        .out = tile->value[TXD_TILE_MASKED],
        .scores = tile->value[TXD_TILE_CAPPED],
        .visible = tile->is_regular ? NULL : tile->visible,
        .spans = tile->is_regular ? &tile->spans.visible : NULL,
        .rows = tile->rows,
        .keys = tile->keys,
        .stride = tile->keys,
        .fill = layer_config(job->run, job->layer)->fill,
        .mask = &mask,
        .key_begin = tile->key_begin,
    };

    if (txd_has_bias(job->run->model->config, job->kind)) {
        TXD_TRY(add_bias(job, tile));
        args.scores = args.out;
    }
    return job->run->layer_ops[job->layer].ops.mask(&job->run->ctx, &args);
}

const void *txd_tile_sink(const struct txd_attention *job, const struct txd_tile *tile)
{
    const txd_run *run = job->run;
    const char *sinks =
        txd_model_parameter(run->model, TXD_PARAM_SINK_WEIGHT, job->layer);

    if (sinks == NULL || job->kind == TXD_ATTENTION_CROSS)
        return NULL;
    return sinks + tile->head * txd_dtype_bytes(run->model->backend->dtype);
}

txd_status txd_tile_softmax(const struct txd_attention *job, struct txd_tile *tile)
{
    size_t row = txd_tile_query_row(job->run, tile);
    txd_mask_view mask = txd_tile_mask_view(job, tile);
    struct txd_softmax_args args = {
        .at = txd_tile_at(job, tile, TXD_OP_softmax, TXD_POINT_ATTN_WEIGHTS),
        .out = tile->value[TXD_TILE_WEIGHTS],
        .masked = tile->value[TXD_TILE_MASKED],
        .max = job->run->max + row,
        .lse = job->run->lse + row,
        .sink = txd_tile_sink(job, tile),
        .entropy = job->entropy ? tile->entropy : NULL,
        .spans = tile->is_regular ? &tile->spans.used : NULL,
        .rows = tile->rows,
        .keys = tile->keys,
        .stride = tile->keys,
        .begin = tile->begin,
        .end = tile->end,
        .masked_row = (int)layer_config(job->run, job->layer)->masked_row,
        .same = layer_config(job->run, job->layer)->softmax == TXD_SOFTMAX_SAME,
        .mask = &mask,
        .key_begin = tile->key_begin,
    };

    return job->run->layer_ops[job->layer].ops.softmax(&job->run->ctx, &args);
}

/* Rows of padded queries say nothing: NaN, and no key. */
static void blank_padded(const txd_run *run, struct txd_tile *tile)
{
    const uint8_t *padded = run->padded + tile->batch * run->length + tile->first;

    for (size_t r = 0; r < tile->rows; r++)
        for (int c = 0; padded[r] && c < TXD_ROW_COUNT; c++)
            tile->row_statistics[r * TXD_ROW_COUNT + (size_t)c] =
                txd_row_get((txd_row)c)->is_key ? -1 : (double)NAN;
}

void txd_tile_finish_rows(const struct txd_attention *job, struct txd_tile *tile)
{
    if (job->kind == TXD_ATTENTION_CROSS)
        txd_rows_without_places(tile->row_statistics, tile->rows);
    blank_padded(job->run, tile);
}

/* Statistics of the weights can be had with the rows, by the backend's own. */
static bool measures(const struct txd_attention *job)
{
    const txd_run *run = job->run;
    txd_point weights = txd_point_in(job->kind, TXD_POINT_ATTN_WEIGHTS);

    return (txd_run_wants(run, weights, job->layer) & TXD_ASK_STATS) != 0 &&
           run->layer_ops[job->layer].ops.rows == run->model->backend->ops.rows;
}

txd_status txd_tile_rows(const struct txd_attention *job, struct txd_tile *tile)
{
    txd_run *run = job->run;
    size_t row = txd_tile_query_row(run, tile);
    struct txd_stats_args weights =
        txd_tile_counted(run, tile, TXD_TILE_WEIGHTS, tile->value[TXD_TILE_WEIGHTS]);
    struct txd_rows_args args = {
        .at = txd_tile_at(job, tile, TXD_OP_rows, TXD_POINT_ATTN_WEIGHTS),
        .rows = tile->row_statistics,
        .weights = tile->value[TXD_TILE_WEIGHTS],
        .max = run->max + row,
        .lse = run->lse + row,
        .entropy = job->entropy ? tile->entropy : NULL,
        .hidden = tile->is_regular ? NULL : tile->hidden,
        .spans = tile->is_regular ? &tile->spans.seen : NULL,
        .sides = tile->spans.sides,
        .seen = tile->seen,
        .first_seen = tile->first_seen,
        .row_count = tile->rows,
        .keys = tile->keys,
        .stride = tile->keys,
        .key_begin = tile->key_begin,
        .measure = measures(job) ? &weights : NULL,
    };

    args.at.first_query += (int)run->past; /* where the queries stand among the keys */
    tile->measured = job->rows && args.measure != NULL;
    if (!job->rows)
        return TXD_OK;
    TXD_TRY(run->layer_ops[job->layer].ops.rows(&run->ctx, &args));
    txd_tile_finish_rows(job, tile);
    return TXD_OK;
}

txd_status txd_tile_mix(const struct txd_attention *job, struct txd_tile *tile)
{
    txd_run *run = job->run;
    size_t width = run->model->config->value_dim;
    size_t row = txd_tile_key_row(job, tile) + tile->key_begin + tile->begin;
    struct txd_mix_args args = {
        .at = txd_tile_at(job, tile, TXD_OP_mix, TXD_POINT_ATTN_HEADS),
        .out = txd_row_of(run, run->own[txd_point_in(job->kind, TXD_POINT_ATTN_HEADS)],
                          txd_tile_query_row(run, tile), width),
        .weights = txd_row_of(run, tile->value[TXD_TILE_WEIGHTS], tile->begin, 1),
        .v = txd_row_of(run, job->v, row, width),
        .used = tile->is_regular ? NULL : tile->used + tile->begin,
        .spans = tile->is_regular ? &tile->spans.used_inside : NULL,
        .rows = tile->rows,
        .keys = tile->end - tile->begin,
        .stride = tile->keys,
        .width = width,
    };

    return run->layer_ops[job->layer].ops.mix(&run->ctx, &args);
}
