/* SPDX-License-Identifier: MIT
 *
 * For faults of norms: a norm that is right but for the factor by which it divides,
 * forward and backward, in double.
 */
#ifndef TXD_FAULTS_NORMS_H
#define TXD_FAULTS_NORMS_H

#include "faults/wrap.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What is multiplied with x - mean, of the mean of its n squares; *slope is its
 * derivative by that. */
typedef double (*txd_norm_factor)(double square, double n, double eps, double *slope);

txd_status txd_norm_with(const struct txd_norm_args *args, txd_norm_factor factor);
txd_status txd_norm_with_back(const struct txd_norm_back_args *args,
                              txd_norm_factor factor);

#ifdef __cplusplus
}
#endif

#endif
