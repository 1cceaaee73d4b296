/* SPDX-License-Identifier: MIT
 *
 * The horizontal axis of charts over layers: layer N stands at N, values of no layer
 * left and right of them, under their names. For the files of this folder only.
 */
#ifndef TXD_VIZ_LAYER_AXIS_H
#define TXD_VIZ_LAYER_AXIS_H

#include "viz/draw/chart.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct txd_layer_axis {
    txd_arena *arena;
    size_t layers;
    double gap;                /* between places outside of the layers */
    size_t counts[2], used[2]; /* places before the layers, and after them */
    txd_tic *tics;
    size_t tic_count;
} txd_layer_axis;

/* True for values that are formed before the first layer. */
bool txd_is_before_layers(const char *name);

/* Room for `counts` values before and after; everything in `arena`. */
txd_status txd_layer_axis_begin(txd_layer_axis *out, txd_arena *arena, size_t layers,
                                const size_t counts[2]);

/* The next place for a value of no layer; at most `counts` of each side. The name lives
 * as long as the chart. */
double txd_layer_axis_place(txd_layer_axis *axis, const char *name);

/* Labels the graph by the axis, when all places are taken. */
txd_status txd_layer_axis_label(txd_graph *graph, txd_layer_axis *axis);

#ifdef __cplusplus
}
#endif

#endif
