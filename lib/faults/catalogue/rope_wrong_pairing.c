/* SPDX-License-Identifier: MIT
 *
 * Fault: lanes are paired the other way: (2i, 2i+1) where the weights are made for (i,
 * i
 * + width/2), or the other way round.
 */
#include "faults/turn.h"

static txd_status plant(txd_plan *plan, const txd_fault_use *use)
{
    for (size_t l = 0; l < plan->config.n_layers; l++)
        if (txd_range_has(&use->layers, l))
            plan->config.layers[l].rope_pairing =
                plan->config.layers[l].rope_pairing == TXD_PAIRING_HALF
                    ? TXD_PAIRING_ADJACENT
                    : TXD_PAIRING_HALF;
    return TXD_OK;
}

static bool same(const txd_config *config, size_t layer, const txd_fault_use *use)
{
    (void)use;
    return config->layers[layer].rope_width == 2;
}

static const char *idle(const txd_fault_scene *scene, const txd_fault_use *use)
{
    return txd_turn_idle(scene, use, same,
                         "one pair of lanes is the same pair either way");
}

const txd_fault txd_fault_rope_wrong_pairing = {
    .name = "rope_wrong_pairing",
    .sentence = "the lanes of queries and keys are paired the other way",
    .symptom = "the first tokens are fine and it gets worse with distance; norms and "
               "attention patterns look healthy",
    .example =
        "wrong: rotate_half(x)          # a checkpoint whose rows go (2i, 2i+1)\n"
        "right: permute the rows of W_q and W_k on conversion, or rotate pairs (2i, "
        "2i+1)",
    .selectors = TXD_FAULT_LAYERS,
    .inapplicable = txd_fault_needs_rotary,
    .idle = idle,
    .plant = plant,
};
