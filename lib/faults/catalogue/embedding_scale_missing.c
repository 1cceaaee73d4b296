/* SPDX-License-Identifier: MIT
 *
 * Fault: token embeddings are added to positions as they are.
 */
#include "faults/wrap.h"

static double actual(double claimed)
{
    (void)claimed;
    return 1;
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
    return txd_point_exists(scene->claimed, TXD_POINT_EMBED_SCALED)
               ? NULL
               : "needs embed_scale: token embeddings are not scaled here";
}

static txd_status plant(txd_plan *plan, const txd_fault_use *use)
{
    static const struct txd_ops mine = {.scale = scale, .scale_back = scale_back};

    return txd_plan_wrap_ends(plan, use, &mine, NULL);
}

const txd_fault txd_fault_embedding_scale_missing = {
    .name = "embedding_scale_missing",
    .sentence = "token embeddings are not multiplied by embed_scale",
    .symptom =
        "a trained model sees its tokens small beside their positions, or all of "
        "its first layers' norms near eps; the loss is far above that of the "
        "original",
    .example = "wrong: x = embed(tokens) + positions\n"
               "right: x = embed(tokens) * sqrt(d_model) + positions",
    .inapplicable = inapplicable,
    .plant = plant,
};
