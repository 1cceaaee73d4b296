/* SPDX-License-Identifier: MIT
 *
 * Fault: the slopes are one geometric series, 2^(-8 h / n), which is right only where
 * the number of heads is a power of two. The gradient of the scores does not depend on
 * what was added.
 */
#include <math.h>

#include "faults/wrap.h"
#include "model/bias.h"

static double slope_of(const txd_config *config, size_t head)
{
    return pow(2, -8.0 * (double)(head + 1) / (double)config->n_heads);
}

static txd_status bias(txd_ctx *ctx, const struct txd_bias_args *args)
{
    struct txd_bias_args wrong = *args;
    const txd_config *config = txd_wrap_of(&args->at)->more;

    if (txd_range_has(&txd_wrap_of(&args->at)->use->heads, (size_t)args->at.head))
        wrong.slope = slope_of(config, (size_t)args->at.head);
    return txd_below_bias(ctx, &wrong);
}

static txd_status plant(txd_plan *plan, const txd_fault_use *use)
{
    static const struct txd_ops mine = {.bias = bias};

    return txd_plan_wrap(plan, use, &mine, &plan->config);
}

static const char *inapplicable(const txd_fault_scene *scene)
{
    const txd_config *c = scene->claimed;

    if (c->positions != TXD_POSITIONS_ALIBI)
        return "needs alibi positions (model.positions = \"alibi\")";
    return (c->n_heads & (c->n_heads - 1)) == 0
               ? "needs a number of heads that is no power of two"
               : NULL;
}

static bool has_two_positions(const txd_inputs *inputs)
{
    for (size_t i = 0; i < inputs->batch * inputs->length; i++)
        if (inputs->valid[i] && inputs->positions[i] != 0)
            return true;
    return false;
}

static const char *idle(const txd_fault_scene *scene, const txd_fault_use *use)
{
    const txd_config *c = scene->claimed;

    if (!has_two_positions(scene->inputs))
        return "every real token stands at position 0: there is no distance";
    for (size_t h = 0; h < c->n_heads; h++)
        if (txd_range_has(&use->heads, h) &&
            slope_of(c, h) != txd_alibi_slope(h, c->n_heads))
            return NULL;
    return "these heads have the same slope either way";
}

const txd_fault txd_fault_alibi_slopes_wrong = {
    .name = "alibi_slopes_wrong",
    .sentence = "the slopes of alibi are one geometric series for any number of heads",
    .symptom = "every head looks a little too far or not far enough; a checkpoint of "
               "the right model is a little worse everywhere; with 8, 16, 32 heads "
               "nothing is wrong",
    .example = "wrong: slopes = 2 ** (-8 * arange(1, n + 1) / n)        # n = 12\n"
               "right: those of 8 heads, then every other one of 16 heads",
    .selectors = TXD_FAULT_LAYERS | TXD_FAULT_HEADS,
    .inapplicable = inapplicable,
    .idle = idle,
    .plant = plant,
};
