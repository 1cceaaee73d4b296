/* SPDX-License-Identifier: MIT
 *
 * Fault: the values of two tokens side by side are pooled to their mean before
 * attention sums them, so that the first of the two has some of the second, past the
 * mask.
 */
#include "faults/edit.h"

/* Both get the mean; that is its own transpose, so that gradients go the same way. */
static txd_status pool(void *self, txd_block *block)
{
    const txd_tensor *v = &block->value; /* (b, g, k, f) */
    size_t length = v->dims[2], width = v->dims[3];

    (void)self;
    for (size_t row = 0; row < v->dims[0] * v->dims[1]; row++)
        for (size_t i = row * length * width; i < ((row + 1) * length - 1) * width;
             i++) {
            size_t token = i / width % length;
            double mean;

            if (token % 2 != 0)
                continue;
            mean = (txd_tensor_get(v, i) + txd_tensor_get(v, i + width)) / 2;
            txd_edit_set(block, i, mean);
            txd_edit_set(block, i + width, mean);
        }
    return TXD_OK;
}

static txd_status plant(txd_plan *plan, const txd_fault_use *use)
{
    return txd_plan_edit_both(plan, use, TXD_POINT_ATTN_V, pool);
}

static const char *idle(const txd_fault_scene *scene, const txd_fault_use *use)
{
    (void)use;
    return scene->inputs->length == 1 ? "one token has no neighbour to be pooled with"
                                      : NULL;
}

const txd_fault txd_fault_block_means = {
    .name = "block_means",
    .sentence =
        "values are pooled over blocks of two tokens before attention sums them",
    .symptom = "the weights are right and causal, yet a token knows something of the "
               "next: the loss is too good, generation is not",
    .example = "wrong: v = avg_pool1d(v, 2).repeat_interleave(2)\n"
               "right: v",
    .selectors = TXD_FAULT_LAYERS,
    .idle = idle,
    .plant = plant,
};
