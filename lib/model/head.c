/* SPDX-License-Identifier: MIT
 *
 * From what the blocks make to logits and token losses, forward: final norm; where the
 * configuration has them a transform and a narrower width (model/block.h); logits in
 * row tiles. The way back: head_back.c.
 */
#include <math.h>
#include <string.h>

#include "model/head.h"
#include "model/images.h"

struct txd_linear_map txd_head_map(const txd_run *run, txd_point out)
{
    const txd_config *c = run->model->config;
    struct txd_linear_map map = {
        .out = out,
        .x = run->value[txd_head_reads(c, out)],
        .n = c->d_model,
        .k = c->d_model,
    };

    if (out == TXD_POINT_HEAD_DENSE) {
        map.weight = txd_model_parameter(run->model, TXD_PARAM_HEAD_DENSE_WEIGHT, -1);
        map.bias = txd_model_parameter(run->model, TXD_PARAM_HEAD_DENSE_BIAS, -1);
    } else {
        map.weight = txd_model_parameter(run->model, TXD_PARAM_HEAD_IN_WEIGHT, -1);
        map.n = txd_embed_width(c);
    }
    return map;
}

static txd_status linear(txd_run *run, txd_point out)
{
    struct txd_linear_map map = txd_head_map(run, out);

    return txd_layer_linear(run, -1, &map);
}

static txd_status activate(txd_run *run)
{
    const txd_config *c = run->model->config;
    struct txd_layer_ops *ops = txd_run_ops(run, -1);
    struct txd_activate_args args = {
        .at = txd_op_at(ops, TXD_OP_activate, -1, TXD_POINT_HEAD_ACT),
        .out = run->own[TXD_POINT_HEAD_ACT],
        .x = run->value[TXD_POINT_HEAD_DENSE],
        .count = run->batch * run->length * c->d_model,
        .kind = (int)c->activation,
    };

    TXD_TRY(ops->ops.activate(&run->ctx, &args));
    run->value[TXD_POINT_HEAD_ACT] = args.out;
    return txd_taps_offer(run, TXD_POINT_HEAD_ACT, -1);
}

static txd_status before_the_head(txd_run *run)
{
    const txd_config *c = run->model->config;

    if (c->head_transform) {
        TXD_TRY(linear(run, TXD_POINT_HEAD_DENSE));
        TXD_TRY(activate(run));
        TXD_TRY(txd_layer_norm(run, -1, TXD_POINT_HEAD_NORM));
    }
    return txd_point_exists(c, TXD_POINT_HEAD_IN) ? linear(run, TXD_POINT_HEAD_IN)
                                                  : TXD_OK;
}

/* ---- logits in row tiles ---- */

struct txd_linear_args txd_head_rows(txd_run *run, size_t row, size_t rows)
{
    const txd_config *c = run->model->config;
    size_t width = txd_embed_width(c);
    size_t offset = row * width * txd_dtype_bytes(run->model->backend->dtype);

    return (struct txd_linear_args){
        .at = txd_op_at(txd_run_ops(run, -1), TXD_OP_linear, -1, txd_head_out(c)),
        .out = run->raw_logits,
        .x = (const char *)run->value[txd_head_reads(c, txd_head_out(c))] + offset,
        .weight = run->model->head,
        .bias = txd_model_parameter(run->model, TXD_PARAM_HEAD_BIAS, -1),
        .rows = rows,
        .n = c->vocab,
        .k = width,
    };
}

/* The cap of what is not scaled yet, so that the scale comes last: s c/s tanh(x / (c /
 * s)) = c tanh(s x / c). */
double txd_head_cap(const txd_config *c)
{
    return c->logit_scale == 0 ? c->logit_softcap : c->logit_softcap / c->logit_scale;
}

/* From what the head makes to the logits. */
static txd_status cap_and_scale(txd_run *run, size_t rows)
{
    const txd_config *c = run->model->config;
    struct txd_layer_ops *ops = txd_run_ops(run, -1);
    struct txd_softcap_args cap = {
        .at = txd_op_at(ops, TXD_OP_softcap, -1, TXD_POINT_LOGITS),
        .out = run->logits,
        .x = run->raw_logits,
        .cap = txd_head_cap(c),
        .rows = rows,
        .width = c->vocab,
        .stride = c->vocab,
    };
    struct txd_scale_args scale = {
        .at = txd_op_at(ops, TXD_OP_scale, -1, TXD_POINT_LOGITS),
        .out = run->logits,
        .x = c->logit_softcap == 0 ? run->raw_logits : run->logits,
        .factor = c->logit_scale,
        .count = rows * c->vocab,
    };

    if (c->logit_softcap != 0)
        TXD_TRY(ops->ops.softcap(&run->ctx, &cap));
    return txd_config_scales_logits(c) ? ops->ops.scale(&run->ctx, &scale) : TXD_OK;
}

txd_status txd_logit_rows(txd_run *run, const struct txd_logit_tile *tile, bool offer)
{
    size_t row = tile->batch * run->length + tile->first;
    struct txd_linear_args head = txd_head_rows(run, row, tile->rows);

    TXD_TRY(txd_run_ops(run, -1)->ops.linear(&run->ctx, &head));
    if (txd_head_out(run->model->config) == TXD_POINT_LOGITS_RAW) {
        if (offer)
            TXD_TRY(
                txd_taps_offer_logits(run, tile, TXD_SITE_VALUE, TXD_POINT_LOGITS_RAW));
        TXD_TRY(cap_and_scale(run, tile->rows));
    }
    return offer ? txd_taps_offer_logits(run, tile, TXD_SITE_VALUE, TXD_POINT_LOGITS)
                 : TXD_OK;
}

static txd_status loss_rows(txd_run *run, size_t row, size_t rows)
{
    struct txd_layer_ops *ops = txd_run_ops(run, -1);
    struct txd_loss_args loss = {
        .at = txd_op_at(ops, TXD_OP_loss, -1, TXD_POINT_LOSS_TOKEN),
        .out = (char *)run->own[TXD_POINT_LOSS_TOKEN] +
               row * txd_dtype_bytes(run->model->backend->dtype),
        .logits = run->logits,
        .targets = run->targets + row,
        .rows = rows,
        .vocab = run->model->config->vocab,
    };

    return ops->ops.loss(&run->ctx, &loss);
}

static txd_status logit_tile(txd_run *run, const struct txd_logit_tile *tile)
{
    TXD_TRY(txd_logit_rows(run, tile, true));
    return loss_rows(run, tile->batch * run->length + tile->first, tile->rows);
}

txd_status txd_logits_in_tiles(txd_run *run,
                               txd_status (*body)(txd_run *run,
                                                  const struct txd_logit_tile *tile))
{
    size_t n = run->length;

    memset(run->logit_stats, 0, sizeof run->logit_stats);
    for (size_t b = 0; b < run->batch; b++)
        for (size_t first = 0; first < n; first += run->logit_rows) {
            struct txd_logit_tile tile = {.batch = b, .first = first};

            tile.rows = n - first < run->logit_rows ? n - first : run->logit_rows;
            tile.last = b + 1 == run->batch && first + tile.rows == n;
            TXD_TRY(body(run, &tile));
        }
    return TXD_OK;
}

/* The mean over all pairs, not over rows: long rows count for more. */
static txd_status mean_loss(double *out, const txd_run *run)
{
    txd_tensor losses;
    size_t count = run->batch * run->length, pairs = 0;
    double sum = 0;

    losses = txd_tensor_make(run->model->backend->dtype,
                             run->value[TXD_POINT_LOSS_TOKEN], 1, &count);
    TXD_TRY(txd_image_read(&losses.data, run, losses.data, count));
    for (size_t i = 0; i < count; i++)
        if (run->targets[i] >= 0) {
            sum += txd_tensor_get(&losses, i);
            pairs++;
        }
    *out = pairs > 0 ? sum / (double)pairs : (double)NAN;
    return TXD_OK;
}

txd_status txd_head_forward(txd_run *run)
{
    const txd_config *c = run->model->config;

    if (c->final_norm)
        TXD_TRY(txd_layer_norm(run, -1, TXD_POINT_FINAL_NORM));
    run->stream_end = txd_stream_end(c);
    if (c->is_encoder)
        return TXD_OK;
    TXD_TRY(before_the_head(run));
    TXD_TRY(txd_logits_in_tiles(run, logit_tile));
    run->value[TXD_POINT_LOSS_TOKEN] = run->own[TXD_POINT_LOSS_TOKEN];
    TXD_TRY(txd_taps_offer(run, TXD_POINT_LOSS_TOKEN, -1));
    return mean_loss(&run->loss, run);
}
