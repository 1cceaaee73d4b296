/* SPDX-License-Identifier: MIT
 *
 * Backends that answer "what would this format do here?": float32 arithmetic whose
 * every stored result is rounded to bfloat16 or float16. Values stay float32 in memory.
 */
#ifndef TXD_OPS_EMULATED_H
#define TXD_OPS_EMULATED_H

#include "ops/ops.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TXD_OP(name, arguments)                                                        \
    txd_status txd_bf16_##name(txd_ctx *ctx, const struct txd_##arguments##_args *a);  \
    txd_status txd_fp16_##name(txd_ctx *ctx, const struct txd_##arguments##_args *a);
TXD_OPS(TXD_OP)
#undef TXD_OP

/* Initialisers of a full table. */
#define TXD_BF16_ENTRY(name, arguments) .name = txd_bf16_##name,
#define TXD_FP16_ENTRY(name, arguments) .name = txd_fp16_##name,

#ifdef __cplusplus
}
#endif

#endif
