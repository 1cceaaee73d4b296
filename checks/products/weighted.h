/* SPDX-License-Identifier: MIT
 *
 * Rows of attention weights, kept until the heads that they make are there, and held
 * against these: what the law weighted_values judges. For the files of this folder
 * only.
 */
#ifndef TXD_CHECKS_WEIGHTED_H
#define TXD_CHECKS_WEIGHTED_H

#include "checks/kept.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The weights of one query of a head, from the first that is not 0 to the last. */
typedef struct txd_weighted_row {
    size_t batch, head, query;
    size_t first, begin, count; /* place of the cells; the first key; how many */
} txd_weighted_row;

/* Those of one attention of one layer and step. All zero is empty. */
typedef struct txd_weighted_rows {
    txd_weighted_row *row;
    double *cells;
    size_t count, room, cell_count, cell_room;
    int step;
    size_t part; /* txd_law_part */
} txd_weighted_rows;

/* Takes the rows that are judged out of a block of weights. */
txd_status txd_weighted_take(txd_weighted_rows *rows, const txd_block *block);
void txd_weighted_finish(txd_weighted_rows *rows);

/* What broken rows may be instead, of one query head. */
typedef struct txd_weighted_head {
    uint32_t tried;  /* broken rows that were looked at */
    uint32_t *group; /* (groups): of these, weights x values of that KV head */
} txd_weighted_head;

/* One attention of one layer; all zero but the heads = nothing seen. */
typedef struct txd_weighted_tally {
    uint64_t judged, broken, inherited;
    uint64_t rows, tried, is_keys, is_twice; /* rows; broken ones as these: */
    double yy, fy, ff;                       /* f found against y expected, of these */
    double measured, allowed, ratio, found, expected; /* of the worst */
    size_t lane;
    txd_law_place at;
    txd_weighted_head *heads; /* (heads) */
} txd_weighted_tally;

/* What a row is held against: (b, g, t, width), data NULL where there is none. */
typedef struct txd_weighted_values {
    txd_tensor v, k, heads;
    const txd_config *claimed;
    const txd_pass *pass;
    int step;
    double *sums, *sizes; /* (width) each, to work in */
} txd_weighted_values;

/* Judges all rows that were kept. */
void txd_weighted_judge(txd_weighted_tally *tally, const txd_weighted_rows *rows,
                        const txd_weighted_values *values);

#ifdef __cplusplus
}
#endif

#endif
