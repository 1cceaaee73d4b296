/* SPDX-License-Identifier: MIT
 *
 * Fault: the padding mask is not applied: queries attend to padding tokens.
 */
#include "faults/fault.h"

/* On either side: a causal mask alone would hide padding on the right from real tokens,
 * but positions that count real tokens only (as here) put it at the beginning. */
static bool sight(const txd_mask_view *mask, size_t query, size_t key, size_t keys,
                  bool seen)
{
    (void)keys;
    (void)query;
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

const txd_fault txd_fault_padding_ignored = {
    .name = "padding_ignored",
    .sentence = "the padding mask is not applied: real tokens attend to padding",
    .symptom = "a sequence gives other numbers alone than padded in a batch",
    .example = "wrong: attention(q, k, v, causal)\n"
               "right: attention(q, k, v, minimum(causal, padding))",
    .selectors = TXD_FAULT_TILES,
    .inapplicable = txd_fault_needs_padding,
    .idle = idle,
    .plant = plant,
};
