/* SPDX-License-Identifier: MIT
 *
 * Fault: the positions of batch row 0 are used for all rows.
 */
#include "faults/edit.h"

static txd_status edit(void *self, txd_block *block)
{
    const txd_fault_use *use = self;
    const txd_inputs *inputs = block->pass->inputs;
    int32_t *positions = block->value.data;

    for (size_t i = inputs->length; i < inputs->batch * inputs->length; i++)
        if (txd_range_has(&use->batch, i / inputs->length))
            positions[i] = inputs->positions[i % inputs->length];
    return TXD_OK;
}

static txd_status plant(txd_plan *plan, const txd_fault_use *use)
{
    return txd_plan_edit_point(plan, use, TXD_POINT_INPUT_POSITIONS, edit);
}

static const char *idle(const txd_fault_scene *scene, const txd_fault_use *use)
{
    const txd_inputs *inputs = scene->inputs;

    for (size_t i = inputs->length; i < inputs->batch * inputs->length; i++)
        if (inputs->valid[i] && txd_range_has(&use->batch, i / inputs->length) &&
            inputs->positions[i] != inputs->positions[i % inputs->length])
            return NULL;
    return "no row has a real token at another position than row 0 has there";
}

const txd_fault txd_fault_positions_of_first_row = {
    .name = "positions_of_first_row",
    .sentence = "the positions of batch row 0 are used for all rows",
    .symptom = "answers depend on which text stands first in the batch",
    .example = "wrong: position_ids[0].expand(b, n)\n"
               "right: position_ids",
    .selectors = TXD_FAULT_BATCH,
    .inapplicable = txd_fault_needs_absolute_positions,
    .idle = idle,
    .plant = plant,
};
