/* SPDX-License-Identifier: MIT
 *
 * Fault: the norms' eps is so large that it takes part in the result.
 */
#include "faults/fault.h"

static const char *idle(const txd_fault_scene *scene, const txd_fault_use *use)
{
    for (size_t l = 0; l < scene->claimed->n_layers; l++)
        if (txd_range_has(&use->layers, l) &&
            scene->claimed->layers[l].norm_eps < use->strength)
            return NULL;
    return "norm_eps is that large already";
}

const txd_fault txd_fault_norm_eps_huge = {
    .name = "norm_eps_huge",
    .sentence = "the norms' eps is strength (1e-3)",
    .symptom = "small rows come out smaller than 1: the norm normalises less, the loss "
               "falls more slowly",
    .example = "wrong: LayerNorm(d_model, eps=1e-3)\n"
               "right: LayerNorm(d_model, eps=1e-5)",
    .selectors = TXD_FAULT_LAYERS | TXD_FAULT_STRENGTH,
    .strength = 1e-3,
    .idle = idle,
    .plant = txd_plan_norm_eps,
};
