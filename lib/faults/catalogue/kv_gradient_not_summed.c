/* SPDX-License-Identifier: MIT
 *
 * Fault: heads that share keys and values must add up their gradients; here those of
 * the first head of each group are all that arrives.
 */
#include <string.h>

#include "faults/wrap.h"

static bool is_first(const txd_op_site *at)
{
    const size_t *group = txd_wrap_of(at)->more;

    return (size_t)at->head % *group == 0;
}

static txd_status scores_back(txd_ctx *ctx, const struct txd_scores_back_args *args)
{
    TXD_TRY(txd_below_scores_back(ctx, args));
    if (!is_first(&args->at))
        memset(args->d_k, 0, txd_wrap_bytes(&args->at, args->keys * args->width));
    return TXD_OK;
}

static txd_status mix_back(txd_ctx *ctx, const struct txd_mix_back_args *args)
{
    TXD_TRY(txd_below_mix_back(ctx, args));
    if (!is_first(&args->at))
        memset(args->d_v, 0, txd_wrap_bytes(&args->at, args->keys * args->width));
    return TXD_OK;
}

static txd_status plant(txd_plan *plan, const txd_fault_use *use)
{
    static const struct txd_ops mine = {.scores_back = scores_back,
                                        .mix_back = mix_back};
    size_t *group = txd_arena_alloc(plan->arena, 1, sizeof *group);

    if (group == NULL)
        return TXD_ERR_MEMORY;
    *group = plan->config.n_heads / plan->config.n_kv_heads;
    return txd_plan_wrap(plan, use, &mine, group);
}

static const char *inapplicable(const txd_fault_scene *scene)
{
    return scene->claimed->n_kv_heads < scene->claimed->n_heads
               ? txd_fault_needs_backward(scene)
               : "needs heads that share keys and values (model.n_kv_heads below "
                 "model.n_heads)";
}

const txd_fault txd_fault_kv_gradient_not_summed = {
    .name = "kv_gradient_not_summed",
    .sentence = "keys and values get the gradient of the first head of their group "
                "alone, not the sum over its heads",
    .symptom = "forward is right, gradients of W_k and W_v are too small; training is "
               "slower than it should be",
    .example = "wrong: dk = dk_heads[:, ::group]\n"
               "right: dk = dk_heads.reshape(b, g, group, t, e).sum(2)",
    .selectors = TXD_FAULT_LAYERS,
    .backward = true,
    .inapplicable = inapplicable,
    .plant = plant,
};
