/* SPDX-License-Identifier: MIT
 *
 * What rounding the residual stream alone must leave of an error, layer by layer.
 */
#ifndef TXD_VIZ_ROUNDING_H
#define TXD_VIZ_ROUNDING_H

#include "viz/read/compared.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The relative error of resid.post in each layer, if nothing but the sums of the stream
 * were rounded to the measured format, each independently of the others: a sum adds
 * TXD_ROUNDING_SHARE^2 u^2 to the square of what was there, which keeps its size while
 * the stream grows. Needs statistics of the stream and no norm in it; *count = 0 where
 * that is not so. `errors` (in `arena`) has an entry per layer. */
txd_status txd_rounding_floor(double **errors, size_t *count, txd_arena *arena,
                              const txd_compared *compared);

/* The L2 norm of the error of one rounding over that of the values, in roundoffs:
 * sqrt(1/3) over the root mean square of mantissas from 1 to 2 that are as likely as
 * their logarithms, sqrt(3 / (2 ln 2)). */
#define TXD_ROUNDING_SHARE 0.3925

#ifdef __cplusplus
}
#endif

#endif
