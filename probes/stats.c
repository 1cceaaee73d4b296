/* SPDX-License-Identifier: MIT
 *
 * The probe `stats`: mean, deviation, range and non-finite elements of every value,
 * as one series. The backends compute them; this file only keeps them.
 */
#include "probes/common.h"

#include <stdlib.h>
#include <string.h>

typedef struct stats {
    txd_arena *arena;
    const txd_probe_use *use;
    txd_series series;
} stats;

static bool takes(txd_site_kind kind, txd_point point)
{
    return kind == TXD_SITE_VALUE && txd_point_get(point)->place != TXD_PLACE_INPUT;
}

static unsigned ask(void *self, const txd_site *site)
{
    const stats *state = self;

    if (!txd_probe_takes_site(&txd_probe_stats, state->use, site))
        return 0;
    return TXD_ASK_STATS;
}

static txd_status merge(void *self, const txd_block *block, const void *slot)
{
    stats *state = self;
    double *row;

    (void)slot;
    if (!block->stats)
        return TXD_OK;
    row = txd_series_row(&state->series, block->site);
    if (row)
        memcpy(row, block->stats, TXD_STAT_COUNT_OF * sizeof *row);
    return TXD_OK;
}

static txd_status step_end(void *self, const txd_pass *pass)
{
    stats *state = self;

    return txd_series_write(&state->series, pass->step);
}

static txd_status find(txd_series_spec *spec, txd_probe_sites *sites, txd_arena *arena,
                       const txd_probe_context *context, const txd_probe_use *use)
{
    *spec = (txd_series_spec){.name = "stats", .per_step = true};
    spec->fields = txd_series_stat_fields(arena, "");
    if (!spec->fields)
        return TXD_ERR_MEMORY;
    return txd_probe_sites_find(sites, arena, &txd_probe_stats, use, context,
                                TXD_SITE_VALUE);
}

static txd_status plan(const txd_probe_context *context, const txd_probe_use *use,
                       txd_probe_add add, void *self)
{
    txd_arena *arena = NULL;
    txd_series_spec spec;
    txd_probe_sites sites;
    txd_status status;

    TXD_TRY(txd_arena_create(&arena));
    status = find(&spec, &sites, arena, context, use);
    if (status == TXD_OK)
        status = txd_series_plan(context, &spec, &sites, add, self);
    txd_arena_destroy(arena);
    return status;
}

static void destroy(void *self)
{
    stats *state = self;

    if (state)
        txd_arena_destroy(state->arena);
    free(state);
}

static txd_status fill(stats *state, const txd_probe_context *context)
{
    txd_series_spec spec;
    txd_probe_sites sites;

    TXD_TRY(txd_arena_create(&state->arena));
    TXD_TRY(find(&spec, &sites, state->arena, context, state->use));
    return txd_series_create(&state->series, state->arena, context, &spec, &sites);
}

static txd_status create(void **out, txd_tap *tap, const txd_probe_context *context,
                         const txd_probe_use *use)
{
    stats *state = calloc(1, sizeof *state);
    txd_status status;

    if (!state)
        return txd_fail(TXD_ERR_MEMORY, "no memory for the probe stats");
    state->use = use;
    status = fill(state, context);
    if (status != TXD_OK) {
        destroy(state);
        return status;
    }
    *tap = (txd_tap){.name = "stats",
                     .self = state,
                     .ask = ask,
                     .merge = merge,
                     .step_end = step_end};
    *out = state;
    return TXD_OK;
}

const txd_probe txd_probe_stats = {
    .name = "stats",
    .sentence = "mean, deviation, range and non-finite elements of every value",
    .points = "*",
    .takes = takes,
    .plan = plan,
    .create = create,
    .destroy = destroy,
};
