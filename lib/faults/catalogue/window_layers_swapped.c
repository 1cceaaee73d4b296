/* SPDX-License-Identifier: MIT
 *
 * Fault: local and global layers have changed places: those with a window see
 * everything, the others have a window.
 */
#include "faults/window.h"

/* The first window of any layer. */
static size_t first_window(const txd_config *config)
{
    for (size_t l = 0; l < config->n_layers; l++)
        if (config->layers[l].window != 0)
            return config->layers[l].window;
    return 0;
}

static size_t swapped(const txd_config *config, size_t layer, const txd_fault_use *use)
{
    (void)use;
    return config->layers[layer].window != 0 ? 0 : first_window(config);
}

static txd_status plant(txd_plan *plan, const txd_fault_use *use)
{
    return txd_plan_window(plan, use, swapped);
}

static const char *inapplicable(const txd_fault_scene *scene)
{
    const txd_config *config = scene->claimed;
    size_t windows = 0;

    for (size_t l = 0; l < config->n_layers; l++)
        windows += config->layers[l].window != 0;
    return windows > 0 && windows < config->n_layers
               ? NULL
               : "needs layers with a window beside layers without (model.layers)";
}

static const char *idle(const txd_fault_scene *scene, const txd_fault_use *use)
{
    return txd_fault_idle_window(scene, use, swapped);
}

const txd_fault txd_fault_window_layers_swapped = {
    .name = "window_layers_swapped",
    .sentence = "layers with a window and layers without have changed places",
    .symptom =
        "right as long as the input is no longer than the window, then worse and "
        "worse",
    .example = "wrong: is_local = layer % 2 == 1\n"
               "right: is_local = layer % 2 == 0",
    .selectors = TXD_FAULT_LAYERS,
    .inapplicable = inapplicable,
    .idle = idle,
    .plant = plant,
};
