/* SPDX-License-Identifier: MIT
 *
 * Fault: the head reads what the last block leaves, as it is.
 */
#include <string.h>

#include "faults/wrap.h"

static txd_status norm(txd_ctx *ctx, const struct txd_norm_args *args)
{
    if (args->at.point != TXD_POINT_FINAL_NORM)
        return txd_below_norm(ctx, args);
    memmove(args->out, args->x, txd_wrap_bytes(&args->at, args->rows * args->width));
    return TXD_OK;
}

static txd_status norm_back(txd_ctx *ctx, const struct txd_norm_back_args *args)
{
    const txd_op_site *at = &args->at;

    if (at->point != TXD_POINT_FINAL_NORM)
        return txd_below_norm_back(ctx, args);
    for (size_t i = 0; args->d_x != NULL && i < args->rows * args->width; i++)
        txd_wrap_set(at, args->d_x, i,
                     (args->add ? txd_wrap_get(at, args->d_x, i) : 0) +
                         txd_wrap_get(at, args->d_out, i));
    return TXD_OK;
}

static const char *inapplicable(const txd_fault_scene *scene)
{
    return scene->claimed->final_norm ? NULL
                                      : "needs a final norm: this model has none";
}

static txd_status plant(txd_plan *plan, const txd_fault_use *use)
{
    static const struct txd_ops mine = {.norm = norm, .norm_back = norm_back};

    return txd_plan_wrap_ends(plan, use, &mine, NULL);
}

const txd_fault txd_fault_final_norm_missing = {
    .name = "final_norm_missing",
    .sentence = "there is no norm before the output head",
    .symptom =
        "the last hidden state grows with the depth, and logits with it: a model "
        "that is far too sure, or a loss that jumps when training begins",
    .example = "wrong: logits = head(x)\n"
               "right: logits = head(norm(x))",
    .inapplicable = inapplicable,
    .plant = plant,
};
