/* SPDX-License-Identifier: MIT
 *
 * How large values are, by layer: the largest and the root mean square of each, from
 * the statistics of a recording.
 */
#ifndef TXD_VIZ_SIZES_H
#define TXD_VIZ_SIZES_H

#include "viz/read/curves.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A value in the layers in which it was recorded. */
typedef struct txd_size_curve {
    txd_point point;
    int *layers;         /* ascending */
    size_t *rows, count; /* of the series */
    double peak;         /* the largest; infinite if something is not finite */
    bool drawn;          /* for the figure */
} txd_size_curve;

typedef struct txd_value_sizes {
    txd_curves curves;
    size_t steps[2]; /* first, and one past the last */
    /* Per row of the series, of the steps the largest. NaN: something is not finite;
     * below 0: not recorded, or nothing but padding. */
    double *largest, *rms;
    txd_size_curve of[TXD_POINT_COUNT]; /* in the order of points.def */
    size_t count, layers;
    size_t first_bad; /* row of the first value that is not finite; site_count = none */
} txd_value_sizes;

/* Of step `step`, or of all if it is negative; everything in `arena`. ERR_MISSING with
 * the way to record it where no value of a layer is there. */
txd_status txd_sizes_read(txd_value_sizes *out, txd_arena *arena,
                          const txd_trace *recording, int step);

/* True for a value of no layer that has a size. */
bool txd_size_is_outside(const char *site);

/* NULL if it was not recorded. */
const txd_size_curve *txd_size_curve_of(const txd_value_sizes *sizes, txd_point point);

/* Whether two are the same numbers in the same layers. */
bool txd_size_curves_equal(const txd_value_sizes *sizes, const txd_size_curve *a,
                           const txd_size_curve *b);

/* The site in a layer that has the largest of all finite ones, if several have it one
 * that is drawn; NULL if none is above 0. */
const char *txd_sizes_highest(double *size, const txd_value_sizes *sizes);

#ifdef __cplusplus
}
#endif

#endif
