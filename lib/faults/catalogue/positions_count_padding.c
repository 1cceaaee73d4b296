/* SPDX-License-Identifier: MIT
 *
 * Fault: positions are the places of tokens in the padded row, so that padding before
 * them shifts them.
 */
#include "faults/edit.h"

static int32_t position_of(const txd_fault_scene *scene, size_t place)
{
    size_t most = scene->claimed->max_seq_len;

    return (int32_t)(most > 0 && place >= most ? most - 1 : place);
}

static txd_status count(void *self, txd_block *block)
{
    const txd_fault_use *use = self;
    const txd_inputs *inputs = block->pass->inputs;
    const txd_fault_scene scene = {.claimed = block->pass->claimed};
    int32_t *positions = block->value.data;

    for (size_t i = 0; i < inputs->batch * inputs->length; i++)
        if (txd_range_has(&use->batch, i / inputs->length))
            positions[i] = position_of(&scene, inputs->past + i % inputs->length);
    return TXD_OK;
}

static txd_status plant(txd_plan *plan, const txd_fault_use *use)
{
    return txd_plan_edit_point(plan, use, TXD_POINT_INPUT_POSITIONS, count);
}

static const char *idle(const txd_fault_scene *scene, const txd_fault_use *use)
{
    const txd_inputs *inputs = scene->inputs;

    for (size_t i = 0; i < inputs->batch * inputs->length; i++)
        if (inputs->valid[i] && txd_range_has(&use->batch, i / inputs->length) &&
            inputs->positions[i] !=
                position_of(scene, inputs->past + i % inputs->length))
            return NULL;
    return "no real token stands behind padding (input.pad = \"left\")";
}

const txd_fault txd_fault_positions_count_padding = {
    .name = "positions_count_padding",
    .sentence = "positions are counted over the padded row, its padding included",
    .symptom = "a text gets other answers in a batch with longer ones, padded on the "
               "left, than alone",
    .example = "wrong: position_ids = arange(n).expand(b, n)\n"
               "right: position_ids = (mask.cumsum(-1) - 1).clamp(min=0)",
    .selectors = TXD_FAULT_BATCH,
    .inapplicable = txd_fault_needs_absolute_positions,
    .idle = idle,
    .plant = plant,
};
