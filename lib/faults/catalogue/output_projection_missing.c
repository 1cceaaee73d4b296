/* SPDX-License-Identifier: MIT
 *
 * Fault: the merged heads leave the attention as they are, without W_o.
 */
#include <string.h>

#include "faults/wrap.h"

static txd_status linear(txd_ctx *ctx, const struct txd_linear_args *args)
{
    if (args->at.point != TXD_POINT_ATTN_OUT)
        return txd_below_linear(ctx, args);
    memcpy(args->out, args->x, txd_wrap_bytes(&args->at, args->rows * args->n));
    return TXD_OK;
}

/* W_o and its bias are not reached by anything. */
static txd_status linear_back(txd_ctx *ctx, const struct txd_linear_back_args *args)
{
    size_t count = args->rows * args->k;

    if (args->at.point != TXD_POINT_ATTN_OUT)
        return txd_below_linear_back(ctx, args);
    for (size_t i = 0; args->d_x != NULL && i < count; i++)
        txd_wrap_set(&args->at, args->d_x, i,
                     (args->add ? txd_wrap_get(&args->at, args->d_x, i) : 0) +
                         txd_wrap_get(&args->at, args->d_out, i));
    return TXD_OK;
}

static const char *inapplicable(const txd_fault_scene *scene)
{
    const txd_config *c = scene->claimed;

    return c->n_heads * c->value_dim == c->d_model
               ? NULL
               : "needs merged heads as wide as the model: heads x value_dim = d_model";
}

static txd_status plant(txd_plan *plan, const txd_fault_use *use)
{
    static const struct txd_ops mine = {.linear = linear, .linear_back = linear_back};

    return txd_plan_wrap(plan, use, &mine, NULL);
}

const txd_fault txd_fault_output_projection_missing = {
    .name = "output_projection_missing",
    .sentence = "the merged heads are the attention's output, without W_o",
    .symptom = "the model trains, but heads cannot be mixed; a checkpoint of the right "
               "model gives nonsense",
    .example = "wrong: return merge_heads(weights @ v)\n"
               "right: return w_o(merge_heads(weights @ v))",
    .selectors = TXD_FAULT_LAYERS,
    .inapplicable = inapplicable,
    .plant = plant,
};
