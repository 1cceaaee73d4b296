/* SPDX-License-Identifier: MIT
 *
 * Fault: the norms multiply by the root instead of dividing by it.
 */
#include <math.h>

#include "faults/norms.h"

static double factor(double square, double n, double eps, double *slope)
{
    double root = sqrt(square + eps);

    (void)n;
    *slope = 1 / (2 * root);
    return root;
}

static txd_status norm(txd_ctx *ctx, const struct txd_norm_args *args)
{
    (void)ctx;
    return txd_norm_with(args, factor);
}

static txd_status norm_back(txd_ctx *ctx, const struct txd_norm_back_args *args)
{
    (void)ctx;
    return txd_norm_with_back(args, factor);
}

static txd_status plant(txd_plan *plan, const txd_fault_use *use)
{
    static const struct txd_ops mine = {.norm = norm, .norm_back = norm_back};

    return txd_plan_replace(plan, use, &mine);
}

const txd_fault txd_fault_norm_inverted = {
    .name = "norm_inverted",
    .sentence = "the layer's norms multiply by the root instead of dividing by it",
    .symptom = "rows grow or vanish with the square of their size, layer by layer; "
               "training diverges",
    .example = "wrong: x / rsqrt(mean(x ** 2) + eps)\n"
               "right: x * rsqrt(mean(x ** 2) + eps)",
    .selectors = TXD_FAULT_LAYERS,
    .plant = plant,
};
