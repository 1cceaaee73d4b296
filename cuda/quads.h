/* SPDX-License-Identifier: MIT
 *
 * Values in fours: one access of 16 bytes where they lie so, else four of 4. All that
 * is spread over threads in this way begins with a multiple of 4.
 */
#ifndef TXD_CUDA_QUADS_H
#define TXD_CUDA_QUADS_H

#include "cuda/launch.h"

#define TXD_QUAD 4u
/* Threads of a block where nothing is reduced. */
#define TXD_THREADS 256u

struct alignas(16) txd_quad {
    float at[TXD_QUAD];
};

/* Whether fours of what is there are 16-byte aligned; NULL is. */
static inline bool txd_quads_fit(const void *memory)
{
    return (uintptr_t)memory % sizeof(txd_quad) == 0;
}

/* Whether they are in every row of `width`. */
static inline bool txd_quads_fit_rows(const void *memory, size_t width)
{
    return txd_quads_fit(memory) && width % TXD_QUAD == 0;
}

static inline size_t txd_quads_of(size_t count)
{
    return (count + TXD_QUAD - 1) / TXD_QUAD;
}

/* Elements [i, i + 4) of x (count); `beyond` for those that are none. */
static __device__ inline txd_quad txd_load(const float *x, size_t i, size_t count,
                                           bool fit, float beyond)
{
    txd_quad quad;

    if (fit && i + TXD_QUAD <= count)
        return *reinterpret_cast<const txd_quad *>(x + i);
    for (unsigned k = 0; k < TXD_QUAD; k++)
        quad.at[k] = i + k < count ? x[i + k] : beyond;
    return quad;
}

static __device__ inline void txd_store(float *out, size_t i, size_t count, bool fit,
                                        const txd_quad &quad)
{
    if (fit && i + TXD_QUAD <= count) {
        *reinterpret_cast<txd_quad *>(out + i) = quad;
        return;
    }
    for (unsigned k = 0; k < TXD_QUAD; k++)
        if (i + k < count)
            out[i + k] = quad.at[k];
}

/* The first element of this thread's, and how far it is to its next, in a loop of all
 * threads of the grid; the same within the block. */
static __device__ inline size_t txd_grid_begin(void)
{
    return TXD_QUAD * ((size_t)blockIdx.x * blockDim.x + threadIdx.x);
}

static __device__ inline size_t txd_grid_step(void)
{
    return TXD_QUAD * (size_t)gridDim.x * blockDim.x;
}

static __device__ inline size_t txd_block_begin(void)
{
    return TXD_QUAD * (size_t)threadIdx.x;
}

static __device__ inline size_t txd_block_step(void)
{
    return TXD_QUAD * (size_t)blockDim.x;
}

/* Blocks for a loop of the grid. */
static inline unsigned txd_quad_blocks(size_t count)
{
    return txd_cuda_blocks(txd_quads_of(count), TXD_THREADS);
}

/* Threads of a block that does one row: a power of 2 from a warp to `most`, so many
 * that each has about four fours. */
static inline unsigned txd_row_threads(size_t width, unsigned most)
{
    unsigned threads = TXD_WARP;

    while (threads < most && (size_t)threads * TXD_QUAD * 4 < width)
        threads *= 2;
    return threads;
}

/* Blocks for a loop in which each does one row at a time. */
static inline unsigned txd_row_blocks(size_t rows)
{
    return rows < 1 ? 1 : rows < 65536 ? (unsigned)rows : 65536;
}

#endif
