/* SPDX-License-Identifier: MIT
 *
 * The reference operations, compiled from one source for double (ref64) and float
 * (ref32): plain loops in the order in which the formulas are written.
 */
#ifndef TXD_OPS_REF_H
#define TXD_OPS_REF_H

#include "ops/ops.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TXD_OP(name, arguments)                                                        \
    txd_status txd_ref64_##name(txd_ctx *ctx, const struct txd_##arguments##_args *a); \
    txd_status txd_ref32_##name(txd_ctx *ctx, const struct txd_##arguments##_args *a);
TXD_OPS(TXD_OP)
#undef TXD_OP

/* Initialisers of a full table, for backends to begin with. */
#define TXD_REF64_ENTRY(name, arguments) .name = txd_ref64_##name,
#define TXD_REF32_ENTRY(name, arguments) .name = txd_ref32_##name,

#ifdef __cplusplus
}
#endif

#endif
