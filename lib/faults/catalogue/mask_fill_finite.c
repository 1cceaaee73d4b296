/* SPDX-License-Identifier: MIT
 *
 * Fault: hidden scores become a large negative number instead of minus infinity. Where
 * a query sees any key at all, the weights are the same; what breaks are the queries
 * that see none, and formats in which that number is not what it was.
 */
#include <math.h>

#include "faults/wrap.h"

/* True if the backend stores the strength as minus infinity. */
static bool is_beyond(const txd_fault_scene *scene, const txd_fault_use *use)
{
    return scene->backend != NULL &&
           isinf(txd_wrap_round(use->strength, scene->backend->format));
}

static const char *inapplicable(const txd_fault_scene *scene)
{
    for (size_t l = 0; l < scene->claimed->n_layers; l++)
        if (isinf(scene->claimed->layers[l].fill))
            return txd_fault_needs_mask(scene);
    return "needs mask.fill = \"-inf\"";
}

static const char *idle(const txd_fault_scene *scene, const txd_fault_use *use)
{
    for (size_t l = 0; l < scene->claimed->n_layers; l++)
        if (txd_range_has(&use->layers, l) && isinf(scene->claimed->layers[l].fill))
            return is_beyond(scene, use)
                       ? "this backend's format has no such number: it becomes -inf"
                       : txd_fault_idle_unmasked(scene, use);
    return "mask.fill is finite already";
}

const txd_fault txd_fault_mask_fill_finite = {
    .name = "mask_fill_finite",
    .sentence = "hidden scores become strength (-1e9) instead of -inf",
    .symptom = "a query that sees no key attends to all keys alike, padding and future "
               "included; -1e9 is -inf in float16, where others expect a number",
    .example = "wrong: scores.masked_fill(mask == 0, -1e9)\n"
               "right: scores.masked_fill(mask == 0, -inf), and say what an empty row "
               "gives",
    .selectors = TXD_FAULT_LAYERS | TXD_FAULT_STRENGTH,
    .strength = -1e9,
    .inapplicable = inapplicable,
    .idle = idle,
    .plant = txd_plan_fill,
};
