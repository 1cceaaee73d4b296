/* SPDX-License-Identifier: MIT
 *
 * The emulation of CUDA's launch model: how threads of a block meet.
 */
#include <vector>

#include "suite.h"

#include "emulated.h"

static const unsigned THREADS = 96;

static float *floats_on_device(const std::vector<float> &values)
{
    float *memory;
    size_t bytes = values.size() * sizeof(float);

    ck_assert_int_eq(cudaMalloc(&memory, bytes), cudaSuccess);
    ck_assert_int_eq(cudaMemcpy(memory, values.data(), bytes, cudaMemcpyHostToDevice),
                     cudaSuccess);
    return memory;
}

static std::vector<float> floats_of(const float *memory, size_t count)
{
    std::vector<float> values(count);

    ck_assert_int_eq(cudaMemcpy(values.data(), memory, count * sizeof(float),
                                cudaMemcpyDeviceToHost),
                     cudaSuccess);
    return values;
}

/* out[block] = sum of the block's part of in, in a fixed order. */
__global__ static void sum_blocks(float *out, const float *in)
{
    TXD_SHARED(float, cells);
    unsigned t = threadIdx.x;

    cells[t] = in[blockIdx.x * blockDim.x + t];
    for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
        __syncthreads();
        if (t < half)
            cells[t] += cells[t + half];
    }
    if (t == 0)
        out[blockIdx.x] = cells[0];
}

START_TEST(a_block_sums_through_shared_memory_in_any_order)
{
    const unsigned blocks = 5, threads = 256;
    std::vector<float> values(blocks * threads);

    for (size_t i = 0; i < values.size(); i++)
        values[i] = static_cast<float>(i % 97);
    float *in = floats_on_device(values), *out = floats_on_device({0, 0, 0, 0, 0});

    for (uint64_t order = 0; order < 5; order++) {
        emulated_order(order);
        TXD_LAUNCH(sum_blocks, blocks, threads, threads * sizeof(float), out, in);
        ck_assert_int_eq(cudaGetLastError(), cudaSuccess);
        std::vector<float> sums = floats_of(out, blocks);
        for (unsigned b = 0; b < blocks; b++) {
            float sum = 0;

            for (unsigned t = 0; t < threads; t++)
                sum += values[b * threads + t];
            ck_assert_float_eq(sums[b], sum);
        }
    }
    cudaFree(in);
    cudaFree(out);
    ck_assert_uint_eq(emulated_allocations(), 0);
}
END_TEST

__global__ static void shuffle(float *out)
{
    unsigned t = threadIdx.x, lane = t % 32;
    float value = static_cast<float>(t);

    out[t] = __shfl_xor_sync(0xffffffffu, value, 5);
    out[THREADS + t] = __shfl_down_sync(0xffffffffu, value, 3);
    out[2 * THREADS + t] = __shfl_up_sync(0xffffffffu, value, 2);
    out[3 * THREADS + t] = __shfl_sync(0xffffffffu, value, 7, 8);
    out[4 * THREADS + t] =
        static_cast<float>(__ballot_sync(0xffffffffu, lane % 3 == 0) >> lane & 1);
}

START_TEST(shuffles_and_votes_are_those_of_a_warp)
{
    float *out = floats_on_device(std::vector<float>(5 * THREADS));

    for (uint64_t order = 0; order < 4; order++) {
        emulated_order(order);
        TXD_LAUNCH(shuffle, 1, THREADS, 0, out);
        std::vector<float> got = floats_of(out, 5 * THREADS);
        for (unsigned t = 0; t < THREADS; t++) {
            unsigned lane = t % 32;

            ck_assert_float_eq(got[t], static_cast<float>(t ^ 5));
            ck_assert_float_eq(got[THREADS + t],
                               static_cast<float>(lane + 3 < 32 ? t + 3 : t));
            ck_assert_float_eq(got[2 * THREADS + t],
                               static_cast<float>(lane >= 2 ? t - 2 : t));
            ck_assert_float_eq(got[3 * THREADS + t], static_cast<float>(t / 8 * 8 + 7));
            ck_assert_float_eq(got[4 * THREADS + t], lane % 3 == 0);
        }
    }
    cudaFree(out);
}
END_TEST

TEST_MAIN(a_block_sums_through_shared_memory_in_any_order,
          shuffles_and_votes_are_those_of_a_warp)
