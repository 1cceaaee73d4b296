/* SPDX-License-Identifier: MIT
 *
 * Fault: heads give nothing: the buffer that their weighted sums go to is never
 * written.
 */
#include <string.h>

#include "faults/wrap.h"

static txd_status mix(txd_ctx *ctx, const struct txd_mix_args *args)
{
    if (!txd_wrap_has_tile(&args->at))
        return txd_below_mix(ctx, args);
    memset(args->out, 0, txd_wrap_bytes(&args->at, args->rows * args->width));
    return TXD_OK;
}

/* What is not read has no gradient; that of the values stays as it is. */
static txd_status mix_back(txd_ctx *ctx, const struct txd_mix_back_args *args)
{
    if (!txd_wrap_has_tile(&args->at))
        return txd_below_mix_back(ctx, args);
    for (size_t r = 0; args->d_weights != NULL && r < args->rows; r++)
        memset((char *)args->d_weights + txd_wrap_bytes(&args->at, r * args->stride), 0,
               txd_wrap_bytes(&args->at, args->keys));
    return TXD_OK;
}

static txd_status plant(txd_plan *plan, const txd_fault_use *use)
{
    static const struct txd_ops mine = {.mix = mix, .mix_back = mix_back};

    return txd_plan_wrap(plan, use, &mine, NULL);
}

const txd_fault txd_fault_head_dead = {
    .name = "head_dead",
    .sentence = "heads give exactly 0: what they have gathered is never written",
    .symptom = "the model trains, with fewer heads than it pays for",
    .example = "wrong: out = torch.zeros_like(q)  # and only some heads are filled\n"
               "right: out = weights @ v",
    .selectors = TXD_FAULT_LAYERS | TXD_FAULT_HEADS,
    .plant = plant,
};
