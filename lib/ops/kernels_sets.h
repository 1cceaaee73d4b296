/* SPDX-License-Identifier: MIT
 *
 * The tables of kernels that this build has, whether or not this CPU runs them.
 */
#ifndef TXD_OPS_KERNELS_SETS_H
#define TXD_OPS_KERNELS_SETS_H

#include "ops/kernels.h"

#if defined(__x86_64__) || defined(__i386__)
#define TXD_X86 1
#else
#define TXD_X86 0
#endif

#ifdef __cplusplus
extern "C" {
#endif

extern const txd_kernels txd_kernels_portable;
#if TXD_X86
extern const txd_kernels txd_kernels_avx2, txd_kernels_avx512;
#endif

#ifdef __cplusplus
}
#endif

#endif
