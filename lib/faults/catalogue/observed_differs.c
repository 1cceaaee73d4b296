/* SPDX-License-Identifier: MIT
 *
 * Fault: attention has a path of its own for whoever wants to see the weights, and that
 * path forgets the causal mask.
 */
#include "faults/fault.h"

static txd_status plant(txd_plan *plan, const txd_fault_use *use)
{
    return txd_plan_sight_observed(plan, use, txd_sight_without_causal);
}

static const char *idle(const txd_fault_scene *scene, const txd_fault_use *use)
{
    return txd_sight_changes(scene, use, txd_sight_without_causal)
               ? NULL
               : "no real query has a later key that only the causal mask hides";
}

const txd_fault txd_fault_observed_differs = {
    .name = "observed_differs",
    .sentence = "the causal mask is dropped where somebody reads the weights, and only "
                "there",
    .symptom =
        "a model that is fine computes something else while it is looked at: the "
        "picture shows a leak that training does not have",
    .example = "wrong: return fused(q, k, v, causal) if not need_weights\n"
               "       else softmax(q @ k.T) @ v\n"
               "right: the same mask on both paths",
    .selectors = TXD_FAULT_TILES,
    .inapplicable = txd_fault_needs_causal,
    .idle = idle,
    .plant = plant,
};
