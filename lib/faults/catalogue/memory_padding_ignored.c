/* SPDX-License-Identifier: MIT
 *
 * Fault: cross-attention is called without the padding mask of the memory.
 */
#include "faults/wrap.h"

static txd_status visible(txd_ctx *ctx, const struct txd_visible_args *args)
{
    TXD_TRY(txd_below_visible(ctx, args));
    if (txd_point_attention((txd_point)args->at.point) != TXD_ATTENTION_CROSS)
        return TXD_OK;
    for (size_t r = 0; r < args->rows; r++)
        for (size_t k = 0; txd_wrap_has_row(&args->at, r) && k < args->keys; k++)
            if (!args->mask->key_valid[k])
                args->out[r * args->keys + k] = 1;
    return TXD_OK;
}

static txd_status plant(txd_plan *plan, const txd_fault_use *use)
{
    static const struct txd_ops mine = {.visible = visible};

    return txd_plan_wrap(plan, use, &mine, NULL);
}

/* True if the memory of a batch row has padding. */
static bool has_padding(const txd_inputs *inputs, size_t b)
{
    for (size_t k = 0; k < inputs->memory_length; k++)
        if (!inputs->memory_valid[b * inputs->memory_length + k])
            return true;
    return false;
}

static const char *inapplicable(const txd_fault_scene *scene)
{
    const txd_inputs *inputs = scene->inputs;

    if (!scene->claimed->cross)
        return "needs cross-attention (model.cross = true)";
    for (size_t b = 0; inputs != NULL && b < inputs->batch; b++)
        if (has_padding(inputs, b))
            return NULL;
    return inputs == NULL ? NULL : "needs a memory with padding (input.memory.valid)";
}

static const char *idle(const txd_fault_scene *scene, const txd_fault_use *use)
{
    const txd_inputs *inputs = scene->inputs;

    for (size_t b = 0; b < inputs->batch; b++)
        for (size_t q = 0; txd_range_has(&use->batch, b) && q < inputs->length; q++)
            if (inputs->valid[b * inputs->length + q] &&
                txd_range_has(&use->queries, q) && has_padding(inputs, b))
                return NULL;
    return "no real query attends to a memory with padding";
}

const txd_fault txd_fault_memory_padding_ignored = {
    .name = "memory_padding_ignored",
    .sentence = "cross-attention sees the padding of the memory",
    .symptom =
        "a source gives other numbers alone than padded in a batch; targets copy "
        "from what is not there",
    .example = "wrong: cross_attn(x, memory)\n"
               "right: cross_attn(x, memory, mask=memory_padding)",
    .selectors = TXD_FAULT_TILES,
    .inapplicable = inapplicable,
    .idle = idle,
    .plant = plant,
};
