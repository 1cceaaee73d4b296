/* SPDX-License-Identifier: MIT
 *
 * Fault: the branches are cut off from the gradient: forward is right, the layer's own
 * parameters never learn.
 */
#include <string.h>

#include "faults/wrap.h"

static txd_status add_back(txd_ctx *ctx, const struct txd_pair_back_args *args)
{
    TXD_TRY(txd_below_add_back(ctx, args));
    if (txd_wrap_is_residual(&args->at) && args->d_b != NULL)
        memset(args->d_b, 0, txd_wrap_bytes(&args->at, args->count));
    return TXD_OK;
}

static txd_status plant(txd_plan *plan, const txd_fault_use *use)
{
    static const struct txd_ops mine = {.add_back = add_back};

    return txd_plan_wrap(plan, use, &mine, NULL);
}

const txd_fault txd_fault_grad_zeroed = {
    .name = "grad_zeroed",
    .sentence = "the branches are detached: no gradient reaches attention and MLP",
    .symptom = "the gradient of the layer's parameters is exactly 0; the loss falls, "
               "but not as far as it should",
    .example = "wrong: x = x + attn(norm(x)).detach()\n"
               "right: x = x + attn(norm(x))",
    .selectors = TXD_FAULT_LAYERS,
    .inapplicable = txd_fault_needs_backward,
    .plant = plant,
};
