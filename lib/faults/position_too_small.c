/* SPDX-License-Identifier: MIT
 *
 * Fault: learned position embeddings far smaller than the token embeddings.
 */
#include "faults/fault.h"

static txd_status edit(const void *self, txd_params *params)
{
    const txd_fault_use *use = self;

    txd_param_scale(txd_params_get(params, TXD_PARAM_EMBED_POS, -1), use->strength);
    return TXD_OK;
}

static txd_status plant(txd_plan *plan, const txd_fault_use *use)
{
    return txd_plan_edit(plan, edit, use);
}

static const char *inapplicable(const txd_config *config, const txd_inputs *inputs)
{
    (void)inputs;
    return config->positions == TXD_POSITIONS_LEARNED
               ? NULL
               : "needs learned positions: this model has no position embeddings to "
                 "shrink";
}

static const char *idle(const txd_config *config, const txd_inputs *inputs,
                        const txd_fault_use *use)
{
    (void)config;
    (void)inputs;
    return use->strength == 1 ? "a strength of 1 leaves the embeddings as they are"
                              : NULL;
}

const txd_fault txd_fault_position_too_small = {
    .name = "position_too_small",
    .sentence = "learned position embeddings are strength (0.001) times as large",
    .symptom = "word order has no effect",
    .example = "wrong: normal_(positions.weight, std=2e-5)\n"
               "right: normal_(positions.weight, std=0.02)",
    .selectors = TXD_FAULT_STRENGTH,
    .strength = 0.001,
    .inapplicable = inapplicable,
    .idle = idle,
    .plant = plant,
};
