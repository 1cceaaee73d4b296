/* SPDX-License-Identifier: MIT
 *
 * Along which axis weights that are no softmax over keys sum to 1 instead: over the
 * queries of a key, or over the heads of a cell. For the files of this folder only.
 */
#ifndef TXD_CHECKS_SOFTMAX_AXIS_H
#define TXD_CHECKS_SOFTMAX_AXIS_H

#include "checks/law.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TXD_AXIS_CELLS = 8 };

/* One attention of one layer; all zero = nothing seen. */
typedef struct txd_softmax_axis {
    uint64_t columns, ones; /* keys of off tiles with all queries; that sum to 1 */
    uint64_t rows_off;      /* rows of off tiles that do not */
    /* The weights of a few cells of one query, summed over the heads: of the first
     * batch row in the first step that is seen. */
    uint64_t heads;
    int64_t step;
    double cells[TXD_AXIS_CELLS];
    double slack; /* by which a sum may be off 1 */
} txd_softmax_axis;

/* Looks at a tile of weights; `is_off`: some of its rows are no softmax. */
void txd_softmax_axis_look(txd_softmax_axis *axis, const txd_block *block, bool is_off);
void txd_softmax_axis_join(txd_softmax_axis *to, const txd_softmax_axis *from);
/* Appends what it tells, if it does. */
bool txd_softmax_axis_say(txd_finding *finding, const txd_softmax_axis *axis,
                          size_t n_heads);

#ifdef __cplusplus
}
#endif

#endif
