/* SPDX-License-Identifier: MIT
 *
 * Ways in which faults act, put into a plan: overrides, edits of parameters, taps. Each
 * list is kept in the order of `faults`, so that a later one wraps an earlier one; but
 * overrides that do without what they replace come before all that wrap.
 */
#include "faults/fault.h"

txd_status txd_plan_override(txd_plan *plan, const struct txd_override *override)
{
    struct txd_override *entry = txd_arena_alloc(plan->arena, 1, sizeof *entry);
    struct txd_override **end = &plan->overrides;

    if (entry == NULL)
        return TXD_ERR_MEMORY;
    while (*end != NULL && (!override->inner || (*end)->inner))
        end = &(*end)->next;
    *entry = *override;
    entry->next = *end;
    *end = entry;
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

txd_status txd_plan_norm_eps(txd_plan *plan, const txd_fault_use *use)
{
    for (size_t l = 0; l < plan->config.n_layers; l++)
        if (txd_range_has(&use->layers, l))
            plan->config.layers[l].norm_eps = use->strength;
    return TXD_OK;
}

txd_status txd_plan_fill(txd_plan *plan, const txd_fault_use *use)
{
    for (size_t l = 0; l < plan->config.n_layers; l++)
        if (txd_range_has(&use->layers, l))
            plan->config.layers[l].fill = use->strength;
    return TXD_OK;
}

void txd_param_scale(txd_param *param, double factor)
{
    size_t count = txd_tensor_count(&param->value);

    for (size_t i = 0; i < count; i++) {
        if (param->value.dtype == TXD_F64)
            ((double *)param->value.data)[i] *= factor;
        else
            ((float *)param->value.data)[i] =
                (float)(factor * (double)((float *)param->value.data)[i]);
    }
}

struct scaling {
    txd_param_id id;
    double factor;
};

static txd_status scale(const void *self, txd_params *params)
{
    const struct scaling *scaling = self;

    txd_param_scale(txd_params_get(params, scaling->id, -1), scaling->factor);
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
