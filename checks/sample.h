/* SPDX-License-Identifier: MIT
 *
 * What a law looks at that costs more per element than the pass itself: some of the
 * real tokens, some queries of every head. Which ones follows from the inputs alone,
 * not from tiles or threads. For the files of this folder only.
 */
#ifndef TXD_CHECKS_SAMPLE_H
#define TXD_CHECKS_SAMPLE_H

#include "checks/law.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A walk over some of the places of a list, spread evenly over those that are valid. */
typedef struct txd_picks {
    const int32_t *valid;
    size_t at, end;      /* the place that is next, and where the walk ends */
    size_t real, wanted; /* valid places of the list; how many of them are picked */
    size_t part;         /* of the way to the next pick, in units of 1 / real */
} txd_picks;

/* `wanted` places, among them the last valid one; all that are valid if these are no
 * more. */
txd_picks txd_picks_of(const int32_t *valid, size_t count, size_t wanted);

/* Queries of one head of a block of attention, `wanted` of the whole head: those that
 * lie in the block. Places count in the whole value, batch row and head in the block.
 * Other heads have other queries. */
txd_picks txd_picks_of_head(const txd_block *block, size_t batch, size_t head,
                            size_t wanted);

/* The next place; false if there is none. */
bool txd_picks_next(size_t *place, txd_picks *picks);

/* How many things of `each` elements come to about `budget` elements, at least `least`;
 * and how many queries of each head of a whole value of attention. */
size_t txd_picks_wanted(size_t budget, size_t each, size_t least);
size_t txd_picks_queries(const txd_block *block, size_t budget, size_t least);

#ifdef __cplusplus
}
#endif

#endif
