/* SPDX-License-Identifier: MIT
 *
 * Fault: the norms divide by the deviation with n - 1 instead of n.
 */
#include <math.h>

#include "faults/norms.h"

static double factor(double square, double n, double eps, double *slope)
{
    double scale = n / (n - 1), root = sqrt(square * scale + eps);

    *slope = -scale / (2 * root * root * root);
    return 1 / root;
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

static const char *inapplicable(const txd_fault_scene *scene)
{
    return scene->claimed->d_model > 1 && scene->claimed->head_dim > 1
               ? NULL
               : "needs several features: n - 1 is 0";
}

static txd_status plant(txd_plan *plan, const txd_fault_use *use)
{
    static const struct txd_ops mine = {.norm = norm, .norm_back = norm_back};

    return txd_plan_replace(plan, use, &mine);
}

const txd_fault txd_fault_norm_unbiased = {
    .name = "norm_unbiased",
    .sentence = "the layer's norms take the variance with n - 1 instead of n",
    .symptom = "all norm outputs are sqrt((n - 1) / n) times what they should be; a "
               "checkpoint is slightly worse than in its own code",
    .example = "wrong: (x - x.mean(-1)) / (x.std(-1) + eps)\n"
               "right: (x - x.mean(-1)) / sqrt(x.var(-1, unbiased=False) + eps)",
    .selectors = TXD_FAULT_LAYERS,
    .inapplicable = inapplicable,
    .plant = plant,
};
