/* SPDX-License-Identifier: MIT
 *
 * Every operation of the table, for both formats:
 * txd_status txd_cuda32_NAME(txd_ctx *, const struct txd_ARGUMENTS_args *), and
 * txd_cudabf16_NAME. They run under the module's lock (device.h).
 */
#ifndef TXD_CUDA_ENTRIES_H
#define TXD_CUDA_ENTRIES_H

#include "cuda/round.h"
#include "ops/ops.h"

#define TXD_OP(name, arguments)                                                        \
    txd_status txd_cuda32_##name(txd_ctx *ctx,                                         \
                                 const struct txd_##arguments##_args *a);              \
    txd_status txd_cudabf16_##name(txd_ctx *ctx,                                       \
                                   const struct txd_##arguments##_args *a);
TXD_OPS(TXD_OP)
#undef TXD_OP

/* Defines both by a template of this file,
 * template <typename Round> static txd_status NAME_as(const struct txd_..._args *a),
 * Round being what a value is stored with (round.h). */
#define TXD_CUDA_ENTRIES(name, arguments)                                              \
    txd_status txd_cuda32_##name(txd_ctx *ctx, const struct txd_##arguments##_args *a) \
    {                                                                                  \
        (void)ctx;                                                                     \
        return name##_as<txd_round_f32>(a);                                            \
    }                                                                                  \
    txd_status txd_cudabf16_##name(txd_ctx *ctx,                                       \
                                   const struct txd_##arguments##_args *a)             \
    {                                                                                  \
        (void)ctx;                                                                     \
        return name##_as<txd_round_bf16>(a);                                           \
    }

/* The same for what only copies or measures, by static txd_status NAME_any(a). */
#define TXD_CUDA_ENTRIES_ANY(name, arguments)                                          \
    txd_status txd_cuda32_##name(txd_ctx *ctx, const struct txd_##arguments##_args *a) \
    {                                                                                  \
        (void)ctx;                                                                     \
        return name##_any(a);                                                          \
    }                                                                                  \
    txd_status txd_cudabf16_##name(txd_ctx *ctx,                                       \
                                   const struct txd_##arguments##_args *a)             \
    {                                                                                  \
        (void)ctx;                                                                     \
        return name##_any(a);                                                          \
    }

#endif
