/* SPDX-License-Identifier: MIT
 *
 * The steps of the backward half that parts of a block share, and the memory in which
 * the gradients of parameters are summed.
 */
#include "model/backward.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

/* ---- sums ---- */

void *txd_gradient_of(const txd_run *run, const void *parameter)
{
    const struct txd_model *model = run->model;
    uintptr_t at = (uintptr_t)parameter;

    for (size_t i = 0; i < model->param_count; i++) {
        const struct txd_model_param *param = &model->params[i];
        uintptr_t begin = (uintptr_t)param->data;

        if (at >= begin && at - begin < param->bytes)
            return (char *)run->d_parameters + param->offset + (at - begin);
    }
    return NULL;
}

void txd_gradients_clear(txd_run *run)
{
    memset(run->d_parameters, 0, run->model->bytes);
}

/* In the dtype itself: what loss scaling saved from a narrow format must not be rounded
 * to it again. */
void txd_gradients_unscale(txd_run *run)
{
    double scale = run->pass.loss_scale;
    size_t bytes = txd_dtype_bytes(run->pass.dtype), count = run->model->bytes / bytes;

    for (size_t i = 0; scale != 1 && i < count; i++) {
        if (run->pass.dtype == TXD_F64)
            ((double *)run->d_parameters)[i] /= scale;
        else
            ((float *)run->d_parameters)[i] /= (float)scale;
    }
}

void txd_gradient_add(const txd_run *run, void *to, const void *from, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (run->pass.dtype == TXD_F64)
            ((double *)to)[i] += ((const double *)from)[i];
        else
            ((float *)to)[i] += ((const float *)from)[i];
    }
}

/* ---- steps ---- */

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

/* ---- what a run says of its gradients ---- */

txd_status txd_run_gradient(txd_tensor *out, const txd_run *run, size_t i)
{
    const struct txd_model_param *param;
    size_t dims[TXD_MAX_RANK], own;
    int rank;

    if (run->d_parameters == NULL)
        return txd_fail(TXD_ERR_MISSING, "this run has no backward half, or had no "
                                         "pass yet: there is no gradient");
    if (i >= txd_run_parameters(run))
        return txd_fail(TXD_ERR_MISSING, "there is no parameter %zu: the model has %zu",
                        i, txd_run_parameters(run));
    run = txd_run_of_parameter(&own, run, i);
    param = &run->model->params[own];
    rank = txd_param_dims(dims, run->model->config, param->id);
    *out = txd_tensor_make(run->model->backend->dtype,
                           (char *)run->d_parameters + param->offset, rank, dims);
    return TXD_OK;
}

double txd_run_gradient_norm(const txd_run *run)
{
    double squares = 0;
    txd_tensor gradient;

    if (run->d_parameters == NULL)
        return NAN;
    for (size_t i = 0; i < txd_run_parameters(run); i++) {
        if (txd_run_gradient(&gradient, run, i) != TXD_OK)
            return NAN;
        for (size_t e = 0; e < txd_tensor_count(&gradient); e++) {
            double g = txd_tensor_get(&gradient, e);

            squares += g * g;
        }
    }
    return sqrt(squares);
}
