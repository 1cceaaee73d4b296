/* SPDX-License-Identifier: MIT
 *
 * Fault: in a row that several documents are packed into, positions go on counting from
 * one to the next.
 */
#include "faults/edit.h"

/* Real tokens of earlier calls. */
static size_t count_past(const txd_inputs *inputs, size_t row)
{
    size_t real = 0;

    for (size_t k = 0; k < inputs->past; k++)
        real += inputs->keys.valid[row * inputs->keys.stride + k] != 0;
    return real;
}

/* Positions of one row, if they do not begin anew; returns how many differ. */
static size_t count_on(int32_t *out, const txd_inputs *inputs, size_t row, size_t most)
{
    size_t next = count_past(inputs, row), changed = 0;

    for (size_t i = row * inputs->length; i < (row + 1) * inputs->length; i++) {
        size_t position = most > 0 && next >= most ? most - 1 : next;

        if (!inputs->valid[i])
            continue;
        changed += (size_t)inputs->positions[i] != position;
        if (out)
            out[i] = (int32_t)position;
        next++;
    }
    return changed;
}

static txd_status edit(void *self, txd_block *block)
{
    const txd_fault_use *use = self;
    const txd_inputs *inputs = block->pass->inputs;

    for (size_t row = 0; row < inputs->batch; row++)
        if (txd_range_has(&use->batch, row))
            count_on(block->value.data, inputs, row, block->pass->claimed->max_seq_len);
    return TXD_OK;
}

static txd_status plant(txd_plan *plan, const txd_fault_use *use)
{
    return txd_plan_edit_point(plan, use, TXD_POINT_INPUT_POSITIONS, edit);
}

static const char *idle(const txd_fault_scene *scene, const txd_fault_use *use)
{
    for (size_t row = 0; row < scene->inputs->batch; row++)
        if (txd_range_has(&use->batch, row) &&
            count_on(NULL, scene->inputs, row, scene->claimed->max_seq_len) > 0)
            return NULL;
    return "the positions of no row begin anew (input.positions)";
}

const txd_fault txd_fault_positions_not_reset = {
    .name = "positions_not_reset",
    .sentence = "positions go on counting over the documents packed into a row",
    .symptom = "packed training sees positions that a document alone never has; a text "
               "gets other answers packed than alone",
    .example = "wrong: position_ids = arange(n)\n"
               "right: position_ids = arange(n) - start_of_document",
    .selectors = TXD_FAULT_BATCH,
    .inapplicable = txd_fault_needs_absolute_positions,
    .idle = idle,
    .plant = plant,
};
