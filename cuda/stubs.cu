/* SPDX-License-Identifier: MIT
 *
 * Stands in for operations that are not there yet.
 */
#include "cuda/launch.h"

#define TXD_OP(name, arguments)                                                        \
    __attribute__((weak))                                                              \
    txd_status txd_cuda32_##name(txd_ctx *, const struct txd_##arguments##_args *)     \
    {                                                                                  \
        return txd_cuda_fail(TXD_ERR_UNSUPPORTED, "no kernel of " #name " yet");       \
    }                                                                                  \
    __attribute__((weak))                                                              \
    txd_status txd_cudabf16_##name(txd_ctx *, const struct txd_##arguments##_args *)   \
    {                                                                                  \
        return txd_cuda_fail(TXD_ERR_UNSUPPORTED, "no kernel of " #name " yet");       \
    }
TXD_OPS(TXD_OP)
