/* SPDX-License-Identifier: MIT
 *
 * One batch of tokens with everything about it that is data: positions, padding and
 * documents, so that padding sides, windows and packing are one code path.
 */
#ifndef TXD_MODEL_INPUTS_H
#define TXD_MODEL_INPUTS_H

#include "model/points.h"
#include "ops/mask.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What masks read of keys: (b, stride) each, of which the first past + length count. */
struct txd_input_keys {
    size_t stride;
    const int32_t *positions, *valid, *document;
};

/* All arrays are (b, t) row-major int32. */
typedef struct txd_inputs {
    size_t batch, length;
    int32_t *tokens, *positions, *valid, *document;
    int32_t *types; /* rows of embed.type, where the model has it; NULL = all 0 */
    const char *const *pieces; /* (b, t) UTF-8, "" for padding; NULL = not known */
    /* What cross-attention attends to: (b, memory_length, d_model), TXD_F32 or TXD_F64,
     * and 1 for each of its real rows, 0 for padding (b, memory_length). */
    size_t memory_length;
    txd_tensor memory;
    int32_t *memory_valid;
    const char *const *memory_pieces; /* (b, memory_length), as pieces */
    /* With a cache (model/cache.h), by the run that has it, or in a recording of such a
     * run: how many tokens of earlier calls queries also attend to, and the keys of
     * those and of these tokens. Else 0 and NULL: the tokens are the keys. */
    size_t past;
    struct txd_input_keys keys;
} txd_inputs;

/* How much a pass over these inputs reads. */
txd_extent txd_inputs_extent(const txd_inputs *inputs);

/* Allocates a batch of zeros in `arena`, valid = 1. */
txd_status txd_inputs_make(txd_inputs *out, txd_arena *arena, size_t batch,
                           size_t length);

/* Gives a batch a memory of zeros in `arena`, of `length` rows of `width` each, all
 * real. `dtype` is TXD_F32 or TXD_F64. */
txd_status txd_inputs_make_memory(txd_inputs *inputs, txd_arena *arena, size_t length,
                                  size_t width, txd_dtype dtype);

/* positions[b][t] = number of valid tokens before t in its row (so that left padding
 * does not shift them); padding gets 0. */
void txd_inputs_count_positions(txd_inputs *inputs);

/* True if token `i` of all b t predicts the one after it: both are of one row, and
 * real. The loss is the mean over these. */
bool txd_inputs_is_pair(const txd_inputs *inputs, size_t i);

/* How many such tokens there are; without any there is no loss, and no gradient. */
size_t txd_inputs_pairs(const txd_inputs *inputs);

/* The position of a key, of those that queries of a batch row attend to. */
static inline int32_t txd_inputs_key_position(const txd_inputs *inputs, size_t row,
                                              size_t key)
{
    return inputs->keys.valid ? inputs->keys.positions[row * inputs->keys.stride + key]
                              : inputs->positions[row * inputs->length + key];
}

/* Checks ids against vocab, positions against max_seq_len (and so against a learned
 * table), valid, and the shape of a memory that is attended to: ERR_CONFIG naming batch
 * row, place, value and limit. */
txd_status txd_inputs_check(const txd_inputs *inputs, const txd_config *config);

/* The mask rule (ops/mask.h) of one layer over one batch row. */
txd_mask_view txd_mask_of(const txd_layer_config *layer, const txd_inputs *inputs,
                          size_t batch_row);

/* The rule of cross-attention: a query sees every real row of the memory. */
txd_mask_view txd_mask_of_memory(const txd_inputs *inputs, size_t batch_row);

/* The one of the two that an attention goes by. */
txd_mask_view txd_mask_of_attention(txd_attention_kind kind,
                                    const txd_layer_config *layer,
                                    const txd_inputs *inputs, size_t batch_row);

#ifdef __cplusplus
}
#endif

#endif
