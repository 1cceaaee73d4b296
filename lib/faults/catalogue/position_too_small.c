/* SPDX-License-Identifier: MIT
 *
 * Fault: learned position embeddings far smaller than the token embeddings.
 */
#include "faults/fault.h"

static txd_status plant(txd_plan *plan, const txd_fault_use *use)
{
    return txd_plan_scale(plan, use, TXD_PARAM_EMBED_POS);
}

static const char *inapplicable(const txd_fault_scene *scene)
{
    return scene->claimed->positions == TXD_POSITIONS_LEARNED
               ? NULL
               : "needs learned positions: this model has no position embeddings to "
                 "shrink";
}

const txd_fault txd_fault_position_too_small = {
    .name = "position_too_small",
    .sentence = "learned position embeddings are strength (0.001) times as large",
    .symptom = "word order has no effect",
    .example = "wrong: normal_(positions.weight, std=2e-5)\n"
               "right: normal_(positions.weight, std=0.02)",
    .selectors = TXD_FAULT_STRENGTH,
    .strength = 0.001,
    .inapplicable = inapplicable,
    .idle = txd_fault_idle_at_one,
    .plant = plant,
};
