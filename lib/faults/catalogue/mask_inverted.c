/* SPDX-License-Identifier: MIT
 *
 * Fault: the mask's polarity is mistaken: what should be seen is hidden, and the
 * reverse.
 */
#include "faults/fault.h"

static bool sight(const txd_mask_view *mask, size_t query, size_t key, size_t keys,
                  bool seen)
{
    (void)mask;
    (void)query;
    (void)key;
    (void)keys;
    return !seen;
}

static txd_status plant(txd_plan *plan, const txd_fault_use *use)
{
    return txd_plan_sight(plan, use, sight);
}

static const char *idle(const txd_fault_scene *scene, const txd_fault_use *use)
{
    return txd_sight_changes(scene, use, sight)
               ? NULL
               : "the queries are padding, or have one key alone";
}

const txd_fault txd_fault_mask_inverted = {
    .name = "mask_inverted",
    .sentence = "the mask's polarity is mistaken: seen keys are hidden and hidden seen",
    .symptom = "every query attends to the future only; the last one to nothing",
    .example =
        "wrong: scores.masked_fill(mask, -inf)        # mask: True = may be seen\n"
        "right: scores.masked_fill(mask == 0, -inf)",
    .selectors = TXD_FAULT_TILES,
    .inapplicable = txd_fault_needs_mask,
    .idle = idle,
    .plant = plant,
};
