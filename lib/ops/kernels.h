/* SPDX-License-Identifier: MIT
 *
 * Kernels over float32 rows: the same source compiled for each instruction set, so that
 * all sets give the same bits (a NaN may carry another payload). Elements go through 16
 * lanes everywhere, sums through a fixed tree of them; no sum depends on alignment.
 *
 * Nothing outside the given elements is read or written. A result may lie where its
 * input does, never half across it. NaN and infinities behave as in the formulas.
 */
#ifndef TXD_OPS_KERNELS_H
#define TXD_OPS_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct txd_kernels {
    const char *name; /* "avx512", "avx2", "portable" */

    /* out = exp(x), within 1 ulp, subnormal results included. */
    void (*exp)(float *out, const float *x, size_t count);
    /* Whether no element is NaN or infinite; whether each is 0 or -0. */
    bool (*finite)(const float *x, size_t count);
    bool (*zero)(const float *x, size_t count);
    /* Whether each element with keep == 0 is. */
    bool (*zero_unless)(const float *x, const uint8_t *keep, size_t count);
    /* out = value; out = keep != 0 ? x : filling. */
    void (*fill)(float *out, size_t count, float value);
    void (*mask)(float *out, const float *x, const uint8_t *keep, size_t count,
                 float filling);
} txd_kernels;

/* The best set that this CPU runs. */
const txd_kernels *txd_kernels_here(void);

/* The i-th set that this CPU runs, the portable one first, the best one last; NULL past
 * the last. */
const txd_kernels *txd_kernels_at(size_t i);

#ifdef __cplusplus
}
#endif

#endif
