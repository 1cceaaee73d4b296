/* SPDX-License-Identifier: MIT
 *
 * What the CPU backend puts over the float32 reference.
 */
#ifndef TXD_OPS_CPU_H
#define TXD_OPS_CPU_H

#include "ops/ops.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The entries that have a faster form, as initialisers of a table. */
#define TXD_OPS_CPU32                                                                  \
    .linear = txd_cpu32_linear, .linear_back = txd_cpu32_linear_back,                  \
    .scores = txd_cpu32_scores, .scores_back = txd_cpu32_scores_back,                  \
    .mix = txd_cpu32_mix, .mix_back = txd_cpu32_mix_back, .mask = txd_cpu32_mask,      \
    .mask_back = txd_cpu32_mask_back, .activate = txd_cpu32_activate,                  \
    .activate_back = txd_cpu32_activate_back,

txd_status txd_cpu32_linear(txd_ctx *ctx, const struct txd_linear_args *a);
txd_status txd_cpu32_linear_back(txd_ctx *ctx, const struct txd_linear_back_args *a);
txd_status txd_cpu32_scores(txd_ctx *ctx, const struct txd_scores_args *a);
txd_status txd_cpu32_scores_back(txd_ctx *ctx, const struct txd_scores_back_args *a);
txd_status txd_cpu32_mix(txd_ctx *ctx, const struct txd_mix_args *a);
txd_status txd_cpu32_mix_back(txd_ctx *ctx, const struct txd_mix_back_args *a);
txd_status txd_cpu32_mask(txd_ctx *ctx, const struct txd_mask_args *a);
txd_status txd_cpu32_mask_back(txd_ctx *ctx, const struct txd_mask_back_args *a);
txd_status txd_cpu32_activate(txd_ctx *ctx, const struct txd_activate_args *a);
txd_status txd_cpu32_activate_back(txd_ctx *ctx,
                                   const struct txd_activate_back_args *a);

/* Keeps a BLAS with threads of its own from using them. */
void txd_cpu_prepare(void);

/* "OpenBLAS 0.3.21, core Cooperlake, OpenMP build, 1 thread per call"; valid until the
 * thread's next call. */
const char *txd_cpu_blas(void);

#ifdef __cplusplus
}
#endif

#endif
