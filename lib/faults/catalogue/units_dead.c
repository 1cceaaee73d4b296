/* SPDX-License-Identifier: MIT
 *
 * Fault: units of the MLP are dead: whatever enters their activation, 0 comes out, and
 * no gradient goes back.
 */
#include "faults/wrap.h"

/* Of rows of `width` units the first `dead` of each. */
static void clear(const txd_op_site *at, void *values, size_t count)
{
    const size_t *dead = txd_wrap_of(at)->more;

    for (size_t i = 0; i < count; i++)
        if (i % dead[1] < dead[0])
            txd_wrap_set(at, values, i, 0);
}

static txd_status activate(txd_ctx *ctx, const struct txd_activate_args *args)
{
    TXD_TRY(txd_below_activate(ctx, args));
    clear(&args->at, args->out, args->count);
    return TXD_OK;
}

static txd_status activate_back(txd_ctx *ctx, const struct txd_activate_back_args *args)
{
    TXD_TRY(txd_below_activate_back(ctx, args));
    clear(&args->at, args->d_x, args->count);
    return TXD_OK;
}

static size_t dead_of(const txd_config *config, const txd_fault_use *use)
{
    double share = use->strength < 1 ? use->strength : 1;

    return share > 0 ? (size_t)(share * (double)config->d_ff) : 0;
}

static txd_status plant(txd_plan *plan, const txd_fault_use *use)
{
    static const struct txd_ops mine = {.activate = activate,
                                        .activate_back = activate_back};
    size_t *dead = txd_arena_alloc(plan->arena, 2, sizeof *dead);

    if (!dead)
        return TXD_ERR_MEMORY;
    dead[0] = dead_of(&plan->config, use);
    dead[1] = plan->config.d_ff;
    return txd_plan_wrap(plan, use, &mine, dead);
}

static const char *idle(const txd_fault_scene *scene, const txd_fault_use *use)
{
    return dead_of(scene->claimed, use) > 0 ? NULL
                                            : "a strength below 1 / d_ff is no "
                                              "unit";
}

const txd_fault txd_fault_units_dead = {
    .name = "units_dead",
    .sentence = "a share of strength (1: all) of the MLP's units is dead: 0 comes out "
                "of them",
    .symptom = "the units are 0 at every token and never learn; with all of them dead "
               "the layer is attention alone",
    .example = "wrong: h = act(up(x)) * keep  # a mask of pruning, never filled\n"
               "right: h = act(up(x))",
    .selectors = TXD_FAULT_LAYERS | TXD_FAULT_STRENGTH,
    .strength = 1,
    .idle = idle,
    .plant = plant,
};
