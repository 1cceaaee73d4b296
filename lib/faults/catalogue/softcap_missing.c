/* SPDX-License-Identifier: MIT
 *
 * Fault: scores are not capped, where the layer caps them.
 */
#include <string.h>

#include "faults/wrap.h"

static txd_status cap(txd_ctx *ctx, const struct txd_softcap_args *args)
{
    size_t count = (args->rows - 1) * args->stride + args->width;

    (void)ctx;
    if (args->out != args->x && args->rows > 0)
        memcpy(args->out, args->x, txd_wrap_bytes(&args->at, count));
    return TXD_OK;
}

static txd_status cap_back(txd_ctx *ctx, const struct txd_softcap_back_args *args)
{
    size_t count = (args->rows - 1) * args->stride + args->width;

    (void)ctx;
    if (args->d_x != args->d_out && args->rows > 0)
        memcpy(args->d_x, args->d_out, txd_wrap_bytes(&args->at, count));
    return TXD_OK;
}

static txd_status plant(txd_plan *plan, const txd_fault_use *use)
{
    static const struct txd_ops mine = {.softcap = cap, .softcap_back = cap_back};

    return txd_plan_replace(plan, use, &mine);
}

static const char *inapplicable(const txd_fault_scene *scene)
{
    for (size_t l = 0; l < scene->claimed->n_layers; l++)
        if (scene->claimed->layers[l].score_softcap != 0)
            return NULL;
    return "needs capped scores (model.score_softcap)";
}

static const char *idle(const txd_fault_scene *scene, const txd_fault_use *use)
{
    for (size_t l = 0; l < scene->claimed->n_layers; l++)
        if (txd_range_has(&use->layers, l) &&
            scene->claimed->layers[l].score_softcap != 0)
            return NULL;
    return "these layers do not cap their scores";
}

const txd_fault txd_fault_softcap_missing = {
    .name = "softcap_missing",
    .sentence = "scores are not capped by cap tanh(score / cap)",
    .symptom = "right for short inputs; long ones degrade, where scores are beyond the "
               "cap; a fast kernel that takes no cap gives worse text than a slow one",
    .example = "wrong: scaled_dot_product_attention(q, k, v)      # knows no cap\n"
               "right: scores = cap * tanh(q @ k.T * scale / cap)",
    .selectors = TXD_FAULT_LAYERS,
    .inapplicable = inapplicable,
    .idle = idle,
    .plant = plant,
};
