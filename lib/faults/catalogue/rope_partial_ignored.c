/* SPDX-License-Identifier: MIT
 *
 * Fault: all lanes of a head turn, where only the first rope_width should.
 */
#include "faults/turn.h"

static txd_status plant(txd_plan *plan, const txd_fault_use *use)
{
    for (size_t l = 0; l < plan->config.n_layers; l++)
        if (txd_range_has(&use->layers, l))
            plan->config.layers[l].rope_width = plan->config.head_dim;
    return TXD_OK;
}

static bool same(const txd_config *config, size_t layer, const txd_fault_use *use)
{
    (void)use;
    return config->layers[layer].rope_width == config->head_dim;
}

static const char *inapplicable(const txd_fault_scene *scene)
{
    const txd_config *c = scene->claimed;

    for (size_t l = 0; l < c->n_layers; l++)
        if (c->layers[l].rotary && c->layers[l].rope_width < c->head_dim)
            return txd_fault_needs_rotary(scene);
    return "needs rotary positions of a part of the lanes (rope_width below head_dim)";
}

static const char *idle(const txd_fault_scene *scene, const txd_fault_use *use)
{
    return txd_turn_idle(scene, use, same, "all lanes of these layers turn as it is");
}

const txd_fault txd_fault_rope_partial_ignored = {
    .name = "rope_partial_ignored",
    .sentence = "all lanes of a head turn, not only the first rope_width",
    .symptom = "scores are nearly right, the text is not: lanes that should carry "
               "content alone move with the position",
    .example = "wrong: rope(q, head_dim)\n"
               "right: cat((rope(q[..., :rope_width]), q[..., rope_width:]), -1)",
    .selectors = TXD_FAULT_LAYERS,
    .inapplicable = inapplicable,
    .idle = idle,
    .plant = plant,
};
