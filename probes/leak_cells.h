/* SPDX-License-Identifier: MIT
 *
 * Finding the cells of attention weights that should be zero and are not. For the
 * files of this folder only.
 */
#ifndef TXD_PROBES_LEAK_CELLS_H
#define TXD_PROBES_LEAK_CELLS_H

#include "probes/probe.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct txd_leak_cell {
    size_t batch, head, query, key;
    double weight;
    txd_hidden kind;
} txd_leak_cell;

/* Counts the leaking cells of the block's head number `index` (of its batch rows x
 * heads) and, unless `out` is NULL, lists them. Padded queries are not judged. */
size_t txd_leak_cells_scan(txd_leak_cell *out, const txd_block *block, size_t index);

/* Moves the `keep` worst of one head to the front, by query and then the worst first.
 */
void txd_leak_cells_keep_worst(txd_leak_cell *list, size_t count, size_t keep);

#ifdef __cplusplus
}
#endif

#endif
