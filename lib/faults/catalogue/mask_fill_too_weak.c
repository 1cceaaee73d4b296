/* SPDX-License-Identifier: MIT
 *
 * Fault: hidden scores become a number that the softmax still sees.
 */
#include "faults/fault.h"

static const char *idle(const txd_fault_scene *scene, const txd_fault_use *use)
{
    for (size_t l = 0; l < scene->claimed->n_layers; l++)
        if (txd_range_has(&use->layers, l) &&
            scene->claimed->layers[l].fill < use->strength)
            return txd_fault_idle_unmasked(scene, use);
    return "mask.fill is that weak already";
}

const txd_fault txd_fault_mask_fill_too_weak = {
    .name = "mask_fill_too_weak",
    .sentence = "hidden scores become strength (-10), which leaves hidden keys weight",
    .symptom = "each query leaks a little from the future and from padding, the more "
               "the lower its own scores",
    .example = "wrong: scores.masked_fill(mask == 0, -10)\n"
               "right: scores.masked_fill(mask == 0, -inf)",
    .selectors = TXD_FAULT_LAYERS | TXD_FAULT_STRENGTH,
    .strength = -10,
    .inapplicable = txd_fault_needs_mask,
    .idle = idle,
    .plant = txd_plan_fill,
};
