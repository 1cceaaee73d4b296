/* SPDX-License-Identifier: MIT
 *
 * Fault: the gain of a norm that is stored as its distance from 1 is used as it is.
 */
#include "faults/wrap.h"

static txd_status norm(txd_ctx *ctx, const struct txd_norm_args *args)
{
    struct txd_norm_args other = *args;

    other.offset = 0;
    return txd_below_norm(ctx, &other);
}

static txd_status norm_back(txd_ctx *ctx, const struct txd_norm_back_args *args)
{
    struct txd_norm_back_args other = *args;

    other.offset = 0;
    return txd_below_norm_back(ctx, &other);
}

static const char *inapplicable(const txd_fault_scene *scene)
{
    return scene->claimed->norm_offset != 0
               ? NULL
               : "needs norm_offset: the gains of this model are stored whole";
}

static txd_status plant(txd_plan *plan, const txd_fault_use *use)
{
    static const struct txd_ops mine = {.norm = norm, .norm_back = norm_back};

    return txd_plan_wrap(plan, use, &mine, NULL);
}

const txd_fault txd_fault_norm_offset_missing = {
    .name = "norm_offset_missing",
    .sentence = "the layer's norms multiply by the stored gain without norm_offset",
    .symptom =
        "branches nearly vanish, since gains that are stored from 1 lie about 0; "
        "a checkpoint gives nonsense",
    .example = "wrong: normed * weight\n"
               "right: normed * (1 + weight)",
    .selectors = TXD_FAULT_LAYERS,
    .inapplicable = inapplicable,
    .plant = plant,
};
