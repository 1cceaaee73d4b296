/* SPDX-License-Identifier: MIT
 *
 * Fault: the norms' eps is so small that it protects from nothing.
 */
#include "faults/fault.h"

static const char *idle(const txd_fault_scene *scene, const txd_fault_use *use)
{
    for (size_t l = 0; l < scene->claimed->n_layers; l++)
        if (txd_range_has(&use->layers, l) &&
            scene->claimed->layers[l].norm_eps > use->strength)
            return NULL;
    return "norm_eps is that small already";
}

const txd_fault txd_fault_norm_eps_tiny = {
    .name = "norm_eps_tiny",
    .sentence = "the norms' eps is strength (1e-12)",
    .symptom = "rows of little variance are blown up; NaN in half precision, where the "
               "square root's argument underflows",
    .example = "wrong: LayerNorm(d_model, eps=1e-12)\n"
               "right: LayerNorm(d_model, eps=1e-5)",
    .selectors = TXD_FAULT_LAYERS | TXD_FAULT_STRENGTH,
    .strength = 1e-12,
    .idle = idle,
    .plant = txd_plan_norm_eps,
};
