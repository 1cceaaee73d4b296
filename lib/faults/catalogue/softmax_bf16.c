/* SPDX-License-Identifier: MIT
 *
 * Fault: the softmax runs in bfloat16: every step of it, the sum included, is rounded
 * to 8 bits. The roundings pass the gradient as casts do, and the gradient of the
 * scores is stored in bfloat16, too.
 */
#include <math.h>

#include "faults/wrap.h"

static double rounded(double value)
{
    return txd_wrap_round(value, TXD_BF16);
}

/* Divides what stands in out by its sum and the sink's part, all as bfloat16 has them;
 * returns the sum. */
static double normalise(const struct txd_softmax_args *args, double max)
{
    double sum = 0;

    if (args->sink != NULL)
        sum = rounded(
            exp(rounded(rounded(txd_wrap_get(&args->at, args->sink, 0)) - max)));
    for (size_t j = 0; j < args->keys; j++)
        sum = rounded(sum + txd_wrap_get(&args->at, args->out, j));
    for (size_t j = 0; j < args->keys; j++)
        txd_wrap_set(&args->at, args->out, j,
                     rounded(txd_wrap_get(&args->at, args->out, j) / sum));
    return sum;
}

static txd_status row(txd_ctx *ctx, const struct txd_softmax_args *args)
{
    const txd_op_site *at = &args->at;
    double max = -INFINITY;

    for (size_t j = args->begin; j < args->end; j++) {
        double score = rounded(txd_wrap_get(at, args->masked, j));

        max = score > max || isnan(score) ? score : max;
    }
    if (max == -INFINITY)
        return txd_below_softmax(ctx, args);
    args->max[0] = max;
    if (args->sink != NULL)
        max = fmax(max, rounded(txd_wrap_get(at, args->sink, 0)));
    for (size_t j = 0; j < args->keys; j++) {
        bool inside = j >= args->begin && j < args->end;
        double score = rounded(txd_wrap_get(at, args->masked, j));

        txd_wrap_set(at, args->out, j, inside ? rounded(exp(rounded(score - max))) : 0);
    }
    args->lse[0] = rounded(max + rounded(log(normalise(args, max))));
    return TXD_OK;
}

static txd_status back_row(txd_ctx *ctx, const struct txd_softmax_back_args *args)
{
    TXD_TRY(txd_below_softmax_back(ctx, args));
    for (size_t j = 0; j < args->keys; j++)
        txd_wrap_set(&args->at, args->d_masked, j,
                     rounded(txd_wrap_get(&args->at, args->d_masked, j)));
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

    TXD_TRY(txd_plan_replace(plan, use, &forward));
    return txd_plan_wrap(plan, use, &backward, NULL);
}

/* True if every selected layer rounds the steps anyway; only the sum, which a backend
 * rounds once at its end, is then another. */
static bool is_claimed(const txd_fault_scene *scene, const txd_fault_use *use)
{
    if (scene->backend == NULL || scene->backend->format != TXD_BF16)
        return false;
    for (size_t l = 0; l < scene->claimed->n_layers; l++)
        if (txd_range_has(&use->layers, l) &&
            scene->claimed->layers[l].softmax != TXD_SOFTMAX_SAME)
            return false;
    return true;
}

static const char *idle(const txd_fault_scene *scene, const txd_fault_use *use)
{
    if (is_claimed(scene, use) && !txd_fault_sees_keys(scene, use, 3))
        return "this backend rounds the steps (precision.softmax = \"same\"), and no "
               "real query sees three keys, whose sum would have steps";
    return txd_fault_sees_keys(scene, use, 2) ? NULL
                                              : "no real query sees more than one key, "
                                                "whose weight is 1 in any format";
}

const txd_fault txd_fault_softmax_bf16 = {
    .name = "softmax_bf16",
    .sentence = "every step of the softmax is rounded to bfloat16, the sum included",
    .symptom = "rows do not sum to 1, long ones least of all: from 256 equal keys on "
               "the sum stands still",
    .example =
        "wrong: softmax(scores, dim=-1)                      # scores.bfloat16()\n"
        "right: softmax(scores, dim=-1, dtype=torch.float32).to(scores.dtype)",
    .selectors = TXD_FAULT_TILES,
    .idle = idle,
    .plant = plant,
};
