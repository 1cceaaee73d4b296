/* SPDX-License-Identifier: MIT
 *
 * Fault: the values are projected by the rows of W_k: k was passed where v belongs.
 */
#include "faults/projection.h"

static bool copy(txd_params *params, const txd_config *config, int layer)
{
    bool changed = false;

    for (size_t g = 0; g < config->n_kv_heads; g++) {
        txd_projection k = txd_projection_of(params, config, TXD_PROJECTED_K, layer, g);
        txd_projection v = txd_projection_of(params, config, TXD_PROJECTED_V, layer, g);

        changed |= txd_projection_copy(&v, &k);
    }
    return changed;
}

static txd_status plant(txd_plan *plan, const txd_fault_use *use)
{
    return txd_plan_edit_layers(plan, use, copy, "W_v holds the rows of W_k already");
}

static const char *inapplicable(const txd_fault_scene *scene)
{
    return scene->claimed->head_dim == scene->claimed->value_dim
               ? NULL
               : "needs value heads as wide as key heads";
}

const txd_fault txd_fault_values_from_keys = {
    .name = "values_from_keys",
    .sentence = "the values are what the keys are: W_v is W_k",
    .symptom = "it trains, and never gets as good: what is looked for is what is found",
    .example = "wrong: q, k, v = w_q(x), w_k(x), w_k(x)\n"
               "right: q, k, v = w_q(x), w_k(x), w_v(x)",
    .selectors = TXD_FAULT_LAYERS,
    .inapplicable = inapplicable,
    .plant = plant,
};
