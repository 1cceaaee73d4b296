/* SPDX-License-Identifier: MIT
 *
 * Pooling a matrix of attention weights to C x C cells. For the files of this folder
 * only.
 */
#ifndef TXD_PROBES_POOL_H
#define TXD_PROBES_POOL_H

#include "probes/probe.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Cells of one head: sum and top are (rows, side), from cell row `first` on. The
 * caller starts sums at 0 and tops at -Inf. */
typedef struct txd_pool_grid {
    double *sum, *top;
    size_t first, side, tokens;
} txd_pool_grid;

/* Cells per side: one per token, but at most `cells`. */
size_t txd_pool_side(size_t cells, size_t tokens);

/* The first token of cell i; cell i ends where cell i + 1 begins. */
size_t txd_pool_begin(size_t i, size_t side, size_t tokens);

/* The cell of a token. */
size_t txd_pool_cell(size_t token, size_t side, size_t tokens);

/* The larger of two, NaN if either is NaN. */
double txd_pool_larger(double a, double b);

/* Pools the block's head number `index` (of its batch rows x heads) into `to`. */
void txd_pool_head(const txd_pool_grid *to, const txd_block *block, size_t index);

/* Adds to `count` (side, side) how many weights that puts into each cell: rows of
 * valid queries times computed keys. */
void txd_pool_count(double *count, size_t side, const txd_block *block, size_t index);

#ifdef __cplusplus
}
#endif

#endif
