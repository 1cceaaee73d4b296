/* SPDX-License-Identifier: MIT
 *
 * The linear maps of the MLP are what their parameters make of what they read: gate and
 * up of the MLP's input, down of the activation; recomputed in double from the actual
 * parameters.
 *
 * What is sampled and how far rounding can lead stands in checks/products/projection.h
 * and .c.
 */
#include "checks/products/projection.h"

static void add(txd_projections *p, const txd_projection *map)
{
    txd_projection added = *map;

    added.heads = 1;
    if (!p->claimed->mlp_bias)
        added.bias = TXD_PARAM_COUNT;
    txd_projections_add(p, &added);
}

static txd_status create(void **out, txd_tap *tap, const txd_check_context *context)
{
    const txd_config *c = context->claimed;
    txd_point in = txd_sublayer_of(c, TXD_SUBLAYER_MLP).input;
    txd_projections maps = {.law = "mlp_linear", .claimed = c};
    const txd_projection gate = {.out = TXD_POINT_MLP_GATE,
                                 .in = in,
                                 .weight = TXD_PARAM_GATE_WEIGHT,
                                 .bias = TXD_PARAM_GATE_BIAS,
                                 .width = c->d_ff,
                                 .columns = c->d_model,
                                 .letter = "gate"};
    txd_projection up = gate, down = gate;

    up.out = TXD_POINT_MLP_UP;
    up.weight = TXD_PARAM_UP_WEIGHT;
    up.bias = TXD_PARAM_UP_BIAS;
    up.letter = "up";
    down.out = TXD_POINT_MLP_OUT;
    down.in = TXD_POINT_MLP_ACT;
    down.weight = TXD_PARAM_DOWN_WEIGHT;
    down.bias = TXD_PARAM_DOWN_BIAS;
    down.width = c->d_model;
    down.columns = c->d_ff;
    down.letter = "down";
    if (c->gated)
        add(&maps, &gate);
    add(&maps, &up);
    add(&maps, &down);
    return txd_projections_create(out, tap, &maps);
}

const txd_check txd_check_mlp_linear = {
    .name = "mlp_linear",
    .law =
        "gate, up and down of the MLP are what their matrices make of what they read, "
        "and the biases",
    .formula =
        "mlp.up = W_up x + bias, x what the MLP reads (norm2.out), mlp.gate alike; "
        "mlp.out = W_down mlp.act + bias; within (gamma_{n+1}(u_acc) + "
        "gamma_{n+2}(2^-53) + u_store) |W||x| + u_store |y|, n columns",
    .causes =
        "a matrix stored (in, out) that is read as (out, in), which the shape of a "
        "square one does not show; biases that are not loaded; gate and up taken "
        "for each other",
    .look_next = "the layout of mlp.up.weight and mlp.down.weight in the checkpoint "
                 "(Conv1D or Linear), and which biases were read",
    .unit = "values",
    .exact = true,
    .faults = (const char *const[]){"weight_transposed", "bias_dropped", NULL},
    .needs =
        (const struct txd_check_need[]){
            {TXD_POINT_COUNT, TXD_ASK_VALUE | TXD_ASK_STATS}, {TXD_POINT_COUNT, 1}},
    .create = create,
    .finish = txd_projections_finish,
    .destroy = txd_projections_destroy,
};
