/* SPDX-License-Identifier: MIT
 *
 * Fault: one projection serves for queries, keys and values. With grouped heads a KV
 * head gets the rows of its group's first query head.
 */
#include "faults/projection.h"

static bool share(txd_params *params, const txd_config *config, int layer)
{
    size_t group = config->n_heads / config->n_kv_heads;
    bool changed = false;

    for (size_t g = 0; g < config->n_kv_heads; g++) {
        txd_projection q =
            txd_projection_of(params, config, TXD_PROJECTED_Q, layer, g * group);
        txd_projection k = txd_projection_of(params, config, TXD_PROJECTED_K, layer, g);
        txd_projection v = txd_projection_of(params, config, TXD_PROJECTED_V, layer, g);

        changed |= txd_projection_copy(&k, &q);
        changed |= txd_projection_copy(&v, &q);
    }
    return changed;
}

static txd_status plant(txd_plan *plan, const txd_fault_use *use)
{
    return txd_plan_edit_layers(plan, use, share,
                                "q, k and v share their rows already");
}

static const char *inapplicable(const txd_fault_scene *scene)
{
    return scene->claimed->head_dim == scene->claimed->value_dim
               ? NULL
               : "needs value heads as wide as query heads: one projection gives one "
                 "width";
}

const txd_fault txd_fault_shared_qkv = {
    .name = "shared_qkv",
    .sentence = "one projection serves for q, k and v: W_k and W_v are W_q's rows",
    .symptom = "tokens attend to themselves and their likes, attention degenerates "
               "towards uniform in training; perplexity rises",
    .example = "wrong: q = k = v = w(x)\n"
               "right: q, k, v = w_q(x), w_k(x), w_v(x)",
    .selectors = TXD_FAULT_LAYERS,
    .inapplicable = inapplicable,
    .plant = plant,
};
