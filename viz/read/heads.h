/* SPDX-License-Identifier: MIT
 *
 * What heads do, a number per query, and its mean and spread per head: from the row
 * statistics, and where these were not recorded from the weights in full.
 */
#ifndef TXD_VIZ_HEADS_H
#define TXD_VIZ_HEADS_H

#include "viz/read/weights.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum txd_measure {
    TXD_MEASURE_ENTROPY,  /* of the weights / log of the keys seen: 0 to 1 */
    TXD_MEASURE_SINK,     /* weight of the first seen key */
    TXD_MEASURE_OWN,      /* weight of the query's own key */
    TXD_MEASURE_PREVIOUS, /* weight of the key before that */
    TXD_MEASURES
} txd_measure;

/* Over the queries that see two keys or more: the others have no choice. */
typedef struct txd_head_sum {
    double mean, low,
        high;         /* low: a tenth of the queries lie at or below; NaN = none */
    size_t queries;   /* of which the value is finite */
    size_t nonfinite; /* of which it is not */
} txd_head_sum;

typedef struct txd_heads {
    const txd_claim *claim;
    txd_attention_kind kind;
    txd_figure_request request;
    int *layers; /* ascending, in the claim's arena */
    size_t layer_count, heads;
    bool by_rows;      /* from the row statistics; else from the weights */
    bool has_weights;  /* some layers' weights are there in full */
    txd_weights whole; /* if has_weights */
} txd_heads;

/* Finds what `request` asks for: its layer (else all), its step (else 0), its batch row
 * (else all). ERR_MISSING with the way to record it if there is nothing. */
txd_status txd_heads_open(txd_heads *out, const txd_claim *claim,
                          txd_attention_kind kind, const txd_figure_request *request);

/* The weight of the key before is known only from weights in full. Without them it is
 * taken where it is the largest of its row, as 0 elsewhere: it is at least that. */
bool txd_heads_at_least(const txd_heads *heads, int layer);

/* Sums of every head of a layer, (measure, head): those of the bits (1 << measure) of
 * `wanted`; in the arena `out`, what is needed on the way in `scratch`. */
txd_status txd_heads_sum(txd_head_sum **sums, const txd_heads *heads, int layer,
                         unsigned wanted, txd_arena *out, txd_arena *scratch);

#ifdef __cplusplus
}
#endif

#endif
