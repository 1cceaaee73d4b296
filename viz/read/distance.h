/* SPDX-License-Identifier: MIT
 *
 * How much weight keys get by how far they are from their query: means over all pairs
 * of a distance, from weights recorded in full.
 */
#ifndef TXD_VIZ_DISTANCE_H
#define TXD_VIZ_DISTANCE_H

#include "viz/read/weights.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Distances are counted in keys: one by one up to 16, then in bins that grow by a
 * fifth. */
size_t txd_distance_bins(size_t longest);
/* The distances [first, end) of a bin. */
void txd_distance_bin(size_t out[2], size_t bin);

/* Means by distance, and of how many pairs: 0 = there is none, and the mean is NaN.
 * Pairs that the claimed mask hides count only if their weight is not 0. */
typedef struct txd_distance_side {
    double *means, *pairs;
} txd_distance_side;

/* Of one layer, (head, bin). */
typedef struct txd_distances {
    size_t heads, bins;
    txd_distance_side before; /* the query's own key (distance 0), and keys before it */
    txd_distance_side after;  /* keys behind it; bin 0 is empty */
    /* (bin): of keys before, if all that a query sees weighed the same. */
    txd_distance_side alike;
} txd_distances;

/* Of self-attention; arrays in `arena`. */
txd_status txd_distances_read(txd_distances *out, const txd_weights *weights, int layer,
                              txd_arena *arena, txd_arena *scratch);

#ifdef __cplusplus
}
#endif

#endif
