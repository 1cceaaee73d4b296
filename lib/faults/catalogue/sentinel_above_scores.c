/* SPDX-License-Identifier: MIT
 *
 * Fault: the search for the largest score of a row begins at a finite number that
 * stands for minus infinity. Where all scores are below it, it is subtracted from them,
 * and exponentials that vanish are not divided by their sum, which is 0.
 */
#include <math.h>

#include "faults/wrap.h"

static double largest(const struct txd_softmax_args *args)
{
    double max = -INFINITY;

    for (size_t j = args->begin; j < args->end; j++) {
        double score = txd_wrap_get(&args->at, args->masked, j);

        max = score > max || isnan(score) ? score : max;
    }
    return max;
}

static double power(const struct txd_softmax_args *args, size_t j, double max)
{
    return j >= args->begin && j < args->end
               ? exp(txd_wrap_get(&args->at, args->masked, j) - max)
               : 0;
}

static txd_status row(txd_ctx *ctx, const struct txd_softmax_args *args)
{
    double max = txd_wrap_of(&args->at)->use->strength, sum = 0;
    double score = largest(args);

    if (!(score < max) || score == -INFINITY)
        return txd_below_softmax(ctx, args);
    if (args->sink != NULL)
        sum = exp(txd_wrap_get(&args->at, args->sink, 0) - max);
    for (size_t j = args->begin; j < args->end; j++)
        sum += power(args, j, max);
    for (size_t j = 0; j < args->keys; j++)
        txd_wrap_set(&args->at, args->out, j, sum > 0 ? power(args, j, max) / sum : 0);
    args->max[0] = max;
    args->lse[0] = sum > 0 ? max + log(sum) : max;
    return TXD_OK;
}

static txd_status softmax(txd_ctx *ctx, const struct txd_softmax_args *args)
{
    return txd_wrap_softmax(ctx, args, row);
}

/* What is subtracted does not matter on the way back, and weights of 0 get none. */
static txd_status plant(txd_plan *plan, const txd_fault_use *use)
{
    static const struct txd_ops mine = {.softmax = softmax};

    return txd_plan_wrap(plan, use, &mine, NULL);
}

static const char *idle(const txd_fault_scene *scene, const txd_fault_use *use)
{
    return txd_fault_sees_keys(scene, use, 1) ? NULL : "the queries are padding";
}

const txd_fault txd_fault_sentinel_above_scores = {
    .name = "sentinel_above_scores",
    .sentence = "the softmax looks for the largest score from strength (10000) on",
    .symptom =
        "heads whose scores are all below that number give exact zeros, without a "
        "NaN",
    .example = "wrong: float m = -5e4f;      /* scores may be lower */\n"
               "right: float m = -INFINITY;",
    .selectors = TXD_FAULT_TILES | TXD_FAULT_STRENGTH,
    .strength = 10000,
    .idle = idle,
    .plant = plant,
};
