/* SPDX-License-Identifier: MIT
 *
 * Fault: positions that count earlier calls already get their number added once more.
 */
#include "faults/fault.h"

static unsigned ask(void *self, const txd_site *site)
{
    (void)self;
    return site->kind == TXD_SITE_VALUE && site->point == TXD_POINT_INPUT_POSITIONS
               ? TXD_ASK_EDIT
               : 0;
}

/* The last position of a model that has one: behind it a lookup would end the
 * program. */
static int64_t last_of(const txd_config *claimed)
{
    return claimed->max_seq_len > 0 ? (int64_t)claimed->max_seq_len - 1 : INT32_MAX;
}

static txd_status edit(void *self, txd_block *block)
{
    const txd_fault_use *use = self;
    size_t batch = block->value.dims[0], length = block->value.dims[1];
    int64_t past = (int64_t)block->pass->inputs->past;
    int64_t last = last_of(block->pass->claimed);
    int32_t *positions = block->value.data;

    for (size_t i = 0; i < batch * length; i++) {
        int64_t twice = positions[i] + past;

        if (txd_range_has(&use->batch, i / length))
            positions[i] = (int32_t)(twice < last ? twice : last);
    }
    return TXD_OK;
}

static txd_status plant(txd_plan *plan, const txd_fault_use *use)
{
    txd_tap tap = {.name = use->name, .self = (void *)use, .ask = ask, .edit = edit};

    return txd_plan_tap(plan, &tap);
}

static const char *inapplicable(const txd_fault_scene *scene)
{
    return scene->claimed->positions == TXD_POSITIONS_NONE
               ? "needs positions (model.positions)"
               : txd_fault_needs_cache(scene);
}

const txd_fault txd_fault_cache_position_twice = {
    .name = "cache_position_twice",
    .sentence = "with a cache, the number of earlier tokens is added to positions that "
                "count them already",
    .symptom = "the prompt is right, and generation drifts away the longer it is",
    .example = "wrong: rope(q, positions + cache.length)   # positions are absolute\n"
               "right: rope(q, positions)",
    .selectors = TXD_FAULT_BATCH,
    .inapplicable = inapplicable,
    .plant = plant,
};
