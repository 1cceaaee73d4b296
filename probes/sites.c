/* SPDX-License-Identifier: MIT
 *
 * The sites that the uses of a probe select, listed once when the probe is set up:
 * datasets have a row per site, in the order of execution.
 */
#include "probes/common.h"

#include <stdio.h>
#include <string.h>

static size_t candidates(const txd_probe_context *context, txd_site_kind kind)
{
    if (!txd_site_is_parameter(kind))
        return context->stops;
    return context->params ? txd_params_count(context->params) : 0;
}

/* Everything but the name of the i-th site of a kind; the name goes to `name`.
 * Gradients come from the last value to the first. */
static txd_site candidate(char *name, const txd_probe_context *context, size_t i,
                          txd_site_kind kind)
{
    txd_site site = {.kind = kind, .index = i, .point = TXD_POINT_COUNT};

    if (txd_site_is_parameter(kind)) {
        const txd_param *param = txd_params_at((txd_params *)context->params, i);

        site.layer = param->layer;
        snprintf(name, TXD_SITE_NAME_BYTES, "%s", param->name);
    } else {
        size_t stop = kind == TXD_SITE_GRADIENT ? context->stops - 1 - i : i;

        site.point = context->order[stop].point;
        site.layer = context->order[stop].layer;
        txd_point_name(name, TXD_SITE_NAME_BYTES, site.point, site.layer);
    }
    if (txd_site_is_gradient(kind))
        snprintf(name + strlen(name), TXD_SITE_NAME_BYTES - strlen(name), "%s",
                 TXD_GRADIENT_SUFFIX);
    return site;
}

/* Tokens, positions and the like are no numbers that a loss could follow. */
static bool exists(const txd_site *site)
{
    return site->kind != TXD_SITE_GRADIENT ||
           txd_point_get(site->point)->place != TXD_PLACE_INPUT;
}

txd_status txd_probe_sites_find(txd_probe_sites *out, txd_arena *arena,
                                const txd_probe *probe, const txd_probe_use *use,
                                const txd_probe_context *context, txd_site_kind kind)
{
    size_t count = candidates(context, kind);
    txd_probe_sites sites = {.count = 0};

    sites.list = txd_arena_alloc(arena, count, sizeof *sites.list);
    sites.names = txd_arena_alloc(arena, count, sizeof *sites.names);
    if (!sites.list || !sites.names)
        return TXD_ERR_MEMORY;
    for (size_t i = 0; i < count; i++) {
        char name[TXD_SITE_NAME_BYTES];
        txd_site site = candidate(name, context, i, kind);

        if (!exists(&site) || !probe->ask(kind, site.point) ||
            !txd_probe_use_selects(probe, use, name, site.layer, -1))
            continue;
        site.name = txd_arena_string(arena, name);
        if (!site.name)
            return TXD_ERR_MEMORY;
        sites.list[sites.count] = site;
        sites.names[sites.count++] = site.name;
    }
    *out = sites;
    return TXD_OK;
}

static bool is_same(const txd_site *a, const txd_site *b)
{
    if (a->kind != b->kind)
        return false;
    if (!txd_site_is_parameter(a->kind))
        return a->point == b->point && a->layer == b->layer;
    return strcmp(a->name, b->name) == 0;
}

size_t txd_probe_row(const txd_probe_frame *frame, const txd_site *site)
{
    const txd_probe_sites *sites = &frame->sites[site->kind];
    size_t low = 0, high = sites->count;

    /* Sites come by rising number; a search by it finds the place at once. */
    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (sites->list[middle].index < site->index)
            low = middle + 1;
        else
            high = middle;
    }
    if (low < sites->count && is_same(&sites->list[low], site))
        return low;
    /* A pass that numbers its stops otherwise (a recording) still has the names. */
    for (size_t i = 0; i < sites->count; i++)
        if (is_same(&sites->list[i], site))
            return i;
    return sites->count;
}

const char *txd_probe_name(const txd_probe_frame *frame, const txd_site *site)
{
    return frame->sites[site->kind].names[txd_probe_row(frame, site)];
}
