/* SPDX-License-Identifier: MIT
 *
 * Fault: the gradient of each branch is divided by the share that dropout would keep,
 * though nothing was dropped: forward is right.
 */
#include "faults/wrap.h"

static txd_status add_back(txd_ctx *ctx, const struct txd_pair_back_args *args)
{
    double factor = txd_wrap_of(&args->at)->use->strength;

    TXD_TRY(txd_below_add_back(ctx, args));
    if (!txd_wrap_is_residual(&args->at) || args->d_b == NULL)
        return TXD_OK;
    for (size_t i = 0; i < args->count; i++)
        txd_wrap_set(&args->at, args->d_b, i,
                     factor * txd_wrap_get(&args->at, args->d_b, i));
    return TXD_OK;
}

static txd_status plant(txd_plan *plan, const txd_fault_use *use)
{
    static const struct txd_ops mine = {.add_back = add_back};

    return txd_plan_wrap(plan, use, &mine, NULL);
}

static const char *idle(const txd_fault_scene *scene, const txd_fault_use *use)
{
    (void)scene;
    return use->strength == 1 ? "a strength of 1 leaves the gradients as they are"
                              : NULL;
}

const txd_fault txd_fault_gradient_scale_wrong = {
    .name = "gradient_scale_wrong",
    .sentence = "the gradient of every branch is strength (1.25) times what it is, as "
                "if a dropout of 0.2 had to be made up for",
    .symptom = "training works, a little differently in each layer; only a gradient "
               "check tells",
    .example = "wrong: d_branch = d_out / (1 - p)   # in evaluation, too\n"
               "right: d_branch = d_out * keep / (1 - p), with keep as it was drawn",
    .selectors = TXD_FAULT_LAYERS | TXD_FAULT_STRENGTH,
    .strength = 1.25,
    .inapplicable = txd_fault_needs_backward,
    .idle = idle,
    .plant = plant,
};
