/* SPDX-License-Identifier: MIT
 *
 * Fault: the data are shifted by one, and the loss shifts once more, so that position t
 * is to predict token t + 2.
 */
#include "faults/fault.h"

static unsigned ask(void *self, const txd_site *site)
{
    (void)self;
    return site->kind == TXD_SITE_VALUE && site->point == TXD_POINT_INPUT_LABELS
               ? TXD_ASK_EDIT
               : 0;
}

static txd_status edit(void *self, txd_block *block)
{
    const txd_fault_use *use = self;
    size_t batch = block->value.dims[0], length = block->value.dims[1];
    int32_t *labels = block->value.data;

    for (size_t b = 0; b < batch; b++, labels += length)
        for (size_t t = 0; txd_range_has(&use->batch, b) && t < length; t++)
            labels[t] = t + 1 < length ? labels[t + 1] : -1;
    return TXD_OK;
}

static txd_status plant(txd_plan *plan, const txd_fault_use *use)
{
    txd_tap tap = {.name = use->name, .self = (void *)use, .ask = ask, .edit = edit};

    return txd_plan_tap(plan, &tap);
}

static const char *idle(const txd_fault_scene *scene, const txd_fault_use *use)
{
    const txd_inputs *inputs = scene->inputs;

    for (size_t b = 0; b < inputs->batch; b++)
        for (size_t t = 0; txd_range_has(&use->batch, b) && t < inputs->length; t++)
            if (txd_inputs_is_pair(inputs, b * inputs->length + t))
                return NULL;
    return "no row has two real tokens side by side, so there is no loss";
}

const txd_fault txd_fault_labels_shifted_twice = {
    .name = "labels_shifted_twice",
    .sentence = "labels are shifted twice: position t is to predict token t + 2",
    .symptom = "the loss falls, but far too slowly; generation skips every other token",
    .example = "wrong: loss(logits[:, :-1], labels[:, 1:])   # labels = tokens[:, 1:]\n"
               "right: loss(logits[:, :-1], tokens[:, 1:])",
    .selectors = TXD_FAULT_BATCH,
    .idle = idle,
    .plant = plant,
};
