/* SPDX-License-Identifier: MIT
 *
 * What an element of a value, or of a gradient, is made from: for whoever has to say
 * why it is not finite.
 */
#ifndef TXD_MODEL_OPERANDS_H
#define TXD_MODEL_OPERANDS_H

#include "model/taps.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct txd_operand {
    txd_point point;
    bool is_gradient;
    bool is_pointwise; /* one element makes one; else a row (or more) of it does */
} txd_operand;

/* Most operands of a site; of the needs of a tap at a point, the end included. */
#define TXD_OPERANDS 8
#define TXD_OPERAND_NEEDS 16

/* The operands of a site, by the claimed configuration; returns how many. Of a value
 * what its operation reads (parameters left out); of a gradient the gradients of what
 * reads the value, of queries the keys and of keys the queries, and last the value
 * itself. */
size_t txd_operands_of(txd_operand out[TXD_OPERANDS], const txd_config *config,
                       const txd_site *site);

/* The points that a tap must name in its needs at `point` to read them all; ended by
 * TXD_POINT_COUNT. */
void txd_operands_needs(txd_point out[TXD_OPERAND_NEEDS], const txd_config *config,
                        txd_point point);

/* What of an operand enters one element. */
typedef struct txd_operand_part {
    double value; /* the only element, or the largest in magnitude; NaN if any is */
    size_t count, nonfinite;
} txd_operand_part;

/* Reads the part of an operand that enters the element `at` (coordinates in the whole
 * value of the block's site). ERR_MISSING if it is not at hand. */
txd_status txd_operand_read(txd_operand_part *out, const txd_operand *operand,
                            const txd_block *block, const size_t *at);

/* True if the element `at` (coordinates in the whole value) of a value or its gradient
 * is judged: no padded token, no cell that the claimed mask hides, no loss of a token
 * that predicts nothing. */
bool txd_block_judges(const txd_block *block, const size_t *at);

/* The first element of a block's own value that is NaN or infinite, of those that
 * are judged: its coordinates in the whole value to `at`. False if there is none, or no
 * value. */
bool txd_block_nonfinite(size_t at[TXD_MAX_RANK], const txd_block *block);

#ifdef __cplusplus
}
#endif

#endif
