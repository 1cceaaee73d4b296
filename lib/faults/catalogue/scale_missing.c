/* SPDX-License-Identifier: MIT
 *
 * Fault: the scores are not divided by the square root of the head width.
 */
#include "faults/fault.h"

static txd_status plant(txd_plan *plan, const txd_fault_use *use)
{
    for (size_t l = 0; l < plan->config.n_layers; l++)
        if (txd_range_has(&use->layers, l))
            plan->config.layers[l].score_scale = 1;
    return TXD_OK;
}

static const char *inapplicable(const txd_fault_scene *scene)
{
    const txd_config *config = scene->claimed;

    for (size_t l = 0; l < config->n_layers; l++)
        if (config->layers[l].score_scale != 1)
            return NULL;
    return "needs a score scale other than 1";
}

static const char *idle(const txd_fault_scene *scene, const txd_fault_use *use)
{
    const txd_config *config = scene->claimed;

    for (size_t l = 0; l < config->n_layers; l++)
        if (txd_range_has(&use->layers, l) && config->layers[l].score_scale != 1)
            return NULL;
    return "the score scale is 1 already";
}

const txd_fault txd_fault_scale_missing = {
    .name = "scale_missing",
    .sentence = "the scores are not divided by sqrt(head_dim)",
    .symptom = "attention is nearly one-hot from the start, gradients vanish, overflow",
    .example = "wrong: scores = q @ k.T\n"
               "right: scores = q @ k.T / sqrt(head_dim)",
    .selectors = TXD_FAULT_LAYERS,
    .inapplicable = inapplicable,
    .idle = idle,
    .plant = plant,
};
