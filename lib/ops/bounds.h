/* SPDX-License-Identifier: MIT
 *
 * How far an operation in floating point may be from exact arithmetic on the same
 * inputs: derived, per element, first order in the roundoff (Higham 2002, chapters 2 to
 * 4). Everything here is for one operation; composed over layers such bounds say
 * nothing.
 */
#ifndef TXD_OPS_BOUNDS_H
#define TXD_OPS_BOUNDS_H

#include "ops/ops.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Unit roundoffs of accumulation and of storage; the smallest subnormal (what an
 * underflow can lose). */
typedef struct txd_roundoff {
    double accumulate, store, tiny;
} txd_roundoff;

/* Of a backend. */
txd_roundoff txd_roundoff_of(const txd_backend *backend);

/* gamma_n(u) = n u / (1 - n u); infinite from n u >= 1 on, where no bound holds. */
double txd_gamma(double n, double u);

/* Each takes the operation's arguments with every value in double, and `out` already
 * computed by ref64; `allowed` has the shape of out. Copies (embed, split_heads,
 * merge_heads, visible, mask) allow nothing. */
void txd_bound_linear(double *allowed, const struct txd_linear_args *a, txd_roundoff u);
void txd_bound_norm(double *allowed, const struct txd_norm_args *a, txd_roundoff u);
void txd_bound_activate(double *allowed, const struct txd_activate_args *a,
                        txd_roundoff u);
void txd_bound_pair(double *allowed, const struct txd_pair_args *a, txd_roundoff u);
void txd_bound_scale(double *allowed, const struct txd_scale_args *a, txd_roundoff u);
void txd_bound_rotate(double *allowed, const struct txd_rotate_args *a, txd_roundoff u);
void txd_bound_sinusoid(double *allowed, const struct txd_sinusoid_args *a,
                        txd_roundoff u);
void txd_bound_scores(double *allowed, const struct txd_scores_args *a, txd_roundoff u);
void txd_bound_softmax(double *allowed, const struct txd_softmax_args *a,
                       txd_roundoff u);
void txd_bound_mix(double *allowed, const struct txd_mix_args *a, txd_roundoff u);
void txd_bound_loss(double *allowed, const struct txd_loss_args *a, txd_roundoff u);

#ifdef __cplusplus
}
#endif

#endif
