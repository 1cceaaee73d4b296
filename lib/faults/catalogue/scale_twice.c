/* SPDX-License-Identifier: MIT
 *
 * Fault: the scale is applied twice: folded into q, and again to the scores.
 */
#include "faults/fault.h"

#include <math.h>

static double scale_of(const txd_config *config, size_t layer)
{
    return config->layers[layer].score_scale * config->layers[layer].score_scale;
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
    return "needs a score scale other than 1";
}

static const char *idle(const txd_fault_scene *scene, const txd_fault_use *use)
{
    for (size_t l = 0; l < scene->claimed->n_layers; l++)
        if (txd_range_has(&use->layers, l) && changes(scene->claimed, l))
            return NULL;
    return "the score scale is 1, twice or not";
}

const txd_fault txd_fault_scale_twice = {
    .name = "scale_twice",
    .sentence = "the score scale is applied twice",
    .symptom = "attention is nearly uniform, and longer heads are flatter still",
    .example = "wrong: q = q / sqrt(head_dim); scaled_dot_product_attention(q, k, v)\n"
               "right: scaled_dot_product_attention(q, k, v)",
    .selectors = TXD_FAULT_LAYERS,
    .inapplicable = inapplicable,
    .idle = idle,
    .plant = plant,
};
