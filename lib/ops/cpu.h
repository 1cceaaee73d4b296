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
    .bias = txd_cpu32_bias, .softcap = txd_cpu32_softcap,                              \
    .softcap_back = txd_cpu32_softcap_back, .mask = txd_cpu32_mask,                    \
    .mask_back = txd_cpu32_mask_back, .mix = txd_cpu32_mix,                            \
    .mix_back = txd_cpu32_mix_back, .softmax = txd_cpu32_softmax,                      \
    .softmax_back = txd_cpu32_softmax_back, .rows = txd_cpu32_rows,                    \
    .loss = txd_cpu32_loss, .loss_back = txd_cpu32_loss_back,                          \
    .stats = txd_cpu32_stats, .embed = txd_cpu32_embed,                                \
    .embed_back = txd_cpu32_embed_back, .sinusoid = txd_cpu32_sinusoid,                \
    .norm = txd_cpu32_norm, .norm_back = txd_cpu32_norm_back,                          \
    .activate = txd_cpu32_activate, .activate_back = txd_cpu32_activate_back,          \
    .multiply = txd_cpu32_multiply, .multiply_back = txd_cpu32_multiply_back,          \
    .add = txd_cpu32_add, .add_back = txd_cpu32_add_back, .scale = txd_cpu32_scale,    \
    .scale_back = txd_cpu32_scale, .split_heads = txd_cpu32_split_heads,               \
    .split_heads_back = txd_cpu32_merge_heads, .merge_heads = txd_cpu32_merge_heads,   \
    .merge_heads_back = txd_cpu32_split_heads, .rotate = txd_cpu32_rotate,             \
    .rotate_back = txd_cpu32_rotate_back,

txd_status txd_cpu32_linear(txd_ctx *ctx, const struct txd_linear_args *a);
txd_status txd_cpu32_linear_back(txd_ctx *ctx, const struct txd_linear_back_args *a);
txd_status txd_cpu32_scores(txd_ctx *ctx, const struct txd_scores_args *a);
txd_status txd_cpu32_scores_back(txd_ctx *ctx, const struct txd_scores_back_args *a);
txd_status txd_cpu32_mix(txd_ctx *ctx, const struct txd_mix_args *a);
txd_status txd_cpu32_mix_back(txd_ctx *ctx, const struct txd_mix_back_args *a);
txd_status txd_cpu32_bias(txd_ctx *ctx, const struct txd_bias_args *a);
txd_status txd_cpu32_softcap(txd_ctx *ctx, const struct txd_softcap_args *a);
txd_status txd_cpu32_softcap_back(txd_ctx *ctx, const struct txd_softcap_back_args *a);
txd_status txd_cpu32_mask(txd_ctx *ctx, const struct txd_mask_args *a);
txd_status txd_cpu32_mask_back(txd_ctx *ctx, const struct txd_mask_back_args *a);
txd_status txd_cpu32_embed(txd_ctx *ctx, const struct txd_embed_args *a);
txd_status txd_cpu32_embed_back(txd_ctx *ctx, const struct txd_embed_back_args *a);
txd_status txd_cpu32_sinusoid(txd_ctx *ctx, const struct txd_sinusoid_args *a);
txd_status txd_cpu32_norm(txd_ctx *ctx, const struct txd_norm_args *a);
txd_status txd_cpu32_norm_back(txd_ctx *ctx, const struct txd_norm_back_args *a);
txd_status txd_cpu32_softmax(txd_ctx *ctx, const struct txd_softmax_args *a);
txd_status txd_cpu32_softmax_back(txd_ctx *ctx, const struct txd_softmax_back_args *a);
txd_status txd_cpu32_rows(txd_ctx *ctx, const struct txd_rows_args *a);
txd_status txd_cpu32_loss(txd_ctx *ctx, const struct txd_loss_args *a);
txd_status txd_cpu32_loss_back(txd_ctx *ctx, const struct txd_loss_back_args *a);
txd_status txd_cpu32_stats(txd_ctx *ctx, const struct txd_stats_args *a);
txd_status txd_cpu32_activate(txd_ctx *ctx, const struct txd_activate_args *a);
txd_status txd_cpu32_activate_back(txd_ctx *ctx,
                                   const struct txd_activate_back_args *a);
txd_status txd_cpu32_multiply(txd_ctx *ctx, const struct txd_pair_args *a);
txd_status txd_cpu32_multiply_back(txd_ctx *ctx, const struct txd_pair_back_args *a);
txd_status txd_cpu32_add(txd_ctx *ctx, const struct txd_pair_args *a);
txd_status txd_cpu32_add_back(txd_ctx *ctx, const struct txd_pair_back_args *a);
txd_status txd_cpu32_scale(txd_ctx *ctx, const struct txd_scale_args *a);
txd_status txd_cpu32_split_heads(txd_ctx *ctx, const struct txd_heads_args *a);
txd_status txd_cpu32_merge_heads(txd_ctx *ctx, const struct txd_heads_args *a);
txd_status txd_cpu32_rotate(txd_ctx *ctx, const struct txd_rotate_args *a);
txd_status txd_cpu32_rotate_back(txd_ctx *ctx, const struct txd_rotate_args *a);

#ifdef __cplusplus
}
#endif

#endif
