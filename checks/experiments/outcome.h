/* SPDX-License-Identifier: MIT
 *
 * What a pass comes to without anybody looking: its output, its loss and, where it has
 * a backward half, the gradients of its parameters. For the laws of this folder only.
 */
#ifndef TXD_CHECKS_EXPERIMENTS_OUTCOME_H
#define TXD_CHECKS_EXPERIMENTS_OUTCOME_H

#include "checks/experiments/experiment.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct txd_outcome {
    txd_tensor output; /* what the head reads: (b, t, d) */
    double loss;       /* NaN without a pair of tokens */
    uint64_t *hashes;  /* of the bits of each parameter's gradient; NULL without */
    size_t params;
    uint64_t elements; /* that were looked at */
} txd_outcome;

/* Makes a pass over the experiment's inputs, with a backward half where some tokens
 * have a next one, and takes what it comes to, in the arena of the experiment. */
txd_status txd_outcome_of(txd_outcome *out, const txd_experiment *experiment,
                          const txd_experiment_how *how);

/* Where two of them differ by a bit; `what` is "" if nowhere. */
typedef struct txd_outcome_change {
    char what[192]; /* "the output: 0.1 became 0.2", "the loss: ..." */
    size_t batch, token;
    double measured; /* |difference| of the element; 1 of gradients */
} txd_outcome_change;
void txd_outcome_compare(txd_outcome_change *out, const txd_outcome *a,
                         const txd_outcome *b, txd_params *params);

#ifdef __cplusplus
}
#endif

#endif
