/* SPDX-License-Identifier: MIT
 *
 * Which keys a query sees, by the claim and in fact: what the laws about the mask have
 * in common. Each of them looks at rows of attention and counts the broken ones; how
 * rows are chosen, read, summed and reported is here. For the files of this folder
 * only.
 */
#ifndef TXD_CHECKS_SEEN_H
#define TXD_CHECKS_SEEN_H

#include <math.h>

#include "checks/mask/mask_cells.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a query in fact does with a key. */
typedef enum txd_seen {
    TXD_SEEN_OPEN,   /* it gives it weight */
    TXD_SEEN_SHUT,   /* the mask hides it: by what the softmax reads, or not computed */
    TXD_SEEN_SILENT, /* no weight; whether the mask hides it is not known */
    TXD_SEEN_NAN,    /* the weight is NaN, and the mask does not say why */
} txd_seen;

/* One query of a head, and its keys. */
typedef struct txd_seen_row {
    const txd_block *block; /* of attn.weights (cross.weights), or of attn.masked */
    txd_mask_view mask;     /* as claimed */
    size_t batch, head, query;
    size_t keys;          /* all of them, computed or not */
    size_t own;           /* the key at the query's own place */
    const double *column; /* row statistics; NULL where they are not at hand */
    size_t begin, end;    /* computed keys; both 0 where weights are not at hand */
    size_t first;         /* flat index of key `begin` in the values below */
    txd_tensor masked;    /* as the softmax reads it; data NULL: not at hand */
    double fill, slack;   /* a masked score so near to it is a hidden one */
    double other;         /* what else hides: a hidden key without weight; or NaN */
    bool lacks_hidden;    /* hidden cells may not have been computed */
    const txd_mask_scores *before; /* what the mask read, where the law is of that */
} txd_seen_row;

static inline double txd_seen_weight(const txd_seen_row *row, size_t key)
{
    return txd_tensor_get(&row->block->value, row->first + key - row->begin);
}

/* NaN if it is not at hand. */
static inline double txd_seen_masked(const txd_seen_row *row, size_t key)
{
    return row->masked.data
               ? txd_tensor_get(&row->masked, row->first + key - row->begin)
               : (double)NAN;
}

static inline txd_hidden txd_seen_claim(const txd_seen_row *row, size_t key)
{
    return txd_mask_hides(&row->mask, row->query, key);
}

txd_seen txd_seen_state(const txd_seen_row *row, size_t key);
/* True if a key without weight is hidden: by the mask, or, where that is not known, by
 * a weight of 0 in a format in which no score is so low by itself. */
bool txd_seen_is_hidden(const txd_seen_row *row, size_t key);

#define TXD_SEEN_KINDS 6

/* Rows of one head of one attention of one layer. All zero but for low, high and worst
 * is nothing seen. */
typedef struct txd_seen_tally {
    uint64_t rows;               /* that were judged */
    uint64_t broken;             /* of these */
    uint64_t unknown;            /* not judged, for a NaN */
    uint64_t of[TXD_SEEN_KINDS]; /* rows of kinds that the law has */
    int64_t low, high;           /* extremes of what it counts; low > high: none */
    double worst, allowed;       /* the largest measure of a broken row; -1: none */
    double found, expected;      /* numbers of that row, for words */
    txd_law_place at;            /* of that row */
} txd_seen_tally;

/* Counts a broken row, which is the worst if it measures more than the others. `key` is
 * -1 if there is none. */
typedef struct txd_seen_break {
    int64_t key;
    double measured, allowed, found, expected;
} txd_seen_break;
void txd_seen_add_broken(txd_seen_tally *tally, const txd_seen_row *row,
                         const txd_seen_break *what);
/* Widens low and high. */
void txd_seen_widen(txd_seen_tally *tally, int64_t value);
void txd_seen_join(txd_seen_tally *to, const txd_seen_tally *from);

typedef struct txd_seen_law {
    const char *name;
    bool judges_cross;
    bool of_masked; /* goes by attn.masked alone, against the scores before it */
    bool every_row; /* looks at all rows, not at a part of many */
    bool (*applies)(const txd_config *claimed, int layer); /* NULL = always */
    /* A row of which weights are at hand. NULL: the law goes by row statistics. */
    void (*look)(txd_seen_tally *tally, const txd_seen_row *row);
    /* A row of which only row statistics are (or that is not one of those that are
     * looked at); NULL = says nothing. */
    void (*glance)(txd_seen_tally *tally, const txd_seen_row *row);
    /* What only all heads of an attention together tell; NULL = nothing. */
    void (*settle)(txd_seen_tally *heads, size_t count, const txd_pass *pass);
    /* The sentence of a finding: `tally` has all heads of the attention. */
    void (*explain)(txd_finding *finding, const txd_seen_tally *tally,
                    const txd_config *claimed, int layer);
    const char *nothing; /* note where no row was judged; NULL = none */
} txd_seen_law;

/* For the law's create, finish and destroy. */
txd_status txd_seen_create(void **out, txd_tap *tap, const txd_seen_law *law,
                           const txd_config *claimed);
txd_status txd_seen_finish(void *state, txd_result *result);
void txd_seen_destroy(void *state);

/* What such laws need: the weights, and what the softmax reads; else the weights; else
 * their row statistics. For a descriptor's `needs`. */
extern const struct txd_check_need txd_seen_needs[];

#ifdef __cplusplus
}
#endif

#endif
