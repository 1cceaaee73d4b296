/* SPDX-License-Identifier: MIT
 *
 * Passes of the same model in other formats, and how far each site of them is from that
 * of the reference in float64. For the laws of this folder only.
 */
#ifndef TXD_CHECKS_EXPERIMENTS_RUNGS_H
#define TXD_CHECKS_EXPERIMENTS_RUNGS_H

#include "checks/experiments/capture.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct txd_rungs {
    txd_experiment *e;
    txd_inputs inputs;     /* fewer than the experiment's, of a large model */
    txd_capture reference; /* ref64 by the claim, without the plan */
} txd_rungs;

/* Makes the pass of the reference. Finish in either case. */
txd_status txd_rungs_begin(txd_rungs *out, txd_experiment *experiment);
void txd_rungs_finish(txd_rungs *rungs);

/* A pass by the claim in a backend, of a model that is bound for it; else as `how`
 * says. */
txd_status txd_rung_pass(txd_capture *out, const txd_experiment *experiment,
                         const char *backend, const txd_experiment_how *how,
                         const txd_inputs *inputs);

/* How a rung is made. */
typedef struct txd_rung_how {
    const char *backend; /* by this one and the claim; NULL = as the run was */
} txd_rung_how;

/* The error of each site of the reference, in its order and in the experiment's arena:
 * sqrt(sum of squares of the difference / of the values), over all rows of real tokens.
 * NaN where one of the two is not finite; -1 where it is not judged. */
txd_status txd_rungs_errors(double **out, txd_rungs *rungs, const txd_rung_how *how);

#ifdef __cplusplus
}
#endif

#endif
