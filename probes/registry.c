/* SPDX-License-Identifier: MIT
 *
 * The probes by number and by name, and what their uses select.
 */
#include "probes/common.h"

#include <string.h>

static const txd_probe *const probes[] = {
#define TXD_PROBE(name) &txd_probe_##name,
#include "probes/registry.def"
#undef TXD_PROBE
};

static bool selects(const txd_probe *probe, const txd_probe_use *use, const char *name,
                    int layer)
{
    return txd_glob_list(use->points ? use->points : probe->points, name) &&
           (layer < 0 || txd_range_has(&use->layers, (size_t)layer));
}

const txd_probe *txd_probe_at(size_t i)
{
    return i < sizeof probes / sizeof *probes ? probes[i] : NULL;
}

const txd_probe *txd_probe_find(const char *name)
{
    for (size_t i = 0; i < sizeof probes / sizeof *probes; i++)
        if (strcmp(probes[i]->name, name) == 0)
            return probes[i];
    return NULL;
}

bool txd_probe_use_selects(const txd_probe *probe, const txd_probe_use *use,
                           const char *name, int layer, int step)
{
    for (; use; use = use->next)
        if (selects(probe, use, name, layer) &&
            (step < 0 || txd_range_has(&use->steps, (size_t)step)))
            return true;
    return false;
}

bool txd_probe_use_selects_head(const txd_probe *probe, const txd_probe_use *use,
                                const txd_site *site, size_t head)
{
    for (; use; use = use->next)
        if (selects(probe, use, site->name, site->layer) &&
            txd_range_has(&use->steps, (size_t)site->step) &&
            txd_range_has(&use->heads, head))
            return true;
    return false;
}

bool txd_probe_is_whole(const txd_probe_frame *frame, const txd_site *site)
{
    for (const txd_probe_use *use = frame->use; use; use = use->next)
        if (selects(frame->probe, use, site->name, site->layer) &&
            use->heads.count == 0 && use->steps.count == 0)
            return true;
    return false;
}

bool txd_probe_wants_head(const txd_probe_frame *frame, const txd_block *block,
                          size_t index)
{
    size_t head = block->start[1] + index % block->value.dims[1];

    /* It selects the site, of which there would be no blocks otherwise. */
    if (!frame->use->next)
        return txd_range_has(&frame->use->heads, head);
    return txd_probe_use_selects_head(frame->probe, frame->use, block->site, head);
}
