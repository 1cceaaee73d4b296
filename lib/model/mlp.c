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
    struct txd_linear_map gate = {TXD_POINT_MLP_GATE, NULL,    x,         w->gate,
                                  w->gate_bias,       c->d_ff, c->d_model};
    struct txd_linear_map up = {TXD_POINT_MLP_UP, NULL,    x,         w->up,
                                w->up_bias,       c->d_ff, c->d_model};

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
    txd_point input = pre ? TXD_POINT_NORM2_OUT : TXD_POINT_NORM1_OUT;
    struct txd_linear_map down = {TXD_POINT_MLP_OUT, NULL,       NULL,   w->down,
                                  w->down_bias,      c->d_model, c->d_ff};

    if (pre)
        TXD_TRY(txd_layer_norm(run, layer, TXD_POINT_NORM2_OUT, TXD_POINT_RESID_MID));
    TXD_TRY(inner(run, layer, run->value[input]));
    down.x = run->value[TXD_POINT_MLP_ACT];
    TXD_TRY(txd_layer_linear(run, layer, &down));
    TXD_TRY(txd_layer_branch(run, layer, TXD_POINT_MLP_BRANCH, TXD_POINT_MLP_OUT));
    TXD_TRY(txd_layer_residual(run, layer, TXD_POINT_RESID_POST, TXD_POINT_MLP_BRANCH,
                               pre ? TXD_POINT_RESID_MID : TXD_POINT_NORM1_OUT));
    if (!pre)
        TXD_TRY(txd_layer_norm(run, layer, TXD_POINT_NORM2_OUT, TXD_POINT_RESID_POST));
    return TXD_OK;
}
