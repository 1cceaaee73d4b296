/* SPDX-License-Identifier: MIT
 *
 * Fault: a block's output replaces the residual stream instead of being added to it.
 */
#include <string.h>

#include "faults/wrap.h"

static txd_status add(txd_ctx *ctx, const struct txd_pair_args *args)
{
    if (!txd_wrap_is_residual(&args->at))
        return txd_below_add(ctx, args);
    memmove(args->out, args->b, txd_wrap_bytes(&args->at, args->count));
    return TXD_OK;
}

static txd_status add_back(txd_ctx *ctx, const struct txd_pair_back_args *args)
{
    size_t bytes = txd_wrap_bytes(&args->at, args->count);

    if (!txd_wrap_is_residual(&args->at))
        return txd_below_add_back(ctx, args);
    if (args->d_b != NULL)
        memmove(args->d_b, args->d_out, bytes);
    if (args->d_a != NULL)
        memset(args->d_a, 0, bytes);
    return TXD_OK;
}

static txd_status plant(txd_plan *plan, const txd_fault_use *use)
{
    static const struct txd_ops mine = {.add = add, .add_back = add_back};

    return txd_plan_replace(plan, use, &mine);
}

const txd_fault txd_fault_residual_missing = {
    .name = "residual_missing",
    .sentence = "attention and MLP replace the residual stream instead of adding to it",
    .symptom = "deep stacks do not train, gradients of early layers vanish",
    .example = "wrong: x = attn(norm(x))\n"
               "right: x = x + attn(norm(x))",
    .selectors = TXD_FAULT_LAYERS,
    .plant = plant,
};
