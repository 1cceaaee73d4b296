/* SPDX-License-Identifier: MIT
 *
 * How much weight hidden keys get, by layer and head, and at which queries and keys:
 * from the row statistics, or from the weights in full.
 */
#ifndef TXD_VIZ_LEAKS_H
#define TXD_VIZ_LEAKS_H

#include "viz/read/weights.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One attention of one step; everything in the claim's arena. */
typedef struct txd_leaks {
    const txd_claim *claim;
    txd_attention_kind kind;
    size_t step;
    int *layers; /* ascending */
    size_t layer_count, heads, batches, queries, keys;
    double *shares; /* (layer, head): mean over queries of their weight on hidden keys;
                       NaN = not known */
    size_t rows;    /* queries of a head of a layer that give hidden keys weight */
    double largest; /* weight of a hidden key; 0 = none */
    int layer;      /* where that is */
    size_t batch, head, query, key;
    bool by_rows;     /* from the row statistics */
    bool has_weights; /* `whole` has all weights in full */
    txd_weights whole;
} txd_leaks;

/* Reads what `request` asks for: its layer (else all), its step (else 0), its batch row
 * (else all). `scratch` is reset on the way. ERR_MISSING with the way to record it. */
txd_status txd_leaks_read(txd_leaks *out, const txd_claim *claim,
                          txd_attention_kind kind, const txd_figure_request *request,
                          txd_arena *scratch);

/* A matrix of queries by keys, in cells[0] x cells[1]. */
typedef struct txd_leak_sums {
    double *sums; /* of the weights of hidden keys in a cell, over layers and heads */
    size_t cells[2];
    bool complete; /* else of the largest hidden key of each query alone */
} txd_leak_sums;

/* Sums the leaks of one batch row up into out->sums (zeros at first, of out->cells). */
txd_status txd_leaks_sum(txd_leak_sums *out, const txd_leaks *leaks, size_t batch,
                         txd_arena *scratch);

#ifdef __cplusplus
}
#endif

#endif
