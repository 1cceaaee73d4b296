/* SPDX-License-Identifier: MIT
 *
 * The backends of this build, by name, for those who need not know the operations.
 */
#ifndef TXD_OPS_REGISTRY_H
#define TXD_OPS_REGISTRY_H

#include "base/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct txd_backend txd_backend;

/* Backends by name ("ref64", "ref32", "cpu32", "bf16", "fp16", and those of a module
 * that was loaded: ops/module.h); ERR_MISSING naming those that exist. */
txd_status txd_backend_find(const txd_backend **out, const char *name);
/* The i-th backend, NULL past the end. */
const txd_backend *txd_backend_at(size_t i);
/* Adds one that is found from then on; it must hold as long as the program runs. One
 * call at a time, while other threads may look for backends. ERR_LIMIT if there are too
 * many. */
txd_status txd_backend_add(const txd_backend *backend);
const char *txd_backend_name(const txd_backend *backend);
const char *txd_backend_sentence(const txd_backend *backend);
/* Of values in memory; and to which stored values are rounded: TXD_BF16 and TXD_F16
 * values are TXD_F32 in memory. */
txd_dtype txd_backend_dtype(const txd_backend *backend);
txd_dtype txd_backend_format(const txd_backend *backend);
/* What arithmetic loses: unit roundoffs of accumulation and of storage; what an
 * underflow can lose in accumulation, and in storage (the smallest subnormals); the
 * largest number that can be stored. */
typedef struct txd_roundoff {
    double accumulate, store, lost, tiny, largest;
} txd_roundoff;

/* Of values that are stored in a format; sums are accumulated in float32, those of
 * float64 in float64. */
txd_roundoff txd_roundoff_of_format(txd_dtype format);
/* Of a backend. */
txd_roundoff txd_roundoff_of(const txd_backend *backend);

/* What the arithmetic runs on, for recordings: "portable" or the instruction set of the
 * kernels ("avx2", "avx512"), and the BLAS with its core ("OpenBLAS 0.3.21, core
 * Cooperlake, OpenMP build, 1 thread per call"); "none" without one. */
const char *txd_backend_simd(const txd_backend *backend);
const char *txd_backend_blas(const txd_backend *backend);
/* Why the BLAS is slower than this CPU can be, and what to do, in a sentence for
 * people; NULL if nothing shows that it is. */
const char *txd_backend_blas_slow(const txd_backend *backend);

#ifdef __cplusplus
}
#endif

#endif
