/* SPDX-License-Identifier: MIT
 *
 * Fault: the causal mask is never applied; padding and documents still are.
 */
#include "faults/fault.h"

static txd_status plant(txd_plan *plan, const txd_fault_use *use)
{
    return txd_plan_sight(plan, use, txd_sight_without_causal);
}

static const char *idle(const txd_fault_scene *scene, const txd_fault_use *use)
{
    return txd_sight_changes(scene, use, txd_sight_without_causal)
               ? NULL
               : "no real query has a later key that only the causal mask hides";
}

const txd_fault txd_fault_mask_missing = {
    .name = "mask_missing",
    .sentence = "the causal mask is not applied: every query sees every later key",
    .symptom = "training loss falls far too fast, generation is nonsense",
    .example = "wrong: softmax(scores)\n"
               "right: softmax(scores.masked_fill(future, -inf))",
    .selectors = TXD_FAULT_TILES,
    .inapplicable = txd_fault_needs_causal,
    .idle = idle,
    .plant = plant,
};
