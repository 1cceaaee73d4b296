/* SPDX-License-Identifier: MIT
 *
 * How most mask faults act: an override of the operation that says which query sees
 * which key, in chosen heads, queries and batch rows of chosen layers.
 */
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
