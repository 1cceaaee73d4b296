/* SPDX-License-Identifier: MIT
 *
 * Fault: token embeddings so large that the position embeddings added to them vanish.
 */
#include "faults/fault.h"

static txd_status edit(const void *self, txd_params *params)
{
    const txd_fault_use *use = self;

    txd_param_scale(txd_params_get(params, TXD_PARAM_EMBED_TOK, -1), use->strength);
    return TXD_OK;
}

static txd_status plant(txd_plan *plan, const txd_fault_use *use)
{
    return txd_plan_edit(plan, edit, use);
}

const txd_fault txd_fault_embedding_too_large = {
    .name = "embedding_too_large",
    .sentence = "token embeddings are strength (100) times too large",
    .symptom = "positions drown: the model treats a sentence as a bag of words",
    .example = "wrong: normal_(embedding.weight, std=2.0)\n"
               "right: normal_(embedding.weight, std=0.02)",
    .selectors = TXD_FAULT_STRENGTH,
    .strength = 100,
    .inapplicable = txd_fault_needs_added_positions,
    .plant = plant,
};
