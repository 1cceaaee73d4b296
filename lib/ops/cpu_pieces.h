/* SPDX-License-Identifier: MIT
 *
 * Statistics in pieces: runs of elements that lie one after the other, gathered until
 * there are some thousand elements, then merged as one part. What the pieces are
 * depends on the runs alone, not on who found them or measured their totals.
 */
#ifndef TXD_OPS_CPU_PIECES_H
#define TXD_OPS_CPU_PIECES_H

#include "ops/args.h"
#include "ops/kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Elements from which on a piece is merged; no run is longer. */
#define TXD_PIECE 4096
/* Runs of a piece, at most. */
#define TXD_PIECE_RUNS 128

/* Of the values of `of`: rows [row, row + rows), columns [column, column + width). Of
 * more than one row they are whole, and lie one after the other. */
struct txd_piece_run {
    size_t row, column, rows, width;
};

struct txd_piece {
    const struct txd_stats_args *of;
    struct txd_piece_run runs[TXD_PIECE_RUNS];
    struct txd_totals total; /* of all runs */
    size_t run_count, count; /* runs, elements */
};

/* Empties of->part, which the pieces are merged into. */
void txd_piece_begin(struct txd_piece *piece, const struct txd_stats_args *of);

/* A run and its totals, as the kernels have them. */
void txd_piece_add(struct txd_piece *piece, const struct txd_piece_run *run,
                   const struct txd_totals *total);

/* What is left becomes the last piece. */
void txd_piece_end(struct txd_piece *piece);

/* Columns [begin, end) of a row, in runs. */
void txd_piece_add_columns(struct txd_piece *piece, size_t row, size_t begin,
                           size_t end);

#ifdef __cplusplus
}
#endif

#endif
