/* SPDX-License-Identifier: MIT
 *
 * How most mask faults act: an override of the operation that says which query sees
 * which key, in chosen heads, queries and batch rows of chosen layers.
 */
#include <math.h>

#include "faults/fault.h"

struct state {
    const txd_fault_use *use;
    txd_sight sight;
    txd_status (*below)(txd_ctx *ctx, const struct txd_visible_args *args);
    const void *below_self;
};

static txd_status visible(txd_ctx *ctx, const struct txd_visible_args *args)
{
    const struct state *state = args->at.self;
    const txd_fault_use *use = state->use;
    struct txd_visible_args below = *args;

    below.at.self = state->below_self;
    TXD_TRY(state->below(ctx, &below));
    if (!txd_range_has(&use->batch, (size_t)args->at.batch) ||
        !txd_range_has(&use->heads, (size_t)args->at.head))
        return TXD_OK;
    for (size_t r = 0; r < args->rows; r++) {
        size_t query = (size_t)args->at.first_query + r;

        if (!txd_range_has(&use->queries, query))
            continue;
        for (size_t k = 0; k < args->keys; k++) {
            uint8_t *cell = &args->out[r * args->keys + k];

            *cell = state->sight(args->mask, query, k, args->keys, *cell);
        }
    }
    return TXD_OK;
}

static void install(struct txd_layer_ops *ops, void *self)
{
    struct state *state = self;

    state->below = ops->ops.visible;
    state->below_self = ops->self[TXD_OP_visible];
    ops->ops.visible = visible;
    ops->self[TXD_OP_visible] = state;
}

txd_status txd_plan_sight(txd_plan *plan, const txd_fault_use *use, txd_sight sight)
{
    for (size_t l = 0; l < plan->config.n_layers; l++) {
        struct state *state;

        if (!txd_range_has(&use->layers, l))
            continue;
        state = txd_arena_alloc(plan->arena, 1, sizeof *state);
        if (state == NULL)
            return TXD_ERR_MEMORY;
        state->use = use;
        state->sight = sight;
        TXD_TRY(txd_plan_override(plan, (int)l, install, state));
    }
    return TXD_OK;
}

static bool changes_row(const txd_mask_view *mask, size_t query, size_t keys,
                        txd_sight sight)
{
    for (size_t k = 0; k < keys; k++) {
        bool seen = txd_mask_hides(mask, query, k) == TXD_SEEN;

        if (sight(mask, query, k, keys, seen) != seen)
            return true;
    }
    return false;
}

static bool changes_layer(const txd_layer_config *layer, const txd_inputs *inputs,
                          const txd_fault_use *use, txd_sight sight)
{
    size_t keys = inputs->length;

    /* The softmax of one finite score is 1, whatever the score. */
    if (keys == 1 && isfinite(layer->fill))
        return false;
    for (size_t b = 0; b < inputs->batch; b++) {
        txd_mask_view mask = txd_mask_of(layer, inputs, b);

        for (size_t q = 0; txd_range_has(&use->batch, b) && q < keys; q++)
            if (mask.key_valid[q] && txd_range_has(&use->queries, q) &&
                changes_row(&mask, q, keys, sight))
                return true;
    }
    return false;
}

bool txd_sight_changes(const txd_config *config, const txd_inputs *inputs,
                       const txd_fault_use *use, txd_sight sight)
{
    for (size_t l = 0; l < config->n_layers; l++)
        if (txd_range_has(&use->layers, l) &&
            changes_layer(&config->layers[l], inputs, use, sight))
            return true;
    return false;
}
