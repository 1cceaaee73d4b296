/* SPDX-License-Identifier: MIT
 *
 * Where values are NaN or infinite in one step: a row per value in order of execution,
 * a column per layer, and the first place of all. From the events and the statistics
 * of a recording.
 */
#ifndef TXD_VIZ_SPREAD_H
#define TXD_VIZ_SPREAD_H

#include "txd.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A value: of every layer, or of none. */
typedef struct txd_spread_row {
    const char *name; /* "attn.scores", "logits", "attn.q@grad" */
    bool of_layers;
    bool broken;    /* some of its elements are not finite */
    double *shares; /* of elements that are not finite, a number per layer (of a value
                       of no layer: one); NaN = not known */
} txd_spread_row;

typedef struct txd_spread {
    txd_arena *arena; /* of everything in it; not owned */
    txd_spread_row *rows;
    size_t count, layers; /* at least one layer */
    size_t step;          /* as an index */
    size_t known, broken; /* values, each layer counted, and how many are not finite */
    /* The first of them in order of execution; first_row = count if there is none. */
    size_t first_row;
    int first_layer;          /* -1 = of no layer */
    const char *first, *last; /* names of the first and the last, as recorded */
    char *first_words; /* "Inf at batch 0, head 0, query 2; 26 of 76 elements" or "" */
    bool has_events, has_statistics;
} txd_spread;

/* Reads a step; of a negative one the first in which something is not finite. In
 * `arena`. ERR_MISSING with the way to record it if nothing tells. */
txd_status txd_spread_read(txd_spread *out, txd_arena *arena,
                           const txd_trace *recording, int step);

#ifdef __cplusplus
}
#endif

#endif
