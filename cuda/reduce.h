/* SPDX-License-Identifier: MIT
 *
 * Reductions over a warp and over a block, in one fixed order. Every thread of the warp
 * or block must take part, and every one has the result. A block has at most 1024
 * threads, a multiple of 32, in one dimension. They may be called any number of times.
 *
 * `How` is associative up to rounding: a functor of two values of T (float, double,
 * int, unsigned, long long or unsigned long long).
 */
#ifndef TXD_CUDA_REDUCE_H
#define TXD_CUDA_REDUCE_H

#include <cuda_runtime.h>

#define TXD_WARP 32u
#define TXD_ALL_LANES 0xffffffffu

struct txd_how_sum {
    template <typename T> __device__ T operator()(T a, T b) const
    {
        return a + b;
    }
};

/* NaN if one of the two is. */
struct txd_how_max {
    template <typename T> __device__ T operator()(T a, T b) const
    {
        return a > b || a != a ? a : b;
    }
};

/* NaN if one of the two is. */
struct txd_how_min {
    template <typename T> __device__ T operator()(T a, T b) const
    {
        return a < b || a != a ? a : b;
    }
};

template <typename T, typename How> __device__ T txd_warp_reduce(T value, How how)
{
    for (int lanes = TXD_WARP / 2; lanes > 0; lanes /= 2)
        value = how(value, __shfl_xor_sync(TXD_ALL_LANES, value, lanes));
    return value;
}

template <typename T, typename How> __device__ T txd_block_reduce(T value, How how)
{
    __shared__ T of_warp[TXD_WARP];
    unsigned warps = blockDim.x / TXD_WARP, warp = threadIdx.x / TXD_WARP;

    value = txd_warp_reduce(value, how);
    if (threadIdx.x % TXD_WARP == 0)
        of_warp[warp] = value;
    __syncthreads();
    value = of_warp[0];
    for (unsigned w = 1; w < warps; w++)
        value = how(value, of_warp[w]);
    __syncthreads(); /* of_warp is free for the next call */
    return value;
}

template <typename T> __device__ T txd_warp_sum(T value)
{
    return txd_warp_reduce(value, txd_how_sum());
}

template <typename T> __device__ T txd_warp_max(T value)
{
    return txd_warp_reduce(value, txd_how_max());
}

template <typename T> __device__ T txd_block_sum(T value)
{
    return txd_block_reduce(value, txd_how_sum());
}

template <typename T> __device__ T txd_block_max(T value)
{
    return txd_block_reduce(value, txd_how_max());
}

template <typename T> __device__ T txd_block_min(T value)
{
    return txd_block_reduce(value, txd_how_min());
}

/* Whether some thread of the block says so. */
static __device__ inline bool txd_block_any(bool value)
{
    return txd_block_max(value ? 1 : 0) != 0;
}

#endif
