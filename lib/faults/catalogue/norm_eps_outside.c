/* SPDX-License-Identifier: MIT
 *
 * Fault: the norms add eps to the root instead of to what is under it.
 */
#include <math.h>

#include "faults/norms.h"

static double factor(double square, double n, double eps, double *slope)
{
    double root = sqrt(square);

    (void)n;
    *slope = root > 0 ? -1 / (2 * root * (root + eps) * (root + eps)) : 0;
    return 1 / (root + eps);
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

const txd_fault txd_fault_norm_eps_outside = {
    .name = "norm_eps_outside",
    .sentence = "the layer's norms add eps outside of the root",
    .symptom = "rows of small deviation come out larger than they should; rows of "
               "deviation far above sqrt(eps) show nothing",
    .example = "wrong: x / (sqrt(mean(x ** 2)) + eps)\n"
               "right: x / sqrt(mean(x ** 2) + eps)",
    .selectors = TXD_FAULT_LAYERS,
    .plant = plant,
};
