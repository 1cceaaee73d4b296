/* SPDX-License-Identifier: MIT
 *
 * The BLAS behind the CPU backends.
 */
#ifndef TXD_OPS_CPU_BLAS_H
#define TXD_OPS_CPU_BLAS_H

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Keeps a BLAS with threads of its own from using them. */
void txd_cpu_prepare(void);

/* "OpenBLAS 0.3.21, core Cooperlake, OpenMP build, 1 thread per call"; valid until the
 * thread's next call. */
const char *txd_cpu_blas(void);

/* Why its products are slower than this CPU can, and what to do; NULL if nothing shows
 * that they are. Valid until the thread's next call. */
const char *txd_cpu_blas_slow(void);

/* Whether kernels for this core leave unused what a CPU has that runs `simd` ("avx512",
 * "avx2", "portable"). */
bool txd_blas_core_is_slow(const char *core, const char *simd);

#ifdef __cplusplus
}
#endif

#endif
