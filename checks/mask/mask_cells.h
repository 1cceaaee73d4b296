/* SPDX-License-Identifier: MIT
 *
 * What the mask makes of the scores of a tile, cell by cell and row by row. For the
 * files of this folder only.
 */
#ifndef TXD_CHECKS_MASK_CELLS_H
#define TXD_CHECKS_MASK_CELLS_H

#include "checks/law.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Ways in which a cell can be wrong. */
typedef enum txd_mask_wrong {
    TXD_MASK_FILLED,     /* visible, but holds the fill */
    TXD_MASK_CHANGED,    /* visible, but not its score */
    TXD_MASK_KEPT,       /* hidden, but keeps its score */
    TXD_MASK_ADDED,      /* hidden, the fill is added to the score */
    TXD_MASK_OVERFLOWED, /* hidden, a finite fill became infinite */
    TXD_MASK_OTHER,      /* hidden, but holds something else */
    TXD_MASK_WRONGS
} txd_mask_wrong;

/* The first wrong cell of a kind. */
typedef struct txd_mask_cell {
    txd_law_place at;
    double score, masked, off, allowed; /* off: how far from what it should be */
} txd_mask_cell;

/* One attention of one layer, or one tile of it; all zero = nothing seen. */
typedef struct txd_mask_tally {
    uint64_t visible, hidden, rows; /* that were judged */
    uint64_t inherited;             /* visible scores that are NaN */
    uint64_t count[TXD_MASK_WRONGS];
    txd_mask_cell cells[TXD_MASK_WRONGS];
    double low, high; /* of what TXD_MASK_OTHER cells hold */
    uint64_t no_fill; /* wrong hidden cells that hold NaN or +Inf */
    uint64_t empty;   /* rows with wrong cells that see no key, or only -Inf */
    /* Rows in which a hidden key gets weight, and the largest such weight. */
    uint64_t weak;
    double weight, weight_fill, weight_score;
    txd_law_place weight_at;
    /* Rows in which the fill is not far below the lowest visible score. */
    uint64_t near;
    double near_fill, near_score, near_gap;
    txd_law_place near_at;
    double smallest;   /* number above 0 of the format */
    txd_status status; /* of asking for the scores */
} txd_mask_tally;

/* What the mask of a block reads. */
typedef struct txd_mask_scores {
    const txd_block *block;
    txd_tensor scores, bias; /* bias: where it is read, and not known by the claim */
    double cap;
    bool has_slopes;
} txd_mask_scores;

/* Of a block of attn.masked or cross.masked: what its tap names in its needs by
 * txd_mask_reads. */
txd_status txd_mask_scores_of(txd_mask_scores *out, const txd_block *block);
/* What the mask reads by the claimed configuration at a flat index of the block: the
 * score of the cell, capped, with its bias. *allowed: how far from it rounding can
 * lead, 0 where nothing is done to it. */
double txd_mask_score(double *allowed, const txd_mask_scores *s, size_t cell,
                      const txd_law_place *at);

/* The points whose values tell what the mask reads: the scores, and the bias if the
 * claim alone does not say what it is. How many. */
size_t txd_mask_reads(txd_point out[2], const txd_config *config,
                      txd_attention_kind kind);
/* True if hidden cells of the attention that a block is of may not have been computed.
 */
bool txd_mask_lacks_hidden(const txd_block *block);
/* Judges a block of attn.masked or cross.masked. */
void txd_mask_judge(txd_mask_tally *tally, const txd_block *block);
void txd_mask_join(txd_mask_tally *to, const txd_mask_tally *tally);

#ifdef __cplusplus
}
#endif

#endif
