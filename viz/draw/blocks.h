/* SPDX-License-Identifier: MIT
 *
 * Matrices side by side and under each other in one heat map, with a gap between them
 * and a title over each: all in one scale of colours, so that they compare.
 */
#ifndef TXD_VIZ_DRAW_BLOCKS_H
#define TXD_VIZ_DRAW_BLOCKS_H

#include "viz/draw/map.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A strip of blocks along one axis. */
typedef struct txd_strip {
    size_t cells; /* of its blocks */
    /* On the axis: of each cell; or one number, of all of them. */
    const int *numbers;
    int number;
    bool joined;  /* belongs to the strip before it: no title is between them */
    size_t start; /* set by txd_blocks_lay */
} txd_strip;

typedef struct txd_blocks {
    txd_map *map;
    txd_strip *rows, *columns;
    size_t row_count, column_count;
    /* Of every block, row by row; NULL = none. Over the first of joined strips. */
    const char *const *titles;
} txd_blocks;

/* Settles where the blocks are, and gives the map blank cells, tics and what is drawn
 * beside them. The caller has filled in all but `start`, and the map's arena. */
txd_status txd_blocks_lay(txd_blocks *blocks);

/* The index, into the cells and flags of the map, of a cell of a block. */
size_t txd_blocks_at(const txd_blocks *blocks, size_t block_row, size_t block_column,
                     size_t row, size_t column);

#ifdef __cplusplus
}
#endif

#endif
