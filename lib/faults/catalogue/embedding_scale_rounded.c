/* SPDX-License-Identifier: MIT
 *
 * Fault: the factor of the token embeddings was rounded to bfloat16 before it was used.
 */
#include "faults/wrap.h"

static double actual(double claimed)
{
    return txd_wrap_round(claimed, TXD_BF16);
}

static txd_status scale(txd_ctx *ctx, const struct txd_scale_args *args)
{
    struct txd_scale_args other = *args;

    if (args->at.point == TXD_POINT_EMBED_SCALED)
        other.factor = actual(args->factor);
    return txd_below_scale(ctx, &other);
}

static txd_status scale_back(txd_ctx *ctx, const struct txd_scale_args *args)
{
    struct txd_scale_args other = *args;

    if (args->at.point == TXD_POINT_EMBED_SCALED)
        other.factor = actual(args->factor);
    return txd_below_scale_back(ctx, &other);
}

static const char *inapplicable(const txd_fault_scene *scene)
{
    double factor = scene->claimed->embed_scale;

    if (!txd_point_exists(scene->claimed, TXD_POINT_EMBED_SCALED))
        return "needs embed_scale: token embeddings are not scaled here";
    return actual(factor) == factor
               ? "needs an embed_scale that bfloat16 cannot hold: 55.4256 is one"
               : NULL;
}

static txd_status plant(txd_plan *plan, const txd_fault_use *use)
{
    static const struct txd_ops mine = {.scale = scale, .scale_back = scale_back};

    return txd_plan_wrap_ends(plan, use, &mine, NULL);
}

const txd_fault txd_fault_embedding_scale_rounded = {
    .name = "embedding_scale_rounded",
    .sentence = "embed_scale is rounded to bfloat16 before token embeddings are "
                "multiplied by it",
    .symptom = "all hidden states are off by some thousandths against the original, "
               "from the first layer on",
    .example = "wrong: scale = torch.tensor(d_model ** 0.5, dtype=torch.bfloat16)\n"
               "right: scale = d_model ** 0.5",
    .inapplicable = inapplicable,
    .plant = plant,
};
