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

#define TXD_POOL_MOST 256 /* cells per side */

/* An axis of the matrix, queries or keys, and its cells. */
typedef struct txd_pool_axis {
    size_t cells, tokens;
} txd_pool_axis;

/* Cells of one head: sum and top are (rows, keys.cells), from cell row `first` on. The
 * caller starts sums at 0 and tops at -Inf. */
typedef struct txd_pool_grid {
    double *sum, *top;
    size_t first;
    txd_pool_axis queries, keys;
} txd_pool_grid;

/* One cell per token, but at most `most`. */
txd_pool_axis txd_pool_cells(size_t most, size_t tokens);

/* The cell of a token. */
size_t txd_pool_cell(size_t token, txd_pool_axis axis);

/* The larger of two, NaN if either is NaN. */
static inline double txd_pool_larger(double a, double b)
{
    return a > b || a != a ? a : b;
}

/* Pools the block's head number `index` (of its batch rows x heads) into `to`. */
void txd_pool_head(const txd_pool_grid *to, const txd_block *block, size_t index);

/* The block's computed keys in each cell (keys.cells); then adds to `count`
 * (queries.cells, keys.cells) how many weights a head puts into each cell: rows of
 * valid queries times computed keys. */
void txd_pool_keys(double *keys, const txd_pool_grid *like, const txd_block *block);
void txd_pool_count(double *count, const txd_pool_grid *like, const txd_block *block,
                    const double *keys, size_t index);

#ifdef __cplusplus
}
#endif

#endif
