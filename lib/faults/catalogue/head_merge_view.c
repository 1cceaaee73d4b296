/* SPDX-License-Identifier: MIT
 *
 * Fault: the heads (b, h, t, f) are reshaped to (b, t, h f) without a transpose: memory
 * stays as it is, and tokens get the lanes of other tokens.
 */
#include <string.h>

#include "faults/wrap.h"

static txd_status merge(txd_ctx *ctx, const struct txd_heads_args *args)
{
    (void)ctx;
    memcpy(args->out, args->x,
           txd_wrap_bytes(&args->at,
                          args->batch * args->length * args->heads * args->width));
    return TXD_OK;
}

static txd_status plant(txd_plan *plan, const txd_fault_use *use)
{
    static const struct txd_ops mine = {.merge_heads = merge,
                                        .merge_heads_back = merge};

    return txd_plan_replace(plan, use, &mine);
}

const txd_fault txd_fault_head_merge_view = {
    .name = "head_merge_view",
    .sentence = "the heads are merged by a reshape without the transpose",
    .symptom =
        "right attention weights, wrong outputs: tokens get what others attended "
        "to; simple tasks still train",
    .example = "wrong: heads.reshape(b, t, h * f)\n"
               "right: heads.transpose(1, 2).reshape(b, t, h * f)",
    .selectors = TXD_FAULT_LAYERS,
    .inapplicable = txd_fault_needs_heads,
    .idle = txd_fault_idle_at_one_token,
    .plant = plant,
};
