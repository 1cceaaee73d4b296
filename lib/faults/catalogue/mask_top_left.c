/* SPDX-License-Identifier: MIT
 *
 * Fault: where a cache has keys of earlier calls, the causal mask is that of a square
 * cut to size: query r of the call sees keys 0 to r.
 */
#include "faults/fault.h"

static bool sight(const txd_mask_view *mask, size_t query, size_t key, size_t keys,
                  bool seen)
{
    (void)keys;
    return seen && (!mask->causal || key <= query);
}

static txd_status plant(txd_plan *plan, const txd_fault_use *use)
{
    return txd_plan_sight(plan, use, sight);
}

static const char *inapplicable(const txd_fault_scene *scene)
{
    const char *reason = txd_fault_needs_causal(scene);

    return reason != NULL ? reason : txd_fault_needs_cache(scene);
}

const txd_fault txd_fault_mask_top_left = {
    .name = "mask_top_left",
    .sentence =
        "with more keys than queries the causal mask is aligned to the top left "
        "corner: query r of a call sees keys 0 to r",
    .symptom = "a prompt in one piece is right; in chunks, or token by token with a "
               "cache, the newest keys are not seen and the text falls apart",
    .example = "wrong: tril(ones(q, k))\n"
               "right: tril(ones(q, k), diagonal=k - q)",
    .selectors = TXD_FAULT_TILES,
    .inapplicable = inapplicable,
    .plant = plant,
};
