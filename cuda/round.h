/* SPDX-License-Identifier: MIT
 *
 * How a value is stored: `Round()(value)` is it as the format has it, still a float.
 */
#ifndef TXD_CUDA_ROUND_H
#define TXD_CUDA_ROUND_H

#include <cuda_bf16.h>
#include <cuda_runtime.h>

struct txd_round_f32 {
    static constexpr bool rounds = false; /* whether it changes anything */
    __host__ __device__ float operator()(float value) const
    {
        return value;
    }
};

/* To nearest, ties to even; what is beyond the largest number becomes infinite. */
struct txd_round_bf16 {
    static constexpr bool rounds = true;
    __host__ __device__ float operator()(float value) const
    {
        return __bfloat162float(__float2bfloat16_rn(value));
    }
};

#endif
