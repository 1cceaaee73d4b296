/* SPDX-License-Identifier: MIT
 *
 * Fault: all heads use the q and k rows of head 0, so that all attend alike and the
 * heads are one head. Their values stay their own.
 */
#include "faults/projection.h"

static bool repeat(txd_params *params, const txd_config *config, txd_projected which,
                   int layer, size_t heads)
{
    txd_projection first = txd_projection_of(params, config, which, layer, 0);
    bool changed = false;

    for (size_t h = 1; h < heads; h++) {
        txd_projection head = txd_projection_of(params, config, which, layer, h);

        changed |= txd_projection_copy(&head, &first);
    }
    return changed;
}

static bool make_alike(txd_params *params, const txd_config *config, int layer)
{
    bool changed = repeat(params, config, TXD_PROJECTED_Q, layer, config->n_heads);

    return repeat(params, config, TXD_PROJECTED_K, layer, config->n_kv_heads) ||
           changed;
}

static txd_status plant(txd_plan *plan, const txd_fault_use *use)
{
    return txd_plan_edit_layers(plan, use, make_alike,
                                "the heads' q and k rows are the same already");
}

const txd_fault txd_fault_heads_identical = {
    .name = "heads_identical",
    .sentence = "all heads use the q and k rows of head 0",
    .symptom = "all heads draw the same picture; the model has the power of one head",
    .example = "wrong: w_q = w_head.repeat(n_heads, 1)      # one draw for all heads\n"
               "right: w_q = torch.cat([draw() for _ in range(n_heads)])",
    .selectors = TXD_FAULT_LAYERS,
    .inapplicable = txd_fault_needs_heads,
    .plant = plant,
};
