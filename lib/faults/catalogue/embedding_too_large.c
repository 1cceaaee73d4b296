/* SPDX-License-Identifier: MIT
 *
 * Fault: token embeddings so large that the position embeddings added to them vanish.
 */
#include "faults/fault.h"

static txd_status plant(txd_plan *plan, const txd_fault_use *use)
{
    return txd_plan_scale(plan, use, TXD_PARAM_EMBED_TOK);
}

/* A sinusoidal table has the size that it has: tokens drown it from a size of 7 on,
 * which fresh ones do not reach by any strength that would be called a mistake. */
static const char *inapplicable(const txd_fault_scene *scene)
{
    return scene->claimed->positions == TXD_POSITIONS_LEARNED
               ? NULL
               : "needs learned positions: others have a size of their own, or are not "
                 "added to the token embeddings";
}

const txd_fault txd_fault_embedding_too_large = {
    .name = "embedding_too_large",
    .sentence = "token embeddings are strength (100) times too large",
    .symptom = "positions drown: the model treats a sentence as a bag of words",
    .example = "wrong: normal_(embedding.weight, std=2.0)\n"
               "right: normal_(embedding.weight, std=0.02)",
    .selectors = TXD_FAULT_STRENGTH,
    .strength = 100,
    .inapplicable = inapplicable,
    .idle = txd_fault_idle_at_one,
    .plant = plant,
};
