/* SPDX-License-Identifier: MIT
 *
 * The MLP of a block, forward: down(act(up x)), or down(act(gate x) * up x).
 */
#include "model/run_private.h"

static txd_status activate(txd_run *run, int layer, txd_point out, txd_point in)
{
    struct txd_layer_ops *ops = &run->layer_ops[layer];
    struct txd_activate_args args = {
        .at = txd_op_at(ops, TXD_OP_activate, layer, out),
        .out = run->own[out],
        .x = run->value[in],
        .count = run->batch * run->length * run->model->config->d_ff,
        .kind = (int)run->model->config->activation,
    };

    TXD_TRY(ops->ops.activate(&run->ctx, &args));
    run->value[out] = run->own[out];
    return txd_taps_offer(run, out, layer);
}

static txd_status multiply(txd_run *run, int layer)
{
    struct txd_layer_ops *ops = &run->layer_ops[layer];
    struct txd_pair_args args = {
        .at = txd_op_at(ops, TXD_OP_multiply, layer, TXD_POINT_MLP_ACT),
        .out = run->own[TXD_POINT_MLP_ACT],
        .a = run->value[TXD_POINT_MLP_GATE_ACT],
        .b = run->value[TXD_POINT_MLP_UP],
        .count = run->batch * run->length * run->model->config->d_ff,
    };

    TXD_TRY(ops->ops.multiply(&run->ctx, &args));
    run->value[TXD_POINT_MLP_ACT] = run->own[TXD_POINT_MLP_ACT];
    return txd_taps_offer(run, TXD_POINT_MLP_ACT, layer);
}

static txd_status inner(txd_run *run, int layer, const void *x)
{
    const txd_config *c = run->model->config;
    const struct txd_layer_weights *w = &run->model->layers[layer];
    struct txd_linear_map gate = {.out = TXD_POINT_MLP_GATE,
                                  .x = x,
                                  .weight = w->gate,
                                  .bias = w->gate_bias,
                                  .n = c->d_ff,
                                  .k = c->d_model};
    struct txd_linear_map up = {.out = TXD_POINT_MLP_UP,
                                .x = x,
                                .weight = w->up,
                                .bias = w->up_bias,
                                .n = c->d_ff,
                                .k = c->d_model};

    if (!c->gated) {
        TXD_TRY(txd_layer_linear(run, layer, &up));
        return activate(run, layer, TXD_POINT_MLP_ACT, TXD_POINT_MLP_UP);
    }
    TXD_TRY(txd_layer_linear(run, layer, &gate));
    TXD_TRY(activate(run, layer, TXD_POINT_MLP_GATE_ACT, TXD_POINT_MLP_GATE));
    TXD_TRY(txd_layer_linear(run, layer, &up));
    return multiply(run, layer);
}

txd_status txd_mlp_forward(txd_run *run, int layer)
{
    const txd_config *c = run->model->config;
    const struct txd_layer_weights *w = &run->model->layers[layer];
    bool pre = c->norm_placement == TXD_PLACEMENT_PRE;
    txd_point stream = txd_stream_into_mlp(c);
    txd_point input = pre ? TXD_POINT_NORM2_OUT : stream;
    struct txd_norm_map norm = {TXD_POINT_NORM2_OUT,
                                pre ? stream : TXD_POINT_RESID_POST, w->norm2_gain,
                                w->norm2_bias};
    struct txd_linear_map down = {.out = TXD_POINT_MLP_OUT,
                                  .weight = w->down,
                                  .bias = w->down_bias,
                                  .n = c->d_model,
                                  .k = c->d_ff};

    if (pre)
        TXD_TRY(txd_layer_norm(run, layer, &norm));
    TXD_TRY(inner(run, layer, run->value[input]));
    down.x = run->value[TXD_POINT_MLP_ACT];
    TXD_TRY(txd_layer_linear(run, layer, &down));
    TXD_TRY(txd_layer_branch(run, layer, TXD_POINT_MLP_BRANCH, TXD_POINT_MLP_OUT));
    TXD_TRY(txd_layer_residual(run, layer, TXD_POINT_RESID_POST, TXD_POINT_MLP_BRANCH,
                               stream));
    return pre ? TXD_OK : txd_layer_norm(run, layer, &norm);
}
