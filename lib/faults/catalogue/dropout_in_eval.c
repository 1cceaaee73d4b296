/* SPDX-License-Identifier: MIT
 *
 * Fault: attention weights are dropped although nothing is trained: each becomes 0 with
 * the probability p (the strength), and the others 1 / (1 - p) times what they were.
 * Which ones follows from where they are, so that every pass, on any number of threads,
 * drops the same.
 */
#include <math.h>

#include "base/rng.h"
#include "faults/wrap.h"

/* What a weight is multiplied with; `args` of one row. */
static double factor(const txd_op_site *at, size_t key)
{
    double rate = txd_wrap_of(at)->use->strength;
    uint64_t place = ((uint64_t)at->layer << 48) ^ ((uint64_t)at->batch << 40) ^
                     ((uint64_t)at->head << 32);
    uint64_t stream = txd_rng_bits(place, (uint64_t)at->first_query);

    return txd_rng_uniform(stream, key) < rate ? 0 : 1 / (1 - rate);
}

static txd_status row(txd_ctx *ctx, const struct txd_softmax_args *args)
{
    TXD_TRY(txd_below_softmax(ctx, args));
    for (size_t j = 0; j < args->keys; j++)
        txd_wrap_set(&args->at, args->out, j,
                     factor(&args->at, args->key_begin + j) *
                         txd_wrap_get(&args->at, args->out, j));
    return TXD_OK;
}

static double sink_of(const struct txd_softmax_back_args *args)
{
    return exp(txd_wrap_get(&args->at, args->sink, 0) - args->max[0]);
}

/* With p the softmax and f the factors, w = f p: d_masked = p (f d_out - sum of f d_out
 * p), where the p of dropped keys are formed again. */
static txd_status back_row(txd_ctx *ctx, const struct txd_softmax_back_args *args)
{
    const txd_op_site *at = &args->at;
    double mean = 0, sum = args->sink == NULL ? 0 : sink_of(args);

    if (args->max[0] == -INFINITY)
        return txd_below_softmax_back(ctx, args);
    for (size_t j = args->begin; j < args->end; j++) {
        sum += exp(txd_wrap_get(at, args->masked, j) - args->max[0]);
        mean += txd_wrap_get(at, args->d_out, j) * txd_wrap_get(at, args->weights, j);
    }
    for (size_t j = 0; j < args->keys; j++) {
        bool inside = j >= args->begin && j < args->end;
        double p = exp(txd_wrap_get(at, args->masked, j) - args->max[0]) / sum;
        double d = factor(at, args->key_begin + j) * txd_wrap_get(at, args->d_out, j);

        txd_wrap_set(at, args->d_masked, j, inside ? p * (d - mean) : 0);
    }
    return TXD_OK;
}

static txd_status softmax(txd_ctx *ctx, const struct txd_softmax_args *args)
{
    return txd_wrap_softmax(ctx, args, row);
}

static txd_status softmax_back(txd_ctx *ctx, const struct txd_softmax_back_args *args)
{
    return txd_wrap_softmax_back(ctx, args, back_row);
}

static txd_status plant(txd_plan *plan, const txd_fault_use *use)
{
    static const struct txd_ops forward = {.softmax = softmax};
    static const struct txd_ops backward = {.softmax_back = softmax_back};

    TXD_TRY(txd_plan_wrap(plan, use, &forward, NULL));
    return txd_plan_replace(plan, use, &backward);
}

static const char *idle(const txd_fault_scene *scene, const txd_fault_use *use)
{
    if (!(use->strength > 0 && use->strength < 1))
        return "its strength is a probability, above 0 and below 1";
    return txd_fault_sees_keys(scene, use, 1) ? NULL : "the queries are padding";
}

const txd_fault txd_fault_dropout_in_eval = {
    .name = "dropout_in_eval",
    .sentence =
        "attention weights are dropped with probability strength (0.1), although "
        "nothing is trained",
    .symptom =
        "two passes over one input differ; rows do not sum to 1, some weights are "
        "0 and the others too large",
    .example = "wrong: dropout(weights, p)\n"
               "right: dropout(weights, p, training=self.training)",
    .selectors = TXD_FAULT_TILES | TXD_FAULT_STRENGTH,
    .strength = 0.1,
    .idle = idle,
    .plant = plant,
};
