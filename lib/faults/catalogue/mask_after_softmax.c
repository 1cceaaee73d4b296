/* SPDX-License-Identifier: MIT
 *
 * Fault: the mask multiplies the weights after the softmax, without normalising again,
 * so that rows sum to what the seen keys happened to get.
 */
#include "faults/fault.h"

#include <string.h>

struct state {
    const txd_config *config;
    txd_range layers, heads, queries, batch;
};

static bool sight(const txd_mask_view *mask, size_t query, size_t key, size_t keys,
                  bool seen)
{
    (void)mask;
    (void)query;
    (void)key;
    (void)keys;
    (void)seen;
    return true;
}

static unsigned ask(void *self, const txd_site *site)
{
    const struct state *state = self;
    bool here = site->kind == TXD_SITE_VALUE && site->point == TXD_POINT_ATTN_WEIGHTS &&
                txd_range_has(&state->layers, (size_t)site->layer);

    return here ? TXD_ASK_EDIT : 0;
}

static void zero_row(txd_block *block, const txd_mask_view *mask, size_t row, size_t q)
{
    size_t keys = block->value.dims[3];

    for (size_t k = 0; k < keys; k++)
        if (txd_mask_hides(mask, q, k) != TXD_SEEN) {
            if (block->value.dtype == TXD_F64)
                ((double *)block->value.data)[row * keys + k] = 0;
            else
                ((float *)block->value.data)[row * keys + k] = 0;
        }
}

static txd_status edit(void *self, txd_block *block)
{
    const struct state *state = self;
    const size_t *dims = block->value.dims;
    const txd_layer_config *layer = &state->config->layers[block->site->layer];

    for (size_t b = 0; b < dims[0]; b++) {
        txd_mask_view mask = txd_mask_of(layer, block->pass->inputs, b);

        for (size_t h = 0; h < dims[1]; h++)
            for (size_t q = 0; q < dims[2]; q++)
                if (txd_range_has(&state->batch, b) &&
                    txd_range_has(&state->heads, h) &&
                    txd_range_has(&state->queries, q))
                    zero_row(block, &mask, (b * dims[1] + h) * dims[2] + q, q);
    }
    return TXD_OK;
}

static txd_status plant(txd_plan *plan, const txd_fault_use *use)
{
    struct state *state = txd_arena_alloc(plan->arena, 1, sizeof *state);
    txd_tap tap = {.name = use->name, .ask = ask, .edit = edit};

    if (state == NULL)
        return TXD_ERR_MEMORY;
    state->config = &plan->config;
    state->layers = use->layers;
    state->heads = use->heads;
    state->queries = use->queries;
    state->batch = use->batch;
    tap.self = state;
    TXD_TRY(txd_plan_sight(plan, use, sight));
    return txd_plan_tap(plan, &tap);
}

static const char *idle(const txd_fault_scene *scene, const txd_fault_use *use)
{
    return txd_sight_changes(scene, use, sight) ? NULL
                                                : "no real query has a hidden key";
}

const txd_fault txd_fault_mask_after_softmax = {
    .name = "mask_after_softmax",
    .sentence =
        "the mask multiplies the weights after the softmax, not normalised again",
    .symptom = "rows sum to less than 1, early queries most; the output shrinks",
    .example = "wrong: softmax(scores) * mask\n"
               "right: softmax(scores.masked_fill(mask == 0, -inf))",
    .selectors = TXD_FAULT_TILES,
    .inapplicable = txd_fault_needs_mask,
    .idle = idle,
    .plant = plant,
};
