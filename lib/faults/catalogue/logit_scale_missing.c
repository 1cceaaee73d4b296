/* SPDX-License-Identifier: MIT
 *
 * Fault: logits are not multiplied by logit_scale.
 */
#include "faults/wrap.h"

static txd_status scale(txd_ctx *ctx, const struct txd_scale_args *args)
{
    struct txd_scale_args other = *args;

    if (args->at.point == TXD_POINT_LOGITS)
        other.factor = 1;
    return txd_below_scale(ctx, &other);
}

static txd_status scale_back(txd_ctx *ctx, const struct txd_scale_args *args)
{
    struct txd_scale_args other = *args;

    if (args->at.point == TXD_POINT_LOGITS)
        other.factor = 1;
    return txd_below_scale_back(ctx, &other);
}

static const char *inapplicable(const txd_fault_scene *scene)
{
    return txd_config_scales_logits(scene->claimed)
               ? NULL
               : "needs logit_scale: logits are not scaled here";
}

static txd_status plant(txd_plan *plan, const txd_fault_use *use)
{
    static const struct txd_ops mine = {.scale = scale, .scale_back = scale_back};

    return txd_plan_wrap_ends(plan, use, &mine, NULL);
}

const txd_fault txd_fault_logit_scale_missing = {
    .name = "logit_scale_missing",
    .sentence = "logits are not multiplied by logit_scale",
    .symptom = "the same ranking of tokens, but a model that is too sure or not sure "
               "enough: greedy text is right, sampled text and losses are not",
    .example = "wrong: logits = head(x)\n"
               "right: logits = head(x) * logit_scale",
    .inapplicable = inapplicable,
    .plant = plant,
};
