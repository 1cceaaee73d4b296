/* SPDX-License-Identifier: MIT
 *
 * Fault: a slot of the cache is skipped: the last key of the earlier calls is never
 * seen again.
 */
#include "faults/fault.h"

static bool sight(const txd_mask_view *mask, size_t query, size_t key, size_t keys,
                  bool seen)
{
    (void)query;
    (void)keys;
    return seen && key + 1 != mask->past;
}

static txd_status plant(txd_plan *plan, const txd_fault_use *use)
{
    return txd_plan_sight(plan, use, sight);
}

const txd_fault txd_fault_cache_hole = {
    .name = "cache_hole",
    .sentence = "a slot of the cache is skipped: queries do not see the last key of "
                "earlier calls",
    .symptom = "text is right for a while after the prompt, then forgets single words",
    .example = "wrong: cache[length + 1] = k (and the row between stays empty)\n"
               "right: cache[length] = k",
    .selectors = TXD_FAULT_TILES,
    .inapplicable = txd_fault_needs_cache,
    .plant = plant,
};
