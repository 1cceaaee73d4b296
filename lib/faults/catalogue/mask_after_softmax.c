/* SPDX-License-Identifier: MIT
 *
 * Fault: the mask multiplies the weights after the softmax, without normalising again,
 * so that rows sum to what the seen keys happened to get. The softmax itself takes all
 * keys.
 */
#include <math.h>

#include "faults/wrap.h"

static txd_status row(txd_ctx *ctx, const struct txd_softmax_args *args)
{
    size_t query = (size_t)args->at.first_query;

    TXD_TRY(txd_below_softmax(ctx, args));
    for (size_t j = 0; j < args->keys; j++)
        if (txd_mask_hides(args->mask, query, args->key_begin + j) != TXD_SEEN)
            txd_wrap_set(&args->at, args->out, j, 0);
    return TXD_OK;
}

static double seen_gradient(const struct txd_softmax_back_args *args, size_t j)
{
    size_t query = (size_t)args->at.first_query;

    return txd_mask_hides(args->mask, query, args->key_begin + j) == TXD_SEEN
               ? txd_wrap_get(&args->at, args->d_out, j)
               : 0;
}

static double sink_of(const struct txd_softmax_back_args *args)
{
    return exp(txd_wrap_get(&args->at, args->sink, 0) - args->max[0]);
}

/* With p the full softmax and m the mask, w = m p: d_masked = p (m d_out - sum of m
 * d_out p), where p of hidden keys, which w no longer holds, is formed again. */
static txd_status back_row(txd_ctx *ctx, const struct txd_softmax_back_args *args)
{
    const txd_op_site *at = &args->at;
    double mean = 0, sum = args->sink == NULL ? 0 : sink_of(args);

    if (args->max[0] == -INFINITY)
        return txd_below_softmax_back(ctx, args);
    for (size_t j = args->begin; j < args->end; j++) {
        sum += exp(txd_wrap_get(at, args->masked, j) - args->max[0]);
        mean += seen_gradient(args, j) * txd_wrap_get(at, args->weights, j);
    }
    for (size_t j = 0; j < args->keys; j++) {
        bool inside = j >= args->begin && j < args->end;
        double p = exp(txd_wrap_get(at, args->masked, j) - args->max[0]) / sum;

        txd_wrap_set(at, args->d_masked, j,
                     inside ? p * (seen_gradient(args, j) - mean) : 0);
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

    TXD_TRY(txd_plan_sight(plan, use, txd_sight_everything));
    TXD_TRY(txd_plan_wrap(plan, use, &forward, NULL));
    return txd_plan_replace(plan, use, &backward);
}

const txd_fault txd_fault_mask_after_softmax = {
    .name = "mask_after_softmax",
    .sentence =
        "the mask multiplies the weights after the softmax, not normalised again",
    .symptom = "rows sum to less than 1, early queries most; the output shrinks",
    .example = "wrong: softmax(scores) * mask\n"
               "right: softmax(scores.masked_fill(mask == 0, -inf))",
    .selectors = TXD_FAULT_TILES,
    .inapplicable = txd_fault_needs_mask,
    .idle = txd_fault_idle_unmasked,
    .plant = plant,
};
