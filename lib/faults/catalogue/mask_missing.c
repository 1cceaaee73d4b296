/* SPDX-License-Identifier: MIT
 *
 * Fault: the causal mask is never applied; padding and documents still are.
 */
#include "faults/fault.h"

static bool sight(const txd_mask_view *mask, size_t query, size_t key, size_t keys,
                  bool seen)
{
    txd_mask_view without = *mask;

    (void)keys;
    without.causal = false;
    return seen || txd_mask_hides(&without, query, key) == TXD_SEEN;
}

static txd_status plant(txd_plan *plan, const txd_fault_use *use)
{
    return txd_plan_sight(plan, use, sight);
}

static const char *idle(const txd_fault_scene *scene, const txd_fault_use *use)
{
    return txd_sight_changes(scene, use, sight)
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
