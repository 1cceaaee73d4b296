/* SPDX-License-Identifier: MIT
 *
 * Heads of a layer compared in pairs, by a bounded sketch of their attention weights
 * and by the rows of their parameters: what the law heads_distinct judges. For the
 * files of this folder only.
 *
 * The sketch: up to TXD_SKETCH_ROWS valid queries of a step, spread evenly, and of each
 * up to TXD_SKETCH_KEYS of the keys that the claimed mask shows it, spread evenly; of
 * the first TXD_SKETCH_HEADS heads. One layer is held at a time.
 */
#ifndef TXD_CHECKS_HEAD_PAIRS_H
#define TXD_CHECKS_HEAD_PAIRS_H

#include "checks/law.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TXD_SKETCH_ROWS = 16, TXD_SKETCH_KEYS = 32, TXD_SKETCH_HEADS = 128 };

/* Two heads that agree in fewer cells than this may do so by chance. */
#define TXD_PAIR_CELLS 12
/* Nor are two alike by fewer than this, behind the first key of each row. */
#define TXD_LIKENESS_CELLS 24

/* Of what two heads give to keys: squares of each, and products. */
typedef struct txd_likeness {
    double aa, bb, ab;
} txd_likeness;

/* Two heads of a layer; all zero = nothing seen. */
typedef struct txd_head_pair {
    uint64_t telling;   /* cells that the number of visible keys does not explain */
    uint64_t different; /* cells in which the two do not agree */
    /* Shares of what a row leaves its first key, beyond equal ones and beyond what the
     * heads of the layer give on average. */
    txd_likeness beyond_equal, beyond_usual;
    uint64_t likened;    /* cells of these */
    bool has_other_rows; /* of the query or key matrix */
    bool is_not_finite;
} txd_head_pair;

/* A query whose weights are kept. */
typedef struct txd_sketch_row {
    size_t batch, query, seen, count; /* visible keys, those that are kept */
    size_t keys[TXD_SKETCH_KEYS];
} txd_sketch_row;

typedef struct txd_head_pairs {
    const txd_config *claimed;
    double same; /* relative distance of two weights that are one */
    size_t heads, per_layer;
    txd_head_pair *pairs; /* (parts, per_layer); parts: txd_law_part */
    unsigned *matrices;   /* (parts): bits of those that were offered */
    txd_sketch_row *rows; /* of the part and step at hand */
    size_t row_count;
    int step, part; /* -1: none */
    double *cells;  /* (heads, rows, keys) */
    bool *filled;   /* (heads, rows) */
} txd_head_pairs;

/* On failure nothing is left to be finished. */
txd_status txd_head_pairs_init(txd_head_pairs *p, const txd_config *claimed,
                               double same);
void txd_head_pairs_finish(txd_head_pairs *p);

/* The i-th pair of a part, and its heads. */
const txd_head_pair *txd_head_pairs_at(const txd_head_pairs *p, int part, size_t i,
                                       size_t heads[2]);

/* True if the query and key matrices of a part were at hand. */
bool txd_head_pairs_has_matrices(const txd_head_pairs *p, int part);
/* True if the weights of the two tell them apart, or that they are one. */
bool txd_head_pair_tells(const txd_head_pair *pair);
/* Their weights agree wherever they tell anything. */
bool txd_head_pair_is_one(const txd_head_pair *pair);
/* 0 if there is nothing to compare, or too little. */
double txd_head_pair_cosine(const txd_head_pair *pair, const txd_likeness *likeness);

/* A block of attn.weights or cross.weights. */
void txd_head_pairs_add_weights(txd_head_pairs *p, const txd_block *block);
/* True for the parameters that are compared. */
bool txd_head_pairs_wants(const txd_head_pairs *p, const txd_site *parameter);
void txd_head_pairs_add_parameter(txd_head_pairs *p, const txd_block *block);

#ifdef __cplusplus
}
#endif

#endif
