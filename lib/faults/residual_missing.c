/* SPDX-License-Identifier: MIT
 *
 * Fault: a block's output replaces the residual stream instead of being added to it.
 */
#include <string.h>

#include "faults/fault.h"

struct state {
    txd_status (*below)(txd_ctx *ctx, const struct txd_pair_args *args);
    const void *below_self;
    size_t element;
};

static txd_status add(txd_ctx *ctx, const struct txd_pair_args *args)
{
    const struct state *state = args->at.self;
    struct txd_pair_args below = *args;

    below.at.self = state->below_self;
    if (args->at.point != TXD_POINT_RESID_MID && args->at.point != TXD_POINT_RESID_POST)
        return state->below(ctx, &below);
    memcpy(args->out, args->b, args->count * state->element);
    return TXD_OK;
}

static void install(struct txd_layer_ops *ops, void *self)
{
    struct state *state = self;

    state->below = ops->ops.add;
    state->below_self = ops->self[TXD_OP_add];
    state->element = ops->element;
    ops->ops.add = add;
    ops->self[TXD_OP_add] = state;
}

static txd_status plant(txd_plan *plan, const txd_fault_use *use)
{
    for (size_t l = 0; l < plan->config.n_layers; l++) {
        struct state *state;

        if (!txd_range_has(&use->layers, l))
            continue;
        state = txd_arena_alloc(plan->arena, 1, sizeof *state);
        if (state == NULL)
            return TXD_ERR_MEMORY;
        TXD_TRY(txd_plan_override(plan, (int)l, install, state));
    }
    return TXD_OK;
}

const txd_fault txd_fault_residual_missing = {
    .name = "residual_missing",
    .sentence = "attention and MLP replace the residual stream instead of adding to it",
    .symptom = "deep stacks do not train, gradients of early layers vanish",
    .example = "wrong: x = attn(norm(x))\n"
               "right: x = x + attn(norm(x))",
    .selectors = TXD_FAULT_LAYERS,
    .plant = plant,
};
