/* SPDX-License-Identifier: MIT
 *
 * How far two passes over the same tokens may part by rounding alone: measured, since
 * through many layers no bound can be derived that would still find anything. A pass in
 * which every value is moved at random, by what the rounding of one of its sums may
 * come to, shows what becomes of that at every later point. For the laws of this folder
 * only.
 */
#ifndef TXD_CHECKS_EXPERIMENTS_NOISE_H
#define TXD_CHECKS_EXPERIMENTS_NOISE_H

#include "checks/experiments/capture.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Times the measured noise: as the largest of a few draws is below the largest there
 * is. */
#define TXD_NOISE_FACTOR 16

typedef struct txd_noise {
    const txd_capture *plain;
    double *share; /* of each of its sites: how far a row moved, of its norm, at most */
} txd_noise;

/* Makes the noisy pass over the `inputs` of which `plain` has the values, as `how`
 * says, beside what `plain` keeps. In the arena of the experiment. */
txd_status txd_noise_measure(txd_noise *out, txd_experiment *experiment,
                             const txd_experiment_how *how, const txd_capture *plain,
                             const txd_inputs *inputs);

/* For txd_capture_match.allowed, with a noise whose plain capture is its `a`:
 * TXD_NOISE_FACTOR times the share. */
double txd_noise_allowed(const void *noise, const txd_captured *site);

#ifdef __cplusplus
}
#endif

#endif
