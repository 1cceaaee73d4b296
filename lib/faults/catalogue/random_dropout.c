/* SPDX-License-Identifier: MIT
 *
 * Fault: dropout is active on what sublayers add to the stream, with other elements in
 * every pass of a run. Which ones follows from the number of the step and the place, so
 * that a run can be made again.
 */
#include "base/rng.h"
#include "faults/edit.h"

/* The same elements of a value and of its gradient. */
static uint64_t key_of(const txd_block *block)
{
    char name[96];

    txd_point_name(name, sizeof name, block->site->point, block->site->layer);
    return txd_rng_key((uint64_t)block->pass->step, name);
}

static txd_status drop(void *self, txd_block *block)
{
    const txd_fault_use *use = self;
    uint64_t key = key_of(block);
    double rest = 1 / (1 - use->strength);

    for (size_t i = 0; i < txd_tensor_count(&block->value); i++) {
        double x = txd_tensor_get(&block->value, i);

        txd_edit_set(block, i, txd_rng_uniform(key, i) < use->strength ? 0 : x * rest);
    }
    return TXD_OK;
}

static txd_status plant(txd_plan *plan, const txd_fault_use *use)
{
    TXD_TRY(txd_plan_edit_both(plan, use, TXD_POINT_ATTN_BRANCH, drop));
    return txd_plan_edit_both(plan, use, TXD_POINT_MLP_BRANCH, drop);
}

static const char *idle(const txd_fault_scene *scene, const txd_fault_use *use)
{
    (void)scene;
    return use->strength > 0 && use->strength < 1
               ? NULL
               : "the strength is a rate between 0 and 1";
}

const txd_fault txd_fault_random_dropout = {
    .name = "random_dropout",
    .sentence = "dropout of rate strength (0.1) is active on the branches, with other "
                "elements in each pass",
    .symptom = "the same text gets other answers each time; evaluation is worse than "
               "training says",
    .example = "wrong: model(tokens)  # after model.train()\n"
               "right: model.eval(); model(tokens)",
    .selectors = TXD_FAULT_LAYERS | TXD_FAULT_STRENGTH,
    .strength = 0.1,
    .idle = idle,
    .plant = plant,
};
