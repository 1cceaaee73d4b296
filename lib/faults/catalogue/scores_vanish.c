/* SPDX-License-Identifier: MIT
 *
 * Fault: the scores are scaled away, so that every query attends to all keys alike.
 */
#include "faults/fault.h"

static txd_status plant(txd_plan *plan, const txd_fault_use *use)
{
    for (size_t l = 0; l < plan->config.n_layers; l++)
        if (txd_range_has(&use->layers, l))
            plan->config.layers[l].score_scale *= use->strength;
    return TXD_OK;
}

const txd_fault txd_fault_scores_vanish = {
    .name = "scores_vanish",
    .sentence = "the score scale is strength (1e-6) times what it is",
    .symptom = "attention is all grey: every token gets the mean of what it sees",
    .example = "wrong: scores = q @ k.T * 1e-6  # or divided by the number of tokens\n"
               "right: scores = q @ k.T / sqrt(head_dim)",
    .selectors = TXD_FAULT_LAYERS | TXD_FAULT_STRENGTH,
    .strength = 1e-6,
    .idle = txd_fault_idle_at_one,
    .plant = plant,
};
