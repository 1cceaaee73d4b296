/* SPDX-License-Identifier: MIT
 *
 * Fault: the triangle that hides later keys begins at the diagonal, so that no query
 * sees its own key; the first sees none.
 */
#include "faults/fault.h"

static bool sight(const txd_mask_view *mask, size_t query, size_t key, size_t keys,
                  bool seen)
{
    bool is_own = mask->key_positions[key] == mask->query_positions[query];

    (void)keys;
    return seen && !is_own;
}

static txd_status plant(txd_plan *plan, const txd_fault_use *use)
{
    return txd_plan_sight(plan, use, sight);
}

static const char *idle(const txd_fault_scene *scene, const txd_fault_use *use)
{
    return txd_sight_changes(scene, use, sight) ? NULL : "the queries are padding";
}

const txd_fault txd_fault_diagonal_masked = {
    .name = "diagonal_masked",
    .sentence = "the mask hides the diagonal too: no query sees its own key",
    .symptom = "NaN (or a zero row) at the first token; the others never attend to "
               "themselves",
    .example = "wrong: triu(ones(n, n), diagonal=0)\n"
               "right: triu(ones(n, n), diagonal=1)",
    .selectors = TXD_FAULT_TILES,
    .idle = idle,
    .plant = plant,
};
