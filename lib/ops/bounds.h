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

/* gamma_n(u) = n u / (1 - n u); infinite from n u >= 1 on, where no bound holds. */
double txd_gamma(double n, double u);

/* Each takes the operation's arguments with every value in double, byte maps instead of
 * spans, and `out` already computed by ref64; `allowed` has the shape of out. Copies
 * (embed, split_heads, merge_heads, visible, mask) allow nothing. */
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
void txd_bound_softcap(double *allowed, const struct txd_softcap_args *a,
                       txd_roundoff u);
/* With scores NULL as well: there `out` is the bias alone. */
void txd_bound_bias(double *allowed, const struct txd_bias_args *a, txd_roundoff u);
void txd_bound_softmax(double *allowed, const struct txd_softmax_args *a,
                       txd_roundoff u);
void txd_bound_entropy(double *allowed, const struct txd_softmax_args *a,
                       txd_roundoff u); /* of a->entropy (rows) */
void txd_bound_mix(double *allowed, const struct txd_mix_args *a, txd_roundoff u);
void txd_bound_loss(double *allowed, const struct txd_loss_args *a, txd_roundoff u);

/* Of the backward entries: one array per result, of its shape; NULL where nobody asks,
 * and then the result in the arguments may be NULL as well. embed_back leaves ids that
 * no row has as they are. What scale_back and rotate_back may do is what scale and
 * rotate may; the others (add_back, heads, mask_back) are copies. */
void txd_bound_embed_back(double *d_table, const struct txd_embed_back_args *a,
                          txd_roundoff u);
void txd_bound_linear_back(double *d_x, double *d_weight, double *d_bias,
                           const struct txd_linear_back_args *a, txd_roundoff u);
void txd_bound_norm_back(double *d_x, double *d_gain, double *d_bias,
                         const struct txd_norm_back_args *a, txd_roundoff u);
void txd_bound_activate_back(double *d_x, const struct txd_activate_back_args *a,
                             txd_roundoff u);
void txd_bound_multiply_back(double *d_a, double *d_b,
                             const struct txd_pair_back_args *a, txd_roundoff u);
void txd_bound_scores_back(double *d_q, double *d_k,
                           const struct txd_scores_back_args *a, txd_roundoff u);
void txd_bound_softcap_back(double *d_x, const struct txd_softcap_back_args *a,
                            txd_roundoff u);
void txd_bound_bias_back(double *d_table, const struct txd_bias_back_args *a,
                         txd_roundoff u);
void txd_bound_softmax_back(double *d_masked, const struct txd_softmax_back_args *a,
                            txd_roundoff u);
void txd_bound_sink_back(double *d_sink, const struct txd_sink_back_args *a,
                         txd_roundoff u);
void txd_bound_mix_back(double *d_weights, double *d_v,
                        const struct txd_mix_back_args *a, txd_roundoff u);
void txd_bound_loss_back(double *d_logits, const struct txd_loss_back_args *a,
                         txd_roundoff u);

#ifdef __cplusplus
}
#endif

#endif
