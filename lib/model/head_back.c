/* SPDX-License-Identifier: MIT
 *
 * From token losses back to the gradient of what the last block makes.
 */
#include "model/backward.h"
#include "model/head.h"
#include "model/images.h"

/* The loss is the mean over all pairs. */
static txd_status token_losses(txd_run *run)
{
    size_t count = run->batch * run->length, pairs = 0;
    void *there = run->d_own[TXD_POINT_LOSS_TOKEN], *d = txd_image_of(run, there);

    for (size_t i = 0; i < count; i++)
        pairs += run->targets[i] >= 0;
    for (size_t i = 0; i < count; i++) {
        double value = run->targets[i] < 0 ? 0 : run->pass.loss_scale / (double)pairs;

        if (run->pass.dtype == TXD_F64)
            ((double *)d)[i] = value;
        else
            ((float *)d)[i] = (float)value;
    }
    TXD_TRY(txd_image_write(run, there, count));
    TXD_TRY(txd_run_store(run, there, count));
    return txd_taps_offer_gradient(run, TXD_POINT_LOSS_TOKEN, -1);
}

static txd_status loss_back(txd_run *run, size_t row, size_t rows)
{
    struct txd_layer_ops *ops = txd_run_ops(run, -1);
    struct txd_loss_back_args args = {
        .at = txd_op_at(ops, TXD_OP_loss_back, -1, TXD_POINT_LOSS_TOKEN),
        .d_logits = run->d_logits,
        .d_out = (const char *)run->d_own[TXD_POINT_LOSS_TOKEN] +
                 row * txd_dtype_bytes(run->pass.dtype),
        .logits = run->logits,
        .targets = run->targets + row,
        .rows = rows,
        .vocab = run->model->config->vocab,
    };

    return ops->ops.loss_back(&run->ctx, &args);
}

/* The gradient of the logits becomes that of what the head makes, in its place. */
static txd_status cap_and_scale_back(txd_run *run, const struct txd_logit_tile *tile)
{
    const txd_config *c = run->model->config;
    struct txd_layer_ops *ops = txd_run_ops(run, -1);
    struct txd_scale_args scale = {
        .at = txd_op_at(ops, TXD_OP_scale_back, -1, TXD_POINT_LOGITS),
        .out = run->d_logits,
        .x = run->d_logits,
        .factor = c->logit_scale,
        .count = tile->rows * c->vocab,
    };
    struct txd_softcap_back_args cap = {
        .at = txd_op_at(ops, TXD_OP_softcap_back, -1, TXD_POINT_LOGITS),
        .d_x = run->d_logits,
        .d_out = run->d_logits,
        .x = run->raw_logits,
        .cap = txd_head_cap(c),
        .rows = tile->rows,
        .width = c->vocab,
        .stride = c->vocab,
    };

    if (txd_config_scales_logits(c))
        TXD_TRY(ops->ops.scale_back(&run->ctx, &scale));
    if (c->logit_softcap != 0)
        TXD_TRY(ops->ops.softcap_back(&run->ctx, &cap));
    return txd_taps_offer_logits(run, tile, TXD_SITE_GRADIENT, TXD_POINT_LOGITS_RAW);
}

static txd_status rows_back(txd_run *run, size_t row, size_t rows)
{
    struct txd_layer_ops *ops = txd_run_ops(run, -1);
    struct txd_linear_args there = txd_head_rows(run, row, rows);
    txd_point in = txd_head_reads(run->model->config, (txd_point)there.at.point);
    struct txd_linear_back_args args = {
        .at = txd_op_at(ops, TXD_OP_linear_back, -1, (txd_point)there.at.point),
        .d_x =
            (char *)run->d_own[in] + row * there.k * txd_dtype_bytes(run->pass.dtype),
        .d_weight = txd_gradient_of(run, there.weight),
        .d_bias = txd_gradient_of(run, there.bias),
        .d_out = run->d_logits,
        .x = there.x,
        .weight = there.weight,
        .rows = rows,
        .n = there.n,
        .k = there.k,
    };

    return ops->ops.linear_back(&run->ctx, &args);
}

/* Logits are made again, by the operations that made them, unless one tile was all. */
static txd_status logit_tile_back(txd_run *run, const struct txd_logit_tile *tile)
{
    size_t row = tile->batch * run->length + tile->first;
    bool all = run->batch == 1 && tile->rows == run->length;

    if (!all)
        TXD_TRY(txd_logit_rows(run, tile, false));
    TXD_TRY(loss_back(run, row, tile->rows));
    TXD_TRY(txd_taps_offer_logits(run, tile, TXD_SITE_GRADIENT, TXD_POINT_LOGITS));
    if (txd_head_out(run->model->config) == TXD_POINT_LOGITS_RAW)
        TXD_TRY(cap_and_scale_back(run, tile));
    return rows_back(run, row, tile->rows);
}

static txd_status linear_back(txd_run *run, txd_point out)
{
    struct txd_linear_back back = {
        .map = txd_head_map(run, out),
        .d_out = run->d_own[out],
        .d_x = run->d_own[txd_head_reads(run->model->config, out)]};

    TXD_TRY(txd_taps_offer_gradient(run, out, -1));
    return txd_layer_linear_back(run, -1, &back);
}

static txd_status activate_back(txd_run *run)
{
    const txd_config *c = run->model->config;
    struct txd_layer_ops *ops = txd_run_ops(run, -1);
    struct txd_activate_back_args args = {
        .at = txd_op_at(ops, TXD_OP_activate_back, -1, TXD_POINT_HEAD_ACT),
        .d_x = run->d_own[TXD_POINT_HEAD_DENSE],
        .d_out = run->d_own[TXD_POINT_HEAD_ACT],
        .x = run->value[TXD_POINT_HEAD_DENSE],
        .count = run->batch * run->length * c->d_model,
        .kind = (int)c->activation,
    };

    TXD_TRY(txd_taps_offer_gradient(run, TXD_POINT_HEAD_ACT, -1));
    return ops->ops.activate_back(&run->ctx, &args);
}

txd_status txd_head_backward(txd_run *run)
{
    const txd_config *c = run->model->config;

    TXD_TRY(token_losses(run));
    TXD_TRY(txd_logits_in_tiles(run, logit_tile_back));
    if (txd_point_exists(c, TXD_POINT_HEAD_IN))
        TXD_TRY(linear_back(run, TXD_POINT_HEAD_IN));
    if (!c->head_transform)
        return TXD_OK;
    TXD_TRY(txd_layer_norm_back(run, -1, TXD_POINT_HEAD_NORM));
    TXD_TRY(activate_back(run));
    return linear_back(run, TXD_POINT_HEAD_DENSE);
}
