/* SPDX-License-Identifier: MIT
 *
 * The MLP of a block, forward and backward: down(act(up x)), or down(act(gate x) * up
 * x).
 */
#include "model/backward.h"

static txd_sublayer sublayer_of(const txd_run *run)
{
    return txd_sublayer_of(run->model->config, TXD_SUBLAYER_MLP);
}

/* The map that makes `out`: mlp.gate, mlp.up or mlp.out. */
static struct txd_linear_map map_of(const txd_run *run, int layer, txd_point out)
{
    const txd_config *c = run->model->config;
    const struct txd_layer_weights *w = &run->model->layers[layer];
    struct txd_linear_map map = {.out = out, .n = c->d_ff, .k = c->d_model};

    map.x = run->value[sublayer_of(run).input];
    if (out == TXD_POINT_MLP_GATE) {
        map.weight = w->gate;
        map.bias = w->gate_bias;
    } else if (out == TXD_POINT_MLP_UP) {
        map.weight = w->up;
        map.bias = w->up_bias;
    } else {
        map.x = run->value[TXD_POINT_MLP_ACT];
        map.weight = w->down;
        map.bias = w->down_bias;
        map.n = c->d_model;
        map.k = c->d_ff;
    }
    return map;
}

static txd_status linear(txd_run *run, int layer, txd_point out)
{
    struct txd_linear_map map = map_of(run, layer, out);

    return txd_layer_linear(run, layer, &map);
}

static txd_status linear_back(txd_run *run, int layer, txd_point out, txd_point in)
{
    struct txd_linear_back back = {map_of(run, layer, out), run->d_own[out],
                                   run->d_own[in], txd_gradient_begun(run, in)};

    return txd_layer_linear_back(run, layer, &back);
}

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

static txd_status activate_back(txd_run *run, int layer, txd_point out, txd_point in)
{
    struct txd_layer_ops *ops = &run->layer_ops[layer];
    struct txd_activate_back_args args = {
        .at = txd_op_at(ops, TXD_OP_activate_back, layer, out),
        .d_x = run->d_own[in],
        .d_out = run->d_own[out],
        .x = run->value[in],
        .count = run->batch * run->length * run->model->config->d_ff,
        .kind = (int)run->model->config->activation,
    };

    return ops->ops.activate_back(&run->ctx, &args);
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

static txd_status multiply_back(txd_run *run, int layer)
{
    struct txd_layer_ops *ops = &run->layer_ops[layer];
    struct txd_pair_back_args args = {
        .at = txd_op_at(ops, TXD_OP_multiply_back, layer, TXD_POINT_MLP_ACT),
        .d_a = run->d_own[TXD_POINT_MLP_GATE_ACT],
        .d_b = run->d_own[TXD_POINT_MLP_UP],
        .d_out = run->d_own[TXD_POINT_MLP_ACT],
        .a = run->value[TXD_POINT_MLP_GATE_ACT],
        .b = run->value[TXD_POINT_MLP_UP],
        .count = run->batch * run->length * run->model->config->d_ff,
    };

    return ops->ops.multiply_back(&run->ctx, &args);
}

static txd_status inner(txd_run *run, int layer)
{
    if (!run->model->config->gated) {
        TXD_TRY(linear(run, layer, TXD_POINT_MLP_UP));
        return activate(run, layer, TXD_POINT_MLP_ACT, TXD_POINT_MLP_UP);
    }
    TXD_TRY(linear(run, layer, TXD_POINT_MLP_GATE));
    TXD_TRY(activate(run, layer, TXD_POINT_MLP_GATE_ACT, TXD_POINT_MLP_GATE));
    TXD_TRY(linear(run, layer, TXD_POINT_MLP_UP));
    return multiply(run, layer);
}

/* From mlp.act to what the MLP reads. */
static txd_status inner_back(txd_run *run, int layer)
{
    txd_point input = sublayer_of(run).input;

    if (!run->model->config->gated) {
        TXD_TRY(activate_back(run, layer, TXD_POINT_MLP_ACT, TXD_POINT_MLP_UP));
        TXD_TRY(txd_taps_offer_gradient(run, TXD_POINT_MLP_UP, layer));
        return linear_back(run, layer, TXD_POINT_MLP_UP, input);
    }
    TXD_TRY(multiply_back(run, layer));
    TXD_TRY(txd_taps_offer_gradient(run, TXD_POINT_MLP_UP, layer));
    TXD_TRY(linear_back(run, layer, TXD_POINT_MLP_UP, input));
    TXD_TRY(txd_taps_offer_gradient(run, TXD_POINT_MLP_GATE_ACT, layer));
    TXD_TRY(activate_back(run, layer, TXD_POINT_MLP_GATE_ACT, TXD_POINT_MLP_GATE));
    TXD_TRY(txd_taps_offer_gradient(run, TXD_POINT_MLP_GATE, layer));
    return linear_back(run, layer, TXD_POINT_MLP_GATE, input);
}

txd_status txd_mlp_forward(txd_run *run, int layer)
{
    txd_sublayer part = sublayer_of(run);

    TXD_TRY(txd_layer_norm(run, layer, part.before));
    TXD_TRY(inner(run, layer));
    TXD_TRY(linear(run, layer, part.out));
    return txd_layer_join(run, layer, &part);
}

txd_status txd_mlp_again(txd_run *run, int layer)
{
    txd_sublayer part = sublayer_of(run);

    if (txd_run_makes_again(run, part.before, layer))
        TXD_TRY(txd_layer_norm(run, layer, part.before));
    if (txd_run_makes_again(run, TXD_POINT_MLP_GATE_ACT, layer))
        TXD_TRY(activate(run, layer, TXD_POINT_MLP_GATE_ACT, TXD_POINT_MLP_GATE));
    if (!txd_run_makes_again(run, TXD_POINT_MLP_ACT, layer))
        return TXD_OK;
    return run->model->config->gated
               ? multiply(run, layer)
               : activate(run, layer, TXD_POINT_MLP_ACT, TXD_POINT_MLP_UP);
}

txd_status txd_mlp_backward(txd_run *run, int layer)
{
    txd_sublayer part = sublayer_of(run);

    TXD_TRY(txd_layer_join_back(run, layer, &part));
    TXD_TRY(linear_back(run, layer, part.out, TXD_POINT_MLP_ACT));
    TXD_TRY(txd_taps_offer_gradient(run, TXD_POINT_MLP_ACT, layer));
    TXD_TRY(inner_back(run, layer));
    return txd_layer_norm_back(run, layer, part.before);
}
