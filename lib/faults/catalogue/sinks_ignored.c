/* SPDX-License-Identifier: MIT
 *
 * Fault: the softmax does not know of the sinks; the weights of a row sum to 1. So no
 * sink has a gradient.
 */
#include "faults/wrap.h"

static txd_status softmax(txd_ctx *ctx, const struct txd_softmax_args *args)
{
    struct txd_softmax_args without = *args;

    if (txd_wrap_has_tile(&args->at))
        without.sink = NULL;
    return txd_below_softmax(ctx, &without);
}

/* As far as the weights sum to 1, this is the gradient with and without a sink. */
static txd_status softmax_back(txd_ctx *ctx, const struct txd_softmax_back_args *args)
{
    struct txd_softmax_back_args without = *args;

    if (txd_wrap_has_tile(&args->at))
        without.sink = NULL;
    return txd_below_softmax_back(ctx, &without);
}

/* What stands in d_sink has been set to 0 by who asks. */
static txd_status sink_back(txd_ctx *ctx, const struct txd_sink_back_args *args)
{
    return txd_wrap_has_tile(&args->at) ? TXD_OK : txd_below_sink_back(ctx, args);
}

static txd_status plant(txd_plan *plan, const txd_fault_use *use)
{
    static const struct txd_ops mine = {
        .softmax = softmax, .softmax_back = softmax_back, .sink_back = sink_back};

    return txd_plan_wrap(plan, use, &mine, NULL);
}

static const char *inapplicable(const txd_fault_scene *scene)
{
    return scene->claimed->sinks ? NULL : "needs sinks (model.sinks = true)";
}

const txd_fault txd_fault_sinks_ignored = {
    .name = "sinks_ignored",
    .sentence = "the softmax leaves the sinks out",
    .symptom = "heads that should attend to nothing spread over whatever there is; "
               "short texts suffer most, and no error is raised",
    .example = "wrong: softmax(scores)\n"
               "right: softmax(cat((scores, sink), -1))[..., :-1]",
    .selectors = TXD_FAULT_LAYERS | TXD_FAULT_HEADS | TXD_FAULT_BATCH,
    .inapplicable = inapplicable,
    .plant = plant,
};
