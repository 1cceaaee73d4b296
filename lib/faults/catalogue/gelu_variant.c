/* SPDX-License-Identifier: MIT
 *
 * Fault: the other of the two functions that are called gelu: x Phi(x), or its
 * approximation by tanh.
 */
#include "faults/wrap.h"

static int other_of(int kind)
{
    if (kind == TXD_ACTIVATION_GELU)
        return TXD_ACTIVATION_GELU_TANH;
    return kind == TXD_ACTIVATION_GELU_TANH ? TXD_ACTIVATION_GELU : kind;
}

static txd_status activate(txd_ctx *ctx, const struct txd_activate_args *args)
{
    struct txd_activate_args other = *args;

    other.kind = other_of(args->kind);
    return txd_below_activate(ctx, &other);
}

static txd_status activate_back(txd_ctx *ctx, const struct txd_activate_back_args *args)
{
    struct txd_activate_back_args other = *args;

    other.kind = other_of(args->kind);
    return txd_below_activate_back(ctx, &other);
}

static const char *inapplicable(const txd_fault_scene *scene)
{
    int kind = (int)scene->claimed->activation;

    return other_of(kind) != kind ? NULL
                                  : "needs activation = \"gelu\" or \"gelu_tanh\": "
                                    "there is no other of it";
}

static txd_status plant(txd_plan *plan, const txd_fault_use *use)
{
    static const struct txd_ops mine = {.activate = activate,
                                        .activate_back = activate_back};

    return txd_plan_wrap(plan, use, &mine, NULL);
}

const txd_fault txd_fault_gelu_variant = {
    .name = "gelu_variant",
    .sentence = "the MLP's gelu is the one with erf instead of the one with tanh, or "
                "the other way round",
    .symptom = "a checkpoint is a little worse than in its own code; activations are "
               "off by up to 4.7e-4, most where |x| is about 2.7",
    .example = "wrong: gelu(x)\n"
               "right: gelu(x, approximate=\"tanh\")",
    .selectors = TXD_FAULT_LAYERS,
    .inapplicable = inapplicable,
    .plant = plant,
};
