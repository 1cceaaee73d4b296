/* SPDX-License-Identifier: MIT
 *
 * What tests of the emulation have on the device.
 */
#ifndef TXD_CUDA_HOST_DEVICE_FLOATS_H
#define TXD_CUDA_HOST_DEVICE_FLOATS_H

#include "emulated.h"
#include "suite.h"

#ifdef __cplusplus
#include <vector>

/* To be freed by cudaFree. */
inline float *floats_on_device(const std::vector<float> &values)
{
    float *memory;
    size_t bytes = values.size() * sizeof(float);

    ck_assert_int_eq(cudaMalloc(&memory, bytes), cudaSuccess);
    ck_assert_int_eq(cudaMemcpy(memory, values.data(), bytes, cudaMemcpyHostToDevice),
                     cudaSuccess);
    return memory;
}

inline std::vector<float> floats_of(const float *memory, size_t count)
{
    std::vector<float> values(count);

    ck_assert_int_eq(cudaMemcpy(values.data(), memory, count * sizeof(float),
                                cudaMemcpyDeviceToHost),
                     cudaSuccess);
    return values;
}
#endif

#endif
