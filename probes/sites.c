/* SPDX-License-Identifier: MIT
 *
 * The sites that the uses of a probe select, listed once when the probe is set up:
 * datasets have a row per site, in the order of execution.
 */
#include "probes/common.h"

#include <string.h>

static size_t candidates(const txd_probe_context *context, txd_site_kind kind)
{
    if (kind == TXD_SITE_VALUE)
        return context->stops;
    return context->params ? txd_params_count(context->params) : 0;
}

/* Fills everything but the name of a parameter, which lives as long as the model. */
static const char *candidate(txd_site *site, char *name,
                             const txd_probe_context *context, size_t i)
{
    const txd_param *param;

    site->index = i;
    if (site->kind == TXD_SITE_VALUE) {
        site->point = context->order[i].point;
        site->layer = context->order[i].layer;
        return txd_point_name(name, TXD_SITE_NAME_BYTES, site->point, site->layer);
    }
    param = txd_params_at((txd_params *)context->params, i);
    site->point = TXD_POINT_COUNT;
    site->layer = param->layer;
    return param->name;
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
        char text[TXD_SITE_NAME_BYTES];
        txd_site site = {.kind = kind};
        const char *name = candidate(&site, text, context, i);

        if (!probe->ask(kind, site.point) ||
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
    if (a->kind == TXD_SITE_VALUE)
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
