/* SPDX-License-Identifier: MIT
 *
 * Taps of plans that edit one point.
 */
#include "faults/edit.h"

#include "faults/wrap.h"

/* What the tap is given; in the plan's arena. */
struct point_edit {
    const txd_fault_use *use;
    txd_point point;
    bool gradients;
    txd_edit edit;
};

void txd_edit_set(const txd_block *block, size_t i, double value)
{
    if (block->value.dtype == TXD_F64)
        ((double *)block->value.data)[i] = value;
    else
        ((float *)block->value.data)[i] =
            (float)txd_wrap_round(value, block->pass->format);
}

static unsigned ask(void *self, const txd_site *site)
{
    const struct point_edit *e = self;

    if (site->point != e->point || txd_site_is_parameter(site->kind))
        return 0;
    if (txd_site_is_gradient(site->kind) && !e->gradients)
        return 0;
    if (site->layer >= 0 && !txd_range_has(&e->use->layers, (size_t)site->layer))
        return 0;
    return TXD_ASK_EDIT;
}

static txd_status edit(void *self, txd_block *block)
{
    const struct point_edit *e = self;

    return e->edit((void *)e->use, block);
}

static txd_status plant(txd_plan *plan, const struct point_edit *wanted)
{
    struct point_edit *e = txd_arena_alloc(plan->arena, 1, sizeof *e);
    txd_tap tap = {.name = wanted->use->name,
                   .self = e,
                   .gradients = wanted->gradients,
                   .ask = ask,
                   .edit = edit};

    if (e == NULL)
        return TXD_ERR_MEMORY;
    *e = *wanted;
    return txd_plan_tap(plan, &tap);
}

txd_status txd_plan_edit_point(txd_plan *plan, const txd_fault_use *use,
                               txd_point point, txd_edit change)
{
    return plant(plan, &(struct point_edit){use, point, false, change});
}

txd_status txd_plan_edit_both(txd_plan *plan, const txd_fault_use *use, txd_point point,
                              txd_edit change)
{
    return plant(plan, &(struct point_edit){use, point, true, change});
}
