/* SPDX-License-Identifier: MIT
 *
 * Places and labels of the axis that charts over layers share.
 */
#include "viz/figures/layer_axis.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST_NAMED = 26 }; /* layers that are labelled */

bool txd_is_before_layers(const char *name)
{
    return strncmp(name, "embed.", 6) == 0 || strncmp(name, "input.", 6) == 0;
}

txd_status txd_layer_axis_begin(txd_layer_axis *out, txd_arena *arena, size_t layers,
                                const size_t counts[2])
{
    *out = (txd_layer_axis){.arena = arena,
                            .layers = layers,
                            .gap = fmax(1, (double)layers / 28),
                            .counts = {counts[0], counts[1]}};
    out->tics =
        txd_arena_alloc(arena, layers + counts[0] + counts[1], sizeof *out->tics);
    return out->tics ? TXD_OK : TXD_ERR_MEMORY;
}

double txd_layer_axis_place(txd_layer_axis *axis, const char *name)
{
    int side = txd_is_before_layers(name) ? 0 : 1;
    double place = (double)axis->used[side]++, x;

    x = side == 0 ? axis->gap * (place - (double)axis->counts[0])
                  : (double)axis->layers - 1 + axis->gap * (place + 1);
    axis->tics[axis->tic_count++] = (txd_tic){x, name, name};
    return x;
}

txd_status txd_layer_axis_label(txd_graph *graph, txd_layer_axis *axis)
{
    size_t every = 1 + axis->layers / MOST_NAMED;

    for (size_t layer = 0; layer < axis->layers; layer++) {
        txd_tic *tic = &axis->tics[axis->tic_count++];
        char name[32];

        snprintf(name, sizeof name, "layer %zu", layer);
        tic->x = (double)layer;
        tic->name = txd_arena_string(axis->arena, name);
        if (!tic->name)
            return TXD_ERR_MEMORY;
        tic->label = layer % every == 0 ? tic->name : "";
    }
    graph->tics = axis->tics;
    graph->tic_count = axis->tic_count;
    return TXD_OK;
}
