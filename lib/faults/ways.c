/* SPDX-License-Identifier: MIT
 *
 * Ways in which faults act, put into a plan: overrides, edits of parameters, taps. Each
 * list is kept in the order of `faults`, so that a later one wraps an earlier one.
 */
#include "faults/fault.h"

txd_status txd_plan_override(txd_plan *plan, int layer,
                             void (*install)(struct txd_layer_ops *ops, void *self),
                             void *self)
{
    struct txd_override *override = txd_arena_alloc(plan->arena, 1, sizeof *override);
    struct txd_override **end = &plan->overrides;

    if (override == NULL)
        return TXD_ERR_MEMORY;
    override->layer = layer;
    override->install = install;
    override->self = self;
    while (*end != NULL)
        end = &(*end)->next;
    *end = override;
    return TXD_OK;
}

txd_status txd_plan_edit(txd_plan *plan,
                         txd_status (*edit)(const void *self, txd_params *params),
                         const void *self)
{
    struct txd_param_edit *entry = txd_arena_alloc(plan->arena, 1, sizeof *entry);
    struct txd_param_edit **end = &plan->edits;

    if (entry == NULL)
        return TXD_ERR_MEMORY;
    entry->edit = edit;
    entry->self = self;
    while (*end != NULL)
        end = &(*end)->next;
    *end = entry;
    return TXD_OK;
}

txd_status txd_plan_tap(txd_plan *plan, const txd_tap *tap)
{
    struct txd_plan_tap *entry = txd_arena_alloc(plan->arena, 1, sizeof *entry);
    struct txd_plan_tap **end = &plan->taps;

    if (entry == NULL)
        return TXD_ERR_MEMORY;
    entry->tap = *tap;
    while (*end != NULL)
        end = &(*end)->next;
    *end = entry;
    return TXD_OK;
}

struct scaling {
    txd_param_id id;
    double factor;
};

static txd_status scale(const void *self, txd_params *params)
{
    const struct scaling *scaling = self;
    txd_tensor *value = &txd_params_get(params, scaling->id, -1)->value;
    size_t count = txd_tensor_count(value);

    for (size_t i = 0; i < count; i++) {
        if (value->dtype == TXD_F64)
            ((double *)value->data)[i] *= scaling->factor;
        else
            ((float *)value->data)[i] =
                (float)(scaling->factor * (double)((float *)value->data)[i]);
    }
    return TXD_OK;
}

txd_status txd_plan_scale(txd_plan *plan, const txd_fault_use *use, txd_param_id id)
{
    struct scaling *scaling = txd_arena_alloc(plan->arena, 1, sizeof *scaling);

    if (scaling == NULL)
        return TXD_ERR_MEMORY;
    scaling->id = id;
    scaling->factor = use->strength;
    return txd_plan_edit(plan, scale, scaling);
}
