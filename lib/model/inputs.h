/* SPDX-License-Identifier: MIT
 *
 * One batch of tokens with everything about it that is data: positions, padding and
 * documents, so that padding sides, windows and packing are one code path.
 */
#ifndef TXD_MODEL_INPUTS_H
#define TXD_MODEL_INPUTS_H

#include "model/config.h"
#include "ops/mask.h"

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

/* The mask rule (ops/mask.h) of one layer over one batch row. */
txd_mask_view txd_mask_of(const txd_layer_config *layer, const txd_inputs *inputs,
                          size_t batch_row);

#ifdef __cplusplus
}
#endif

#endif
