/* SPDX-License-Identifier: MIT
 *
 * Planting faults: each use is checked against what is known of the run, then puts
 * itself into a plan.
 */
#include "faults/fault.h"

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

static txd_status ranges_fit(const txd_fault_use *use, const txd_fault_scene *scene)
{
    const txd_inputs *inputs = scene->inputs;

    TXD_TRY(range_fits(use, &use->layers, "layer", scene->claimed->n_layers));
    TXD_TRY(range_fits(use, &use->heads, "head", scene->claimed->n_heads));
    if (inputs == NULL)
        return TXD_OK;
    TXD_TRY(range_fits(use, &use->queries, "query", inputs->length));
    return range_fits(use, &use->batch, "batch row", inputs->batch);
}

static txd_status can_act(const txd_fault *fault, const txd_fault_use *use,
                          const txd_fault_scene *scene)
{
    const char *reason = txd_fault_inapplicable(fault, scene);

    if (reason != NULL)
        return txd_fail(TXD_ERR_INAPPLICABLE, "fault %s cannot act here: it %s",
                        use->name, reason);
    return ranges_fit(use, scene);
}

/* Puts the place of the use, if it has one, in front of the message. */
static txd_status at_use(txd_status status, const txd_fault_use *use)
{
    char place[256];

    if (use->setting == NULL)
        return status;
    return txd_fail_prefix(status, "%s",
                           txd_setting_place(place, sizeof place, use->setting));
}

static txd_status plant(txd_plan *plan, const txd_fault_scene *scene,
                        const txd_fault_use *use)
{
    const txd_fault *fault = txd_fault_find(use->name);
    txd_fault_use *copy = txd_arena_alloc(plan->arena, 1, sizeof *copy);
    const char *reason = NULL;
    txd_status status;

    if (copy == NULL)
        return TXD_ERR_MEMORY;
    if (fault == NULL)
        return txd_fail(TXD_ERR_CONFIG, "there is no fault \"%s\"", use->name);
    *copy = *use;
    if (copy->strength == 0)
        copy->strength = fault->strength;
    status = can_act(fault, copy, scene);
    if (status != TXD_OK)
        return at_use(status, use);
    if (fault->idle != NULL && scene->inputs != NULL)
        reason = fault->idle(scene, copy);
    if (reason != NULL)
        return txd_fault_refuse(copy, reason);
    TXD_TRY(fault->plant(plan, copy));
    status = txd_config_check(&plan->config);
    if (status == TXD_OK)
        return TXD_OK;
    txd_fail_prefix(status, "fault %s with strength %g", copy->name, copy->strength);
    return at_use(status, use);
}

txd_status txd_plan_create(txd_plan **out, const txd_fault_scene *scene,
                           const txd_fault_use *uses, size_t count)
{
    txd_arena *arena;
    txd_plan *plan;
    txd_status status = TXD_ERR_MEMORY;

    TXD_TRY(txd_arena_create(&arena));
    plan = txd_arena_alloc(arena, 1, sizeof *plan);
    if (plan != NULL) {
        plan->arena = arena;
        status = txd_config_copy(&plan->config, arena, scene->claimed);
    }
    for (size_t i = 0; i < count && status == TXD_OK; i++)
        status = plant(plan, scene, &uses[i]);
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
