/* SPDX-License-Identifier: MIT
 *
 * Weight on keys that the claimed mask hides: what the causality and the padding law
 * have in common. Counts per layer and head, so that a leak in one head is told apart
 * from one in all. For the files of this folder only.
 */
#ifndef TXD_CHECKS_LEAK_H
#define TXD_CHECKS_LEAK_H

#include "checks/law.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The columns of the row statistics that tell of one kind of hidden key. */
typedef struct txd_leak_kind {
    const char *name; /* of the law */
    txd_row count, max, key;
    txd_hidden hidden;
    const char *what; /* "a later key" */
    /* A query has a key that is hidden by this rule and by no other; NULL = not said.
     */
    bool (*alone)(const txd_block *block, size_t batch, size_t query);
} txd_leak_kind;

/* What was seen in one head of one layer, over all steps and batch rows. */
typedef struct txd_leak_tally {
    uint64_t rows;    /* with at least one computed hidden cell */
    uint64_t leaking; /* of these: with a weight that is not 0 */
    /* Rows with a padding key that is hidden for that alone (`padding` only; of a part
     * without a leak one stands for all), and those of them that leak. */
    uint64_t alone, alone_leaking;
    uint64_t nan;       /* of these: with a weight that is NaN */
    uint64_t next_only; /* of these: one such weight, at the next position */
    uint64_t blind;     /* of these: nothing on any key that the query may see */
    int64_t reach;      /* positions to the farthest such key */
    int64_t farthest;   /* what reach could be */
    int64_t query_low, query_high; /* of leaking rows */
    double weight;                 /* the largest; -1 without a row */
    txd_law_place at;
} txd_leak_tally;

typedef struct txd_leaks {
    const txd_leak_kind *kind;
    const txd_config *claimed;
    txd_leak_tally *tallies; /* (layers, 2, heads): attention, cross-attention */
    uint64_t cells;          /* computed hidden cells */
    uint64_t hidden;         /* hidden cells, computed or not */
    size_t batches;
    /* hidden keys per (b, q) in the step, of either attention; layers may differ */
    struct txd_leak_count {
        int step;
        size_t count;
        uint32_t *keys;
    } counted[2];
} txd_leaks;

txd_status txd_leaks_create(txd_leaks **out, const txd_leak_kind *kind,
                            const txd_config *claimed);
void txd_leaks_destroy(txd_leaks *leaks); /* NULL is allowed */

/* A block of attention weights, as far as it can be told without the hidden keys of
 * each query. */
typedef struct txd_leak_part {
    uint64_t queries;     /* that are no padding */
    uint64_t rows, cells; /* as txd_leak_tally, txd_leaks have them */
    bool leaks;
} txd_leak_part;

/* The two halves of counting a block of attention weights of a layer to which the law
 * applies: for taps' reduce and merge. */
void txd_leaks_look(txd_leak_part *out, const txd_leak_kind *kind,
                    const txd_block *block);
txd_status txd_leaks_add(txd_leaks *leaks, const txd_block *block,
                         const txd_leak_part *part);

/* Fills the result: measured values, cells, and per layer one finding whose message
 * `explain` ends with what the evidence says. */
txd_status txd_leaks_finish(txd_leaks *leaks, txd_result *result,
                            void (*explain)(txd_finding *finding,
                                            const txd_leak_tally *tally));

#ifdef __cplusplus
}
#endif

#endif
