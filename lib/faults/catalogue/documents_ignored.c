/* SPDX-License-Identifier: MIT
 *
 * Fault: sequences that are packed side by side are masked as if they were one.
 */
#include "faults/fault.h"

static bool sight(const txd_mask_view *mask, size_t query, size_t key, size_t keys,
                  bool seen)
{
    txd_mask_view one = *mask;

    (void)keys;
    one.key_document = NULL;
    return seen || txd_mask_hides(&one, query, key) == TXD_SEEN;
}

static txd_status plant(txd_plan *plan, const txd_fault_use *use)
{
    return txd_plan_sight(plan, use, sight);
}

static const char *inapplicable(const txd_fault_scene *scene)
{
    if (scene->inputs != NULL && !txd_inputs_have_documents(scene->inputs))
        return "needs a row of several documents (input.documents)";
    return NULL;
}

static const char *idle(const txd_fault_scene *scene, const txd_fault_use *use)
{
    return txd_sight_changes(scene, use, sight)
               ? NULL
               : "no real query has a key that only the documents hide";
}

const txd_fault txd_fault_documents_ignored = {
    .name = "documents_ignored",
    .sentence = "packed sequences are masked as one: documents see each other",
    .symptom = "the output of a sequence depends on what it is packed with, whether or "
               "not positions begin anew",
    .example = "wrong: mask = tril(ones(n, n))        # position_ids begin anew\n"
               "right: mask = tril(ones(n, n)) & (doc[:, None] == doc[None, :])",
    .selectors = TXD_FAULT_TILES,
    .inapplicable = inapplicable,
    .idle = idle,
    .plant = plant,
};
