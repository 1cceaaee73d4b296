/* SPDX-License-Identifier: MIT
 *
 * Operations that run in the host's memory on arguments of a device: what faults put in
 * place of a device's operations is C, and reads and writes values itself.
 */
#ifndef TXD_OPS_HOSTED_H
#define TXD_OPS_HOSTED_H

#include "ops/ops.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What to call instead, by operation: entries for the host's memory, and the `self`
 * that each finds at its `at`. */
struct txd_hosted {
    const txd_backend *backend; /* the device's */
    struct txd_ops ops;
    const void *self[TXD_OP_COUNT];
};

/* Calls the entry of args->at.self, a struct txd_hosted, on copies of the values: all
 * are downloaded, what may have been written is uploaded, cell by cell as it belongs to
 * the operation (what lies between the rows of a tile stays as it is). Pointers to the
 * same memory, or into one another's, are so in the copies; NULL stays NULL. Allocates.
 * A failure of the entry is returned with its message, and nothing is uploaded. */
#define TXD_OP(name, arguments)                                                        \
    txd_status txd_hosted_##name(txd_ctx *ctx,                                         \
                                 const struct txd_##arguments##_args *args);
TXD_OPS(TXD_OP)
#undef TXD_OP

#ifdef __cplusplus
}
#endif

#endif
