/* SPDX-License-Identifier: MIT
 *
 * One batch of tokens with everything about it that is data: positions, padding and
 * documents, so that padding sides, windows and packing are one code path.
 */
#ifndef TXD_MODEL_INPUTS_H
#define TXD_MODEL_INPUTS_H

#include "model/config.h"

#ifdef __cplusplus
extern "C" {
#endif

/* All arrays are (b, t) row-major int32. */
typedef struct txd_inputs {
    size_t batch, length;
    int32_t *tokens, *positions, *valid, *document;
} txd_inputs;

/* Allocates a batch of zeros in `arena`, valid = 1. */
txd_status txd_inputs_make(txd_inputs *out, txd_arena *arena, size_t batch,
                           size_t length);

/* positions[b][t] = number of valid tokens before t in its row (so that left padding
 * does not shift them); padding gets 0. */
void txd_inputs_count_positions(txd_inputs *inputs);

/* Checks ids against vocab, positions against a learned table, lengths against
 * max_seq_len: ERR_CONFIG naming batch row, place, value and limit. */
txd_status txd_inputs_check(const txd_inputs *inputs, const txd_config *config);

/* Which keys a query may see, by one layer's configuration: THE definition. */
typedef struct txd_mask_view {
    bool causal;
    size_t window;
    const int32_t *query_positions, *query_document; /* of one batch row */
    const int32_t *key_positions, *key_document, *key_valid;
} txd_mask_view;

txd_mask_view txd_mask_of(const txd_layer_config *layer, const txd_inputs *inputs,
                          size_t batch_row);

/* Why a key is hidden from a query (the first reason that applies). */
typedef enum txd_hidden {
    TXD_SEEN = 0,
    TXD_HIDDEN_PADDING,  /* the key is not a real token */
    TXD_HIDDEN_DOCUMENT, /* another document */
    TXD_HIDDEN_FUTURE,   /* causal, and the key's position is after the query's */
    TXD_HIDDEN_WINDOW,   /* too far back */
} txd_hidden;

static inline txd_hidden txd_mask_hides(const txd_mask_view *mask, size_t query,
                                        size_t key)
{
    int64_t distance;

    if (!mask->key_valid[key])
        return TXD_HIDDEN_PADDING;
    if (mask->key_document[key] != mask->query_document[query])
        return TXD_HIDDEN_DOCUMENT;
    distance = (int64_t)mask->query_positions[query] - mask->key_positions[key];
    if (mask->causal && distance < 0)
        return TXD_HIDDEN_FUTURE;
    if (mask->window != 0 && distance >= (int64_t)mask->window)
        return TXD_HIDDEN_WINDOW;
    if (mask->window != 0 && !mask->causal && -distance >= (int64_t)mask->window)
        return TXD_HIDDEN_WINDOW;
    return TXD_SEEN;
}

#ifdef __cplusplus
}
#endif

#endif
