/* SPDX-License-Identifier: MIT
 *
 * Fault: the backward pass of the softmax takes the weights for its whole derivative,
 * as if they did not have to sum to 1.
 */
#include <math.h>

#include "faults/wrap.h"

static txd_status row(txd_ctx *ctx, const struct txd_softmax_back_args *args)
{
    const txd_op_site *at = &args->at;
    bool empty = isinf(args->max[0]) && args->max[0] < 0;

    (void)ctx;
    for (size_t j = 0; j < args->keys; j++) {
        bool inside = j >= args->begin && j < args->end && !empty;
        double d = inside ? txd_wrap_get(at, args->weights, j) *
                                txd_wrap_get(at, args->d_out, j)
                          : 0;

        txd_wrap_set(at, args->d_masked, j, d);
    }
    return TXD_OK;
}

static txd_status softmax_back(txd_ctx *ctx, const struct txd_softmax_back_args *args)
{
    return txd_wrap_softmax_back(ctx, args, row);
}

static txd_status plant(txd_plan *plan, const txd_fault_use *use)
{
    static const struct txd_ops mine = {.softmax_back = softmax_back};

    return txd_plan_replace(plan, use, &mine);
}

const txd_fault txd_fault_softmax_jacobian_wrong = {
    .name = "softmax_jacobian_wrong",
    .sentence = "the softmax's backward pass leaves out the mean over the row",
    .symptom =
        "forward is right; gradients of scores do not sum to 0 over the row, and "
        "q and k drift",
    .example =
        "wrong: d_scores = weights * d_weights\n"
        "right: d_scores = weights * (d_weights - (d_weights * weights).sum(-1))",
    .selectors = TXD_FAULT_TILES,
    .inapplicable = txd_fault_needs_backward,
    .plant = plant,
};
