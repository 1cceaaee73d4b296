/* SPDX-License-Identifier: MIT
 *
 * Fault: the padding mask is laid along the queries instead of the keys: padded queries
 * see nothing, and real ones see padding.
 */
#include "faults/fault.h"

/* Positions that count real tokens put padding on either side before real ones. */
static bool sight(const txd_mask_view *mask, size_t query, size_t key, size_t keys,
                  bool seen)
{
    if (query < keys && !mask->key_valid[query])
        return false;
    return seen || (!mask->key_valid[key] &&
                    mask->query_document[query] == mask->key_document[key]);
}

static txd_status plant(txd_plan *plan, const txd_fault_use *use)
{
    return txd_plan_sight(plan, use, sight);
}

static const char *idle(const txd_fault_scene *scene, const txd_fault_use *use)
{
    return txd_sight_changes(scene, use, sight) ? NULL
                                                : "no real query has padding beside it";
}

const txd_fault txd_fault_mask_on_queries = {
    .name = "mask_on_queries",
    .sentence = "the padding mask is laid along the queries, not the keys",
    .symptom =
        "rows of padded queries are empty or uniform, and real queries attend to "
        "padding",
    .example = "wrong: mask = padding[:, None, :, None]\n"
               "right: mask = padding[:, None, None, :]",
    .selectors = TXD_FAULT_TILES,
    .inapplicable = txd_fault_needs_padding,
    .idle = idle,
    .plant = plant,
};
