/* SPDX-License-Identifier: MIT */
/*
 * series.h: a fake recording with gradient norms and norms of vectors of any number of
 * layers and steps, all of them different numbers.
 */
#ifndef TXD_TESTS_VIZ_SERIES_H
#define TXD_TESTS_VIZ_SERIES_H

#include "fake.h"

/* A number that differs for each (step, layer), between 0.01 and 5. */
double series_value(size_t step, size_t layer);

/* series/grad_norm of "layers.N@grad" and, before each, "layers.N.resid.pre@grad",
 * whose l2 is twice that; and the columns of /steps. A `place` (step, layer) that is
 * not NULL has `value` for its l2 and `nonfinite` such elements; a `gap` (step, layer)
 * was not recorded. The lists live as long as the recording. */
typedef struct series_plan {
    size_t steps, layers;
    const size_t *place, *gap;
    double value, nonfinite;
} series_plan;

void series_add_gradients(fake *recording, const series_plan *plan);

/* series/norms of embed.tok, embed.pos, embed.out and of resid.pre, resid.mid and
 * resid.post of every layer: mean series_value(step, row), min half and max twice it.
 */
void series_add_norms(fake *recording, const series_plan *plan);

/* series/stats of a site per row: rms, and extremes of the size that is its largest. A
 * row whose number is `nonfinite` in step 0 has such elements; one whose number is
 * `gap` was recorded in no step (SIZE_MAX = none). */
typedef struct series_stats {
    const char *const *sites;
    size_t steps, count, nonfinite, gap;
    /* Of (step, row): a value's rms, standard deviation and largest size. */
    double (*rms)(size_t step, size_t row);
    double (*std)(size_t step, size_t row);
    double (*largest)(size_t step, size_t row);
} series_stats;

void series_add_stats(fake *recording, const series_stats *plan);

/* series/param: a mean and an rms per parameter. */
void series_add_params(fake *recording, const char *const *sites, size_t count,
                       const double (*moments)[2]);

#endif
