/* SPDX-License-Identifier: MIT
 *
 * Fault: what the attention makes is not added to the stream.
 */
#include <string.h>

#include "faults/wrap.h"

static txd_status add(txd_ctx *ctx, const struct txd_pair_args *args)
{
    if (args->at.point != TXD_POINT_RESID_MID)
        return txd_below_add(ctx, args);
    memmove(args->out, args->a, txd_wrap_bytes(&args->at, args->count));
    return TXD_OK;
}

static txd_status add_back(txd_ctx *ctx, const struct txd_pair_back_args *args)
{
    size_t bytes = txd_wrap_bytes(&args->at, args->count);

    if (args->at.point != TXD_POINT_RESID_MID)
        return txd_below_add_back(ctx, args);
    if (args->d_a != NULL)
        memmove(args->d_a, args->d_out, bytes);
    if (args->d_b != NULL)
        memset(args->d_b, 0, bytes);
    return TXD_OK;
}

static const char *inapplicable(const txd_fault_scene *scene)
{
    return scene->claimed->parallel
               ? "needs a residual sum of the attention: parallel blocks have one for "
                 "both branches"
               : NULL;
}

static txd_status plant(txd_plan *plan, const txd_fault_use *use)
{
    static const struct txd_ops mine = {.add = add, .add_back = add_back};

    return txd_plan_wrap(plan, use, &mine, NULL);
}

const txd_fault txd_fault_attention_dropped = {
    .name = "attention_dropped",
    .sentence = "what the attention makes is not added to the residual stream",
    .symptom = "the layer sees each token alone; gradients of its attention are 0",
    .example = "wrong: h = attn(norm(x)); x = x + mlp(norm(x))\n"
               "right: x = x + attn(norm(x)); x = x + mlp(norm(x))",
    .selectors = TXD_FAULT_LAYERS,
    .inapplicable = inapplicable,
    .plant = plant,
};
