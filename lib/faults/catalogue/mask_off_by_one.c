/* SPDX-License-Identifier: MIT
 *
 * Fault: the causal mask begins one key too late, so that query q also sees key q + 1.
 */
#include "faults/fault.h"

static bool sight(const txd_mask_view *mask, size_t query, size_t key, size_t keys,
                  bool seen)
{
    int64_t ahead = (int64_t)mask->key_positions[key] - mask->query_positions[query];

    (void)keys;
    return seen ||
           (ahead == 1 && txd_mask_hides(mask, query, key) == TXD_HIDDEN_FUTURE);
}

static txd_status plant(txd_plan *plan, const txd_fault_use *use)
{
    return txd_plan_sight(plan, use, sight);
}

static const char *idle(const txd_fault_scene *scene, const txd_fault_use *use)
{
    return txd_sight_changes(scene, use, sight)
               ? NULL
               : "no real query has a next key that the causal mask hides";
}

const txd_fault txd_fault_mask_off_by_one = {
    .name = "mask_off_by_one",
    .sentence = "the causal mask begins one key late: query q also sees key q + 1",
    .symptom =
        "loss near zero (each token sees the one to predict), useless generation",
    .example = "wrong: triu(ones(n, n), diagonal=2)\n"
               "right: triu(ones(n, n), diagonal=1)",
    .selectors = TXD_FAULT_TILES,
    .inapplicable = txd_fault_needs_causal,
    .idle = idle,
    .plant = plant,
};
