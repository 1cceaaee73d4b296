/* SPDX-License-Identifier: MIT
 *
 * Fault: a block's output replaces the residual stream instead of being added to it.
 */
#include <string.h>

#include "faults/wrap.h"

static bool is_residual(const txd_op_site *at)
{
    return at->point == TXD_POINT_RESID_MID || at->point == TXD_POINT_RESID_POST;
}

static txd_status add(txd_ctx *ctx, const struct txd_pair_args *args)
{
    if (!is_residual(&args->at))
        return txd_below_add(ctx, args);
    memcpy(args->out, args->b, txd_wrap_bytes(&args->at, args->count));
    return TXD_OK;
}

static txd_status add_back(txd_ctx *ctx, const struct txd_pair_back_args *args)
{
    size_t bytes = txd_wrap_bytes(&args->at, args->count);

    if (!is_residual(&args->at))
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

    return txd_plan_wrap(plan, use, &mine, NULL);
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
