/* SPDX-License-Identifier: MIT
 *
 * The steps of the backward half that parts of a block share.
 */
#include "model/backward.h"

#include <string.h>

txd_status txd_layer_linear_back(txd_run *run, int layer,
                                 const struct txd_linear_back *back)
{
    struct txd_layer_ops *ops = &run->layer_ops[layer];
    const struct txd_linear_map *map = &back->map;
    struct txd_linear_back_args args = {
        .at = txd_op_at(ops, TXD_OP_linear_back, layer, map->out),
        .d_x = back->d_x,
        .d_weight = txd_gradient_of(run, map->weight),
        .d_bias = txd_gradient_of(run, map->bias),
        .d_out = back->d_out,
        .x = map->x,
        .weight = map->weight,
        .rows = map->rows > 0 ? map->rows : run->batch * run->length,
        .n = map->n,
        .k = map->k,
        .add = back->add,
    };

    return ops->ops.linear_back(&run->ctx, &args);
}

txd_status txd_layer_norm_back(txd_run *run, int layer, const struct txd_norm_map *map,
                               bool add)
{
    const txd_config *c = run->model->config;
    struct txd_layer_ops *ops = &run->layer_ops[layer < 0 ? (int)c->n_layers : layer];
    struct txd_norm_back_args args = {
        .at = txd_op_at(ops, TXD_OP_norm_back, layer, map->out),
        .d_x = run->d_own[map->in],
        .d_gain = txd_gradient_of(run, map->gain),
        .d_bias = txd_gradient_of(run, map->bias),
        .d_out = run->d_own[map->out],
        .x = run->value[map->in],
        .gain = map->gain,
        .rows = run->batch * run->length,
        .width = c->d_model,
        .sequence = run->length,
        .eps = c->layers[layer < 0 ? (int)c->n_layers - 1 : layer].norm_eps,
        .root_mean_square = c->norm == TXD_NORM_RMS,
        .add = add,
    };

    return ops->ops.norm_back(&run->ctx, &args);
}

/* Scaled back if the branch was scaled. */
txd_status txd_layer_branch_back(txd_run *run, int layer, txd_point branch,
                                 txd_point out)
{
    struct txd_layer_ops *ops = &run->layer_ops[layer];
    struct txd_scale_args args = {
        .at = txd_op_at(ops, TXD_OP_scale_back, layer, branch),
        .out = run->d_own[out],
        .x = run->d_own[branch],
        .factor = run->model->config->layers[layer].residual_scale,
        .count = run->batch * run->length * run->model->config->d_model,
    };

    if (run->own[branch] != NULL)
        return ops->ops.scale_back(&run->ctx, &args);
    memcpy(args.out, args.x, args.count * txd_dtype_bytes(run->pass.dtype));
    return TXD_OK;
}

txd_status txd_layer_residual_back(txd_run *run, int layer, txd_point out,
                                   txd_point branch, txd_point stream)
{
    struct txd_layer_ops *ops = &run->layer_ops[layer];
    struct txd_pair_back_args args = {
        .at = txd_op_at(ops, TXD_OP_add_back, layer, out),
        .d_a = run->d_own[stream],
        .d_b = run->d_own[branch],
        .d_out = run->d_own[out],
        .a = run->value[stream],
        .b = run->value[branch],
        .count = run->batch * run->length * run->model->config->d_model,
    };

    return ops->ops.add_back(&run->ctx, &args);
}
