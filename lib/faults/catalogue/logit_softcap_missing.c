/* SPDX-License-Identifier: MIT
 *
 * Fault: logits are not capped.
 */
#include <string.h>

#include "faults/wrap.h"

static txd_status softcap(txd_ctx *ctx, const struct txd_softcap_args *args)
{
    const txd_op_site *at = &args->at;

    if (at->point != TXD_POINT_LOGITS)
        return txd_below_softcap(ctx, args);
    for (size_t r = 0; r < args->rows; r++) {
        size_t start = txd_wrap_bytes(at, r * args->stride);

        memmove((char *)args->out + start, (const char *)args->x + start,
                txd_wrap_bytes(at, args->width));
    }
    return TXD_OK;
}

static txd_status softcap_back(txd_ctx *ctx, const struct txd_softcap_back_args *args)
{
    const txd_op_site *at = &args->at;

    if (at->point != TXD_POINT_LOGITS)
        return txd_below_softcap_back(ctx, args);
    for (size_t r = 0; r < args->rows; r++) {
        size_t start = txd_wrap_bytes(at, r * args->stride);

        memmove((char *)args->d_x + start, (const char *)args->d_out + start,
                txd_wrap_bytes(at, args->width));
    }
    return TXD_OK;
}

static const char *inapplicable(const txd_fault_scene *scene)
{
    return scene->claimed->logit_softcap != 0
               ? NULL
               : "needs logit_softcap: logits are not capped here";
}

static txd_status plant(txd_plan *plan, const txd_fault_use *use)
{
    static const struct txd_ops mine = {.softcap = softcap,
                                        .softcap_back = softcap_back};

    return txd_plan_wrap_ends(plan, use, &mine, NULL);
}

const txd_fault txd_fault_logit_softcap_missing = {
    .name = "logit_softcap_missing",
    .sentence = "logits are not capped",
    .symptom = "the same ranking of tokens, but the largest logits are beyond "
               "logit_softcap: a model that is too sure",
    .example = "wrong: logits = head(x)\n"
               "right: logits = cap * tanh(head(x) / cap)",
    .inapplicable = inapplicable,
    .plant = plant,
};
