/* SPDX-License-Identifier: MIT
 *
 * Fault: the rotary base is another one: `strength` times that of the claim.
 */
#include "faults/turn.h"

static txd_status plant(txd_plan *plan, const txd_fault_use *use)
{
    for (size_t l = 0; l < plan->config.n_layers; l++)
        if (txd_range_has(&use->layers, l))
            plan->config.layers[l].rope_base *= use->strength;
    return TXD_OK;
}

static bool same(const txd_config *config, size_t layer, const txd_fault_use *use)
{
    return use->strength == 1 || config->layers[layer].rope_width == 2;
}

static const char *idle(const txd_fault_scene *scene, const txd_fault_use *use)
{
    return txd_turn_idle(
        scene, use, same,
        "with a strength of 1, or one pair of lanes, no frequency changes");
}

const txd_fault txd_fault_rope_wrong_base = {
    .name = "rope_wrong_base",
    .sentence = "the rotary base is strength (50) times what it should be",
    .symptom = "fluent for some hundred tokens, then incoherent: the fast pairs are "
               "right, the slow ones are not",
    .example = "wrong: rope_theta = 10000.0               # a default of the library\n"
               "right: rope_theta = config.rope_theta     # 500000.0",
    .selectors = TXD_FAULT_LAYERS | TXD_FAULT_STRENGTH,
    .strength = 50,
    .inapplicable = txd_fault_needs_rotary,
    .idle = idle,
    .plant = plant,
};
