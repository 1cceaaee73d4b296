/* SPDX-License-Identifier: MIT
 *
 * Fault: the scores are divided by the square root of the width of the model instead of
 * that of a head.
 */
#include "faults/fault.h"

#include <math.h>

static double scale_of(const txd_config *config, size_t layer)
{
    (void)layer;
    return 1 / sqrt((double)config->d_model);
}

static txd_status plant(txd_plan *plan, const txd_fault_use *use)
{
    for (size_t l = 0; l < plan->config.n_layers; l++)
        if (txd_range_has(&use->layers, l))
            plan->config.layers[l].score_scale = scale_of(&plan->config, l);
    return TXD_OK;
}

static bool changes(const txd_config *config, size_t layer)
{
    double right = config->layers[layer].score_scale;

    return fabs(scale_of(config, layer) - right) > 1e-12 * fabs(right);
}

static const char *inapplicable(const txd_fault_scene *scene)
{
    for (size_t l = 0; l < scene->claimed->n_layers; l++)
        if (changes(scene->claimed, l))
            return NULL;
    return "needs heads narrower than the model: with one, both widths are the same";
}

static const char *idle(const txd_fault_scene *scene, const txd_fault_use *use)
{
    for (size_t l = 0; l < scene->claimed->n_layers; l++)
        if (txd_range_has(&use->layers, l) && changes(scene->claimed, l))
            return NULL;
    return "the score scale is 1/sqrt(d_model) as it is";
}

const txd_fault txd_fault_scale_by_model_width = {
    .name = "scale_by_model_width",
    .sentence = "the scores are divided by sqrt(d_model) instead of sqrt(head_dim)",
    .symptom = "scores are sqrt(n_heads) times too small: attention stays flat, "
               "training is slower and ends a little worse",
    .example = "wrong: scores = q @ k.T / sqrt(d_model)\n"
               "right: scores = q @ k.T / sqrt(head_dim)",
    .selectors = TXD_FAULT_LAYERS,
    .inapplicable = inapplicable,
    .idle = idle,
    .plant = plant,
};
