/* SPDX-License-Identifier: MIT
 *
 * The steps of the backward half that parts of a block share.
 */
#include "model/backward.h"

#include <string.h>

txd_status txd_layer_linear_back(txd_run *run, int layer,
                                 const struct txd_linear_back *back)
{
    struct txd_layer_ops *ops = txd_run_ops(run, layer);
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

bool txd_gradient_begun(txd_run *run, txd_point point)
{
    bool begun = run->begun[point];

    run->begun[point] = true;
    return begun;
}

txd_status txd_layer_norm_back(txd_run *run, int layer, txd_point norm)
{
    const txd_config *c = run->model->config;
    struct txd_layer_ops *ops = txd_run_ops(run, layer);
    txd_point in = txd_input_of_norm(c, norm);
    struct txd_norm_args there;
    struct txd_norm_back_args args;

    if (norm == TXD_POINT_COUNT)
        return TXD_OK;
    TXD_TRY(txd_taps_offer_gradient(run, norm, layer));
    there = txd_norm_here(run, layer, norm);
    args = (struct txd_norm_back_args){
        .at = txd_op_at(ops, TXD_OP_norm_back, layer, norm),
        .d_x = run->d_own[in],
        .d_gain = txd_gradient_of(run, there.gain),
        .d_bias = txd_gradient_of(run, there.bias),
        .d_out = run->d_own[norm],
        .x = there.x,
        .gain = there.gain,
        .rows = there.rows,
        .width = there.width,
        .sequence = there.sequence,
        .eps = there.eps,
        .offset = there.offset,
        .root_mean_square = there.root_mean_square,
        .add = txd_gradient_begun(run, in),
    };
    return ops->ops.norm_back(&run->ctx, &args);
}

/* Scaled back if the branch was scaled. */
static txd_status branch_back(txd_run *run, int layer, const txd_sublayer *part)
{
    struct txd_layer_ops *ops = &run->layer_ops[layer];
    txd_point out = part->over == TXD_POINT_COUNT ? part->out : part->over;
    struct txd_scale_args args = {
        .at = txd_op_at(ops, TXD_OP_scale_back, layer, part->branch),
        .out = run->d_own[out],
        .x = run->d_own[part->branch],
        .factor = run->model->config->layers[layer].residual_scale,
        .count = run->batch * run->length * run->model->config->d_model,
    };

    TXD_TRY(txd_taps_offer_gradient(run, part->branch, layer));
    if (run->own[part->branch] != NULL)
        return ops->ops.scale_back(&run->ctx, &args);
    return txd_run_copy(run, args.out, args.x, args.count);
}

/* The sum is the first to reach the stream's gradient. */
static txd_status sum_back(txd_run *run, int layer, const txd_sublayer *part)
{
    struct txd_layer_ops *ops = &run->layer_ops[layer];
    struct txd_pair_back_args args = {
        .at = txd_op_at(ops, TXD_OP_add_back, layer, part->sum),
        .d_a = run->d_own[part->stream],
        .d_b = run->d_own[part->branch],
        .d_out = run->d_own[part->sum],
        .a = run->value[part->stream],
        .b = run->value[part->branch],
        .count = run->batch * run->length * run->model->config->d_model,
    };

    TXD_TRY(txd_taps_offer_gradient(run, part->sum, layer));
    (void)txd_gradient_begun(run, part->stream);
    TXD_TRY(ops->ops.add_back(&run->ctx, &args));
    if (part->beside == TXD_POINT_COUNT)
        return TXD_OK;
    args.at.point = TXD_POINT_COUNT;
    args.d_out = args.d_b;
    args.a = run->value[part->beside];
    args.d_a = run->d_own[part->beside];
    return ops->ops.add_back(&run->ctx, &args);
}

txd_status txd_layer_join_back(txd_run *run, int layer, const txd_sublayer *part)
{
    TXD_TRY(txd_layer_norm_back(run, layer, part->after));
    if (part->sum != TXD_POINT_COUNT)
        TXD_TRY(sum_back(run, layer, part));
    TXD_TRY(branch_back(run, layer, part));
    TXD_TRY(txd_layer_norm_back(run, layer, part->over));
    return txd_taps_offer_gradient(run, part->out, layer);
}
