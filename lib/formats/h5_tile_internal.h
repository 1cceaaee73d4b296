/* SPDX-License-Identifier: MIT
 *
 * What the files of tiles share: the piece of a block that lies in one chunk, and the
 * numbers of a tile. Internal to h5_tile*.c and h5_whole.c.
 */
#ifndef TXD_FORMATS_H5_TILE_INTERNAL_H
#define TXD_FORMATS_H5_TILE_INTERNAL_H

#include "formats/h5_types_internal.h"

typedef struct txd_h5_piece {
    const txd_h5_block *block;
    const txd_h5_dataset *dataset;
    size_t part;
    size_t chunk[TXD_MAX_RANK]; /* coordinates of the chunk */
    /* From here on set by txd_h5_piece_meet. */
    size_t low[TXD_MAX_RANK]; /* of the piece in the chunk */
    size_t count[TXD_MAX_RANK];
    size_t rows, number; /* rows of the last axis; the number of the chunk */
} txd_h5_piece;

/* The first chunk that the block touches; then the next one, false past the last. */
void txd_h5_piece_first(txd_h5_piece *piece);
bool txd_h5_piece_next(txd_h5_piece *piece);
/* Where the block and the chunk meet. */
void txd_h5_piece_meet(txd_h5_piece *piece);
/* Row i of the piece: its first number in the block, and its row in the chunk. */
const unsigned char *txd_h5_piece_row(size_t *row, const txd_h5_piece *piece, size_t i);
/* Whether all bits of its numbers are 0. */
bool txd_h5_piece_is_zero(const txd_h5_piece *piece);
/* Whether it has the last row that there can be in its chunk. */
bool txd_h5_piece_ends(const txd_h5_piece *piece);

/* Numbers of a row of a dataset's chunks. */
size_t txd_h5_tile_width(const txd_h5_dataset *dataset);
/* Copies the piece's numbers; `row` has room for those of a row, as doubles. */
void txd_h5_tile_copy(txd_h5_tile *tile, unsigned char *row, const txd_h5_piece *piece);
/* What was never written becomes fill. */
void txd_h5_tile_complete(const txd_h5_dataset *dataset, txd_h5_tile *tile);

#endif
