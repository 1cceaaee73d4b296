/* SPDX-License-Identifier: MIT
 *
 * Products of matrices through cuBLAS, under the module's lock (device.h). Everything
 * is row-major here.
 */
#ifndef TXD_CUDA_PRODUCTS_H
#define TXD_CUDA_PRODUCTS_H

#include "cuda/device.h"
#include "cuda/round.h"

/* A matrix in the device's memory; `turned`: its transpose is meant, so that it lies
 * there as columns x rows. */
struct txd_cuda_matrix {
    const float *values;
    size_t stride; /* elements from one row, as it lies there, to the next */
    bool turned;
};

/* out (m, n), row stride `out_stride`, = scale a (m, k) b (k, n), or += if `add`. */
struct txd_cuda_product {
    struct txd_cuda_matrix a, b;
    float *out;
    size_t m, n, k, out_stride;
    float scale;
    bool add;
};

/* Queues the product: operands as they are (float32, no TF32), or converted to bf16
 * in the workspace; sums in float32 in both, in an order given by shapes alone. An
 * empty sum clears, or keeps, out. `name` is of the operation, for failures. */
txd_status txd_cuda_multiply32(const char *name, const struct txd_cuda_product *p);
txd_status txd_cuda_multiply16(const char *name, const struct txd_cuda_product *p);

/* The one that a format needs; nothing of out is rounded here. */
template <typename Round>
static inline txd_status txd_cuda_multiply(const char *name,
                                           const struct txd_cuda_product *p)
{
    return Round::rounds ? txd_cuda_multiply16(name, p) : txd_cuda_multiply32(name, p);
}

/* Names cuBLAS and the device; valid as long as the program runs. */
const char *txd_cuda_blas(void);

#endif
