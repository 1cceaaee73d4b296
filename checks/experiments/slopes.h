/* SPDX-License-Identifier: MIT
 *
 * The gradient of the actual model in float64, and slopes of its loss by differences.
 * For the laws of this folder only.
 */
#ifndef TXD_CHECKS_EXPERIMENTS_SLOPES_H
#define TXD_CHECKS_EXPERIMENTS_SLOPES_H

#include "checks/experiments/experiment.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct txd_slopes {
    const txd_experiment *e;
    txd_inputs inputs;  /* fewer than the experiment's */
    txd_params *params; /* in float64, read where they are */
    txd_model *model;
    txd_run *forward, *backward; /* the latter has the gradients */
} txd_slopes;

/* Makes the model and its gradient. ERR_LIMIT, with the reason, for a model that is too
 * large. Finish in either case. */
txd_status txd_slopes_begin(txd_slopes *out, const txd_experiment *experiment);
void txd_slopes_finish(txd_slopes *slopes);

/* A slope of the loss along a direction over some parameters: each element moves by its
 * own sign times the rms of its parameter. */
typedef struct txd_slope {
    double claimed; /* by the gradient */
    double found;   /* by central differences */
    double allowed; /* by how far differences of two steps are apart, and rounding */
    uint64_t elements;
} txd_slope;

/* Which parameters take part. */
typedef bool (*txd_slope_part)(const void *self, const txd_param *param, size_t i);

txd_status txd_slopes_along(txd_slope *out, txd_slopes *slopes, txd_slope_part part,
                            const void *self);

/* True unless the two are proven close. */
bool txd_slope_is_off(const txd_slope *slope);

#ifdef __cplusplus
}
#endif

#endif
