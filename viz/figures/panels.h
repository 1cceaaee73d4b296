/* SPDX-License-Identifier: MIT
 *
 * Where the overview gets its small maps: from weights recorded in full, or from the
 * maps that the probe `pooled` kept. For the files of this folder only.
 */
#ifndef TXD_VIZ_PANELS_H
#define TXD_VIZ_PANELS_H

#include "viz/figures/figures.h"
#include "viz/draw/map.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct txd_panels {
    const txd_trace *recording;
    const txd_claim *claim;
    txd_figure_request request; /* site of one panel, layer and head to be set */
    txd_attention_kind kind;
    bool pooled; /* the site is "pooled/max", or "cross_pooled/max" */
    int *layers;
    size_t layer_count, heads;
    txd_pooling pooling;   /* of the pooled maps of this step */
    unsigned char *hidden; /* of the pooled cells of layer `hidden_layer` */
    int hidden_layer;
    size_t missing;    /* panels so far that were not recorded, and stay blank */
    bool leaks_by_row; /* leaks of pooled maps come from the row statistics */
} txd_panels;

/* Finds the layers and heads of `request` (whose site may hold '*') and the cheapest
 * source; ERR_CONFIG naming what is recorded if there is none. */
txd_status txd_panels_find(txd_panels *out, const txd_claim *claim,
                           const txd_figure_request *request);

/* Fills the map of one panel in at most `limit` cells per axis. `map->arena` should be
 * one that is reset between panels. */
txd_status txd_panels_fill(txd_map *map, txd_panels *panels, int layer, size_t head,
                           size_t limit);

#ifdef __cplusplus
}
#endif

#endif
