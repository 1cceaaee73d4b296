/* SPDX-License-Identifier: MIT
 *
 * Fault: queries and keys are not normalised, where the model does that. The gains are
 * not reached by anything.
 */
#include <string.h>

#include "faults/wrap.h"

static bool is_qk_norm(const txd_op_site *at)
{
    return at->point >= 0 && at->point < TXD_POINT_COUNT &&
           txd_point_is_qk_norm((txd_point)at->point);
}

static txd_status norm(txd_ctx *ctx, const struct txd_norm_args *args)
{
    if (!is_qk_norm(&args->at))
        return txd_below_norm(ctx, args);
    memcpy(args->out, args->x, txd_wrap_bytes(&args->at, args->rows * args->width));
    return TXD_OK;
}

static txd_status norm_back(txd_ctx *ctx, const struct txd_norm_back_args *args)
{
    size_t count = args->rows * args->width;

    if (!is_qk_norm(&args->at))
        return txd_below_norm_back(ctx, args);
    for (size_t i = 0; args->d_x != NULL && i < count; i++)
        txd_wrap_set(&args->at, args->d_x, i,
                     (args->add ? txd_wrap_get(&args->at, args->d_x, i) : 0) +
                         txd_wrap_get(&args->at, args->d_out, i));
    return TXD_OK;
}

static txd_status plant(txd_plan *plan, const txd_fault_use *use)
{
    static const struct txd_ops mine = {.norm = norm, .norm_back = norm_back};

    return txd_plan_wrap(plan, use, &mine, NULL);
}

static const char *inapplicable(const txd_fault_scene *scene)
{
    return scene->claimed->qk_norm != TXD_QK_NORM_NONE
               ? NULL
               : "needs norms of queries and keys (model.qk_norm)";
}

const txd_fault txd_fault_qk_norm_missing = {
    .name = "qk_norm_missing",
    .sentence = "queries and keys are not normalised before they meet",
    .symptom = "scores far from those of the checkpoint, the attention nearly uniform "
               "or one-hot; the layers' other norms hide it from the stream",
    .example = "wrong: q, k = rope(w_q(x)), rope(w_k(x))\n"
               "right: q, k = rope(q_norm(w_q(x))), rope(k_norm(w_k(x)))",
    .selectors = TXD_FAULT_LAYERS,
    .inapplicable = inapplicable,
    .plant = plant,
};
