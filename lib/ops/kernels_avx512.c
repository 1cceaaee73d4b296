/* SPDX-License-Identifier: MIT
 *
 * The kernels for x86 CPUs with AVX-512. System headers come before the target is set.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "ops/kernels_sets.h"

#if TXD_X86

#ifdef __clang__
#pragma clang attribute push(                                                          \
    __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl"))),                     \
    apply_to = function)
#else
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl")
#endif

#define TXD_VECTOR_BYTES 64
#include "ops/kernels_internal.h"

const txd_kernels txd_kernels_avx512 = TXD_KERNELS("avx512");

#ifdef __clang__
#pragma clang attribute pop
#endif

#endif
