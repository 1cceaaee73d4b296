/* SPDX-License-Identifier: MIT
 *
 * A walk over cells of attention that the claimed mask shows: of some queries of every
 * head, and of many keys of each some. For the files of this folder only.
 */
#ifndef TXD_CHECKS_CELLS_H
#define TXD_CHECKS_CELLS_H

#include "checks/sample.h"

#ifdef __cplusplus
extern "C" {
#endif

/* All but `at` and `flat` are the walk's own. */
typedef struct txd_cells {
    txd_law_place at; /* of the cell */
    size_t flat;      /* its index in the block */
    const txd_block *block;
    txd_mask_view mask;
    txd_picks picks;
    size_t wanted, every, batch, head, row, column;
    bool is_in_head, is_in_row;
} txd_cells;

/* Over a block of a tiled value. */
txd_cells txd_cells_of(const txd_block *block);
/* The next cell; false if there is none. */
bool txd_cells_next(txd_cells *walk);

#ifdef __cplusplus
}
#endif

#endif
