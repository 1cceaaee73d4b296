/* SPDX-License-Identifier: MIT
 *
 * Windows of chosen layers, changed; whether any query notices.
 */
#include "faults/window.h"

txd_status txd_plan_window(txd_plan *plan, const txd_fault_use *use,
                           txd_fault_window window)
{
    const txd_config before = plan->config;
    txd_layer_config *copy =
        txd_arena_alloc(plan->arena, before.n_layers, sizeof *copy);

    if (copy == NULL)
        return TXD_ERR_MEMORY;
    for (size_t l = 0; l < before.n_layers; l++) {
        copy[l] = before.layers[l];
        if (txd_range_has(&use->layers, l))
            copy[l].window = window(&before, l, use);
    }
    plan->config.layers = copy;
    return TXD_OK;
}

static bool rows_differ(const txd_layer_config *a, const txd_layer_config *b,
                        const txd_inputs *inputs, size_t batch)
{
    txd_mask_view x = txd_mask_of(a, inputs, batch), y = txd_mask_of(b, inputs, batch);

    for (size_t q = 0; q < inputs->length; q++)
        for (size_t k = 0;
             inputs->valid[batch * inputs->length + q] && k < inputs->length; k++)
            if ((txd_mask_hides(&x, q, k) == TXD_SEEN) !=
                (txd_mask_hides(&y, q, k) == TXD_SEEN))
                return true;
    return false;
}

const char *txd_fault_idle_window(const txd_fault_scene *scene,
                                  const txd_fault_use *use, txd_fault_window window)
{
    const txd_config *config = scene->claimed;
    bool is_other = false;

    for (size_t l = 0; l < config->n_layers; l++) {
        txd_layer_config faulty = config->layers[l];

        if (!txd_range_has(&use->layers, l))
            continue;
        faulty.window = window(config, l, use);
        is_other |= faulty.window != config->layers[l].window;
        for (size_t b = 0; b < scene->inputs->batch; b++)
            if (rows_differ(&config->layers[l], &faulty, scene->inputs, b))
                return NULL;
    }
    return is_other ? "no real query has a key so far away"
                    : "the selected layers keep the windows that they have";
}

const char *txd_fault_needs_window(const txd_fault_scene *scene)
{
    const txd_config *config = scene->claimed;

    for (size_t l = 0; l < config->n_layers; l++)
        if (config->layers[l].window != 0)
            return NULL;
    return "needs a layer with a window (mask.window)";
}
