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

/* The leaking cells of the block's head number `index` (of its batch rows x heads).
 * Padded queries are not judged. */
size_t txd_leak_cells_count(const txd_block *block, size_t index);

/* The `keep` worst of them (no more than there are) into `out`, by query and then the
 * worst first. Needs no more memory than that, however many there are. */
void txd_leak_cells_worst(txd_leak_cell *out, size_t keep, const txd_block *block,
                          size_t index);

#ifdef __cplusplus
}
#endif

#endif
