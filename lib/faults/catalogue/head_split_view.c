/* SPDX-License-Identifier: MIT
 *
 * Fault: the projections (b, t, h e) are reshaped to (b, h, t, e) without a transpose:
 * memory stays as it is, and heads get the lanes of other tokens.
 */
#include <string.h>

#include "faults/wrap.h"

static txd_status split(txd_ctx *ctx, const struct txd_heads_args *args)
{
    (void)ctx;
    memcpy(args->out, args->x,
           txd_wrap_bytes(&args->at,
                          args->batch * args->length * args->heads * args->width));
    return TXD_OK;
}

static txd_status plant(txd_plan *plan, const txd_fault_use *use)
{
    static const struct txd_ops mine = {.split_heads = split,
                                        .split_heads_back = split};

    return txd_plan_replace(plan, use, &mine);
}

const txd_fault txd_fault_head_split_view = {
    .name = "head_split_view",
    .sentence = "q, k and v are split in heads by a reshape without the transpose",
    .symptom = "each head mixes lanes of several tokens: the future leaks through a "
               "right mask; with one head nothing is wrong",
    .example = "wrong: q.view(b, h, t, e)\n"
               "right: q.view(b, t, h, e).transpose(1, 2)",
    .selectors = TXD_FAULT_LAYERS,
    .inapplicable = txd_fault_needs_heads,
    .idle = txd_fault_idle_at_one_token,
    .plant = plant,
};
