/* SPDX-License-Identifier: MIT
 *
 * How kernels go over tiles of attention: a block per row where a row is one sum, a
 * grid of cells where each stands alone. Which thread has which column depends on the
 * number of columns alone, so that sums have one order.
 */
#ifndef TXD_CUDA_TILES_H
#define TXD_CUDA_TILES_H

#include <cuda_runtime.h>

/* Threads of a block that goes over `columns`: one warp where they are few. */
static inline unsigned txd_cuda_row_threads(size_t columns)
{
    return columns <= 256 ? 32 : 256;
}

/* Blocks that share rows: for (r = blockIdx.x; r < rows; r += gridDim.x). */
static inline unsigned txd_cuda_row_blocks(size_t rows)
{
    return rows < 65535 ? (unsigned)rows : 65535;
}

/* Blocks for TXD_CELLS over (rows, columns), neither 0, of row_threads(columns). */
static inline dim3 txd_cuda_cell_blocks(size_t rows, size_t columns)
{
    size_t threads = txd_cuda_row_threads(columns);
    size_t blocks = (columns + threads - 1) / threads;

    return dim3(blocks < 1024 ? (unsigned)blocks : 1024, txd_cuda_row_blocks(rows));
}

/* In a kernel: a loop over all cells, each of which one thread has. */
#define TXD_CELLS(r, rows, j, columns)                                                 \
    for (size_t r = blockIdx.y; r < (rows); r += gridDim.y)                            \
        for (size_t j = (size_t)blockIdx.x * blockDim.x + threadIdx.x; j < (columns);  \
             j += (size_t)gridDim.x * blockDim.x)

/* A row's largest value of a softmax: where it is this, no key takes part. */
static __device__ inline bool txd_cuda_no_key(double max)
{
    return isinf(max) && max < 0;
}

#endif
