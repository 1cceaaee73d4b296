/* SPDX-License-Identifier: MIT
 *
 * Planting faults: each use is checked against the model and the input, then puts
 * itself into a plan. Overrides are kept in the order of `faults`, so that a later one
 * wraps an earlier one.
 */
#include <stdio.h>

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

/* Every part of a range must hold something of 0..count-1. */
static txd_status range_fits(const txd_fault_use *use, const txd_range *range,
                             const char *what, size_t count)
{
    for (int i = 0; i < range->count; i++)
        if (range->parts[i].begin >= count)
            return txd_fail(TXD_ERR_INAPPLICABLE,
                            "fault %s: %s %zu is not there: the last is %zu", use->name,
                            what, range->parts[i].begin, count - 1);
    return TXD_OK;
}

static txd_status fits(const txd_fault *fault, const txd_fault_use *use,
                       const txd_config *config, const txd_inputs *inputs)
{
    const char *reason = txd_fault_inapplicable(fault, config, inputs);

    if (reason != NULL)
        return txd_fail(TXD_ERR_INAPPLICABLE, "fault %s cannot act here: it %s",
                        use->name, reason);
    TXD_TRY(range_fits(use, &use->layers, "layer", config->n_layers));
    TXD_TRY(range_fits(use, &use->heads, "head", config->n_heads));
    if (inputs == NULL)
        return TXD_OK;
    TXD_TRY(range_fits(use, &use->queries, "query", inputs->length));
    TXD_TRY(range_fits(use, &use->batch, "batch row", inputs->batch));
    reason = fault->idle == NULL ? NULL : fault->idle(config, inputs, use);
    if (reason == NULL)
        return TXD_OK;
    return txd_fail(TXD_ERR_INAPPLICABLE,
                    "fault %s changes nothing in what it selects: %s", use->name,
                    reason);
}

static txd_status plant(txd_plan *plan, const txd_config *claimed,
                        const txd_inputs *inputs, const txd_fault_use *use)
{
    const txd_fault *fault = txd_fault_find(use->name);
    txd_fault_use *copy = txd_arena_alloc(plan->arena, 1, sizeof *copy);
    char place[256];

    if (copy == NULL)
        return TXD_ERR_MEMORY;
    if (fault == NULL)
        return txd_fail(TXD_ERR_CONFIG, "there is no fault \"%s\"", use->name);
    *copy = *use;
    if (copy->strength == 0)
        copy->strength = fault->strength;
    if (fits(fault, copy, claimed, inputs) != TXD_OK)
        return use->setting == NULL
                   ? TXD_ERR_INAPPLICABLE
                   : txd_fail_prefix(
                         TXD_ERR_INAPPLICABLE, "%s",
                         txd_setting_place(place, sizeof place, use->setting));
    return fault->plant(plan, copy);
}

txd_status txd_plan_create(txd_plan **out, const txd_config *claimed,
                           const txd_inputs *inputs, const txd_fault_use *uses,
                           size_t count)
{
    txd_arena *arena;
    txd_plan *plan;
    txd_status status = TXD_ERR_MEMORY;

    TXD_TRY(txd_arena_create(&arena));
    plan = txd_arena_alloc(arena, 1, sizeof *plan);
    if (plan != NULL) {
        plan->arena = arena;
        status = txd_config_copy(&plan->config, arena, claimed);
    }
    for (size_t i = 0; i < count && status == TXD_OK; i++)
        status = plant(plan, claimed, inputs, &uses[i]);
    if (status != TXD_OK) {
        txd_arena_destroy(arena);
        return status;
    }
    *out = plan;
    return TXD_OK;
}

void txd_plan_destroy(txd_plan *plan)
{
    if (plan != NULL)
        txd_arena_destroy(plan->arena);
}

const txd_config *txd_plan_config(const txd_plan *plan)
{
    return &plan->config;
}

txd_status txd_plan_edit_params(const txd_plan *plan, txd_params *params)
{
    for (const struct txd_param_edit *e = plan->edits; e != NULL; e = e->next)
        TXD_TRY(e->edit(e->self, params));
    return TXD_OK;
}
