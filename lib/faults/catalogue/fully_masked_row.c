/* SPDX-License-Identifier: MIT
 *
 * Fault: one query sees no key at all, not even its own.
 */
#include "faults/fault.h"

static bool none(const txd_mask_view *mask, size_t query, size_t key, size_t keys,
                 bool seen)
{
    (void)mask;
    (void)query;
    (void)key;
    (void)keys;
    (void)seen;
    return false;
}

static bool none_for_last(const txd_mask_view *mask, size_t query, size_t key,
                          size_t keys, bool seen)
{
    (void)mask;
    (void)key;
    return query + 1 == keys ? false : seen;
}

/* "*" says which, although it reads as no range at all. */
static txd_sight sight_of(const txd_fault_use *use)
{
    bool is_given = use->queries.count > 0 ||
                    (use->setting && txd_setting_find(use->setting, "queries"));

    return is_given ? none : none_for_last;
}

static txd_status plant(txd_plan *plan, const txd_fault_use *use)
{
    return txd_plan_sight(plan, use, sight_of(use));
}

static const char *idle(const txd_fault_scene *scene, const txd_fault_use *use)
{
    return txd_sight_changes(scene, use, sight_of(use))
               ? NULL
               : "the queries are padding, or have one key alone";
}

const txd_fault txd_fault_fully_masked_row = {
    .name = "fully_masked_row",
    .sentence = "a query (the last, unless queries says which) sees no key at all",
    .symptom = "NaN after the softmax, or silently a zero or a uniform row",
    .example =
        "wrong: mask = padding & causal     # row of a padded query: all hidden\n"
        "right: keep the diagonal open, or define what an empty row gives",
    .selectors = TXD_FAULT_TILES,
    .idle = idle,
    .plant = plant,
};
