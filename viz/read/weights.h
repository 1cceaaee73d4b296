/* SPDX-License-Identifier: MIT
 *
 * Attention weights that were recorded in full, row by row: what statistics of heads
 * are taken from. Memory is bounded by a block of rows; of very long recordings some
 * blocks are read, evenly chosen, and their number is known.
 */
#ifndef TXD_VIZ_WEIGHTS_H
#define TXD_VIZ_WEIGHTS_H

#include "viz/read/claim.h"
#include "viz/viz.h"

#ifdef __cplusplus
extern "C" {
#endif

/* "layers.*.attn.weights" or "layers.*.cross.weights". */
const char *txd_weights_site(txd_attention_kind kind);

/* The weights of one attention in all its layers. */
typedef struct txd_weights {
    const txd_claim *claim;
    txd_attention_kind kind;
    int *layers; /* ascending, in the claim's arena */
    size_t layer_count, heads;
    size_t step, first_batch, batches;
    size_t queries, keys; /* of the step */
    size_t past;          /* keys before that of query 0 */
    size_t every;         /* of so many blocks of rows one is read */
} txd_weights;

/* A row: the weights of one query. `hidden` is 1 for keys that the claimed mask hides;
 * where the mask is not known no key is hidden. */
typedef struct txd_weights_row {
    size_t batch, head, query; /* batch: counted from the first that is read */
    const double *weights;
    const unsigned char *hidden;
    size_t keys;
} txd_weights_row;

/* Finds what `request` asks for: its layer, its step (else 0), its batch row (else
 * all). ERR_MISSING with the way to record it if there is nothing, ERR_CONFIG naming
 * the choices, ERR_LIMIT if even one row of each head is too much to read. */
txd_status txd_weights_open(txd_weights *out, const txd_claim *claim,
                            txd_attention_kind kind, const txd_figure_request *request);

/* Whether any layer's weights were recorded in full. */
bool txd_weights_recorded(const txd_trace *recording, txd_attention_kind kind);

/* True, with the mask, if it is known for a layer and a batch row of the value. */
bool txd_weights_mask(txd_mask_view *out, const txd_weights *weights, int layer,
                      size_t batch);

/* Whether a query is a real token; what is not known is. */
bool txd_weights_valid(const txd_weights *weights, size_t batch, size_t query);

/* Whether a head was recorded: the attribute `record` may name some alone. */
bool txd_weights_has_head(const txd_weights *weights, size_t head);

/* A place in the weights of a layer; `batch` is that of the value. */
typedef struct txd_weights_place {
    int layer;
    size_t batch, head, query, key;
} txd_weights_place;

/* Reads `rows` queries and `width` keys from a place on into `out`. */
txd_status txd_weights_read(double *out, const txd_weights *weights,
                            const txd_weights_place *from, size_t rows, size_t width);

/* Every row of a layer that was recorded, but for padding; `scratch` holds a block. */
txd_status txd_weights_walk(const txd_weights *weights, int layer, txd_arena *scratch,
                            void (*visit)(void *context, const txd_weights_row *row),
                            void *context);

#ifdef __cplusplus
}
#endif

#endif
