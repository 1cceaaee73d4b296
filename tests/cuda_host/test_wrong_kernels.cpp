/* SPDX-License-Identifier: MIT
 *
 * Kernels and hosts that do wrong are found, and told with their place.
 */
#include <unistd.h>

#include "dies.h"
#include "emulated.h"
#include "suite.h"

__global__ static void one_misses_the_barrier()
{
    if (threadIdx.x != 40 || blockIdx.x != 1)
        __syncthreads();
}

START_TEST(a_barrier_that_one_thread_misses_is_told)
{
    assert_dies([] { TXD_LAUNCH(one_misses_the_barrier, 2, 64, 0); },
                "kernel one_misses_the_barrier, block (1,0,0) of (2,1,1)",
                "thread (40,0,0) has ended");
}
END_TEST

__global__ static void two_barriers()
{
    if (threadIdx.x < 32)
        __syncthreads();
    else
        __syncthreads();
}

START_TEST(barriers_of_two_branches_are_told)
{
    assert_dies([] { TXD_LAUNCH(two_barriers, 1, 64, 0); }, "waits at the barrier of",
                "test_wrong_kernels.cpp");
}
END_TEST

__global__ static void half_a_warp_shuffles(unsigned mask)
{
    if (threadIdx.x < 16)
        (void)__shfl_xor_sync(mask, 1.0f, 1);
}

START_TEST(a_shuffle_that_named_lanes_miss_is_told)
{
    TXD_LAUNCH(half_a_warp_shuffles, 1, 32, 0, 0xffffu);
    ck_assert_int_eq(cudaGetLastError(), cudaSuccess);
    assert_dies([] { TXD_LAUNCH(half_a_warp_shuffles, 1, 32, 0, 0x1ffffu); },
                "waits at the shuffle of", "thread (16,0,0) has ended");
    assert_dies([] { TXD_LAUNCH(half_a_warp_shuffles, 1, 16, 0, 0xffffffffu); },
                "names lanes that are not there", nullptr);
    assert_dies([] { TXD_LAUNCH(half_a_warp_shuffles, 1, 32, 0, 0xfffeu); },
                "thread (0,0,0) of (32,1,1) is not named by the mask", nullptr);
}
END_TEST

__global__ static void reads_another_half()
{
    (void)__shfl_xor_sync(threadIdx.x < 16 ? 0xffffu : 0xffff0000u, 1, 16);
}

START_TEST(a_shuffle_from_a_lane_outside_its_mask_is_told)
{
    assert_dies([] { TXD_LAUNCH(reads_another_half, 1, 32, 0); }, "reads lane",
                "does not name it");
}
END_TEST

__global__ static void two_masks()
{
    __syncwarp(threadIdx.x == 0 ? 0x3u : 0xffffffffu);
}

__global__ static void barrier_or_vote()
{
    if (threadIdx.x == 5)
        __syncthreads();
    else
        (void)__ballot_sync(0xffffffffu, 1);
}

START_TEST(threads_that_wait_for_different_things_are_told)
{
    assert_dies([] { TXD_LAUNCH(two_masks, 1, 32, 0); },
                "waits at the barrier of its warp", "with another mask");
    assert_dies([] { TXD_LAUNCH(barrier_or_vote, 1, 32, 0); }, "waits at the vote of",
                "thread (5,0,0) waits at the barrier of");
}
END_TEST

__global__ static void writes_shared(unsigned at)
{
    TXD_SHARED(float, cells);

    if (threadIdx.x == 3)
        cells[at] = 1;
}

START_TEST(bytes_beyond_shared_memory_are_told)
{
    TXD_LAUNCH(writes_shared, 1, 32, 10 * sizeof(float), 9u);
    ck_assert_int_eq(cudaGetLastError(), cudaSuccess);
    assert_dies([] { TXD_LAUNCH(writes_shared, 1, 32, 10 * sizeof(float), 10u); },
                ASAN_OR("kernel writes_shared"), nullptr);
    assert_dies([] { TXD_LAUNCH(writes_shared, 1, 32, 10 * sizeof(float), 12u); },
                ASAN_OR("thread (3,0,0) of (32,1,1) accessed"), nullptr);
    assert_dies([] { TXD_LAUNCH(writes_shared, 1, 32, 0, 0u); },
                ASAN_OR("kernel writes_shared"), nullptr);
}
END_TEST

__global__ static void writes(float *out, size_t at)
{
    out[at] = 1;
}

static float *device_floats(size_t count)
{
    float *memory = nullptr;

    ck_assert_int_eq(cudaMalloc(&memory, count * sizeof(float)), cudaSuccess);
    return memory;
}

START_TEST(bytes_beyond_an_allocation_are_told)
{
    assert_dies([] { TXD_LAUNCH(writes, 1, 1, 0, device_floats(64), size_t(64)); },
                ASAN_OR("lies beyond an allocation"), nullptr);
    assert_dies(
        [] {
            float *memory = device_floats(10);

            TXD_LAUNCH(writes, 1, 1, 0, memory, size_t(10));
            cudaFree(memory);
        },
        ASAN_OR("wrote beyond an allocation"), nullptr);
    assert_dies(
        [] {
            float *memory = device_floats(10);

            TXD_LAUNCH(writes, 1, 1, 0, memory, size_t(0) - 1);
            cudaFree(memory);
        },
        ASAN_OR("wrote before an allocation"), nullptr);
    assert_dies(
        [] {
            float *memory = device_floats(10);

            cudaFree(memory);
            TXD_LAUNCH(writes, 1, 1, 0, memory, size_t(0));
        },
        ASAN_OR("freed"), nullptr);
}
END_TEST

static float of_host[4];

START_TEST(a_kernel_that_is_given_memory_of_the_host_is_told)
{
    float *pinned;

    assert_dies([] { TXD_LAUNCH(writes, 1, 1, 0, of_host, size_t(0)); },
                ASAN_OR("memory of the host"), nullptr);
    ck_assert_int_eq(cudaMallocHost(&pinned, sizeof *pinned), cudaSuccess);
    *pinned = 0;
    TXD_LAUNCH(writes, 1, 1, 0, pinned, size_t(0));
    ck_assert_float_eq(*pinned, 1);
    cudaFreeHost(pinned);
}
END_TEST

__global__ static void follows(float *const *place)
{
    **place = 1;
}

START_TEST(a_kernel_that_reads_addresses_from_memory_is_told)
{
    assert_dies(
        [] {
            float *to = device_floats(1), **place;

            cudaMalloc(&place, sizeof *place);
            cudaMemcpy(place, &to, sizeof to, cudaMemcpyHostToDevice);
            TXD_LAUNCH(follows, 1, 1, 0, place);
        },
        ASAN_OR("give pointers as arguments"), nullptr);
}
END_TEST

START_TEST(a_host_that_touches_memory_of_the_device_dies)
{
    assert_dies([] { *device_floats(4) = 1; }, nullptr, nullptr);
    assert_dies([] { _exit(*device_floats(4) == 1); }, nullptr, nullptr);
}
END_TEST

__global__ static void writes_once(float *out, unsigned count)
{
    if (threadIdx.x < count)
        out[threadIdx.x] = static_cast<float>(threadIdx.x);
}

static cudaError_t launched(dim3 blocks, dim3 threads, size_t shared)
{
    TXD_LAUNCH(writes_once, blocks, threads, shared, nullptr, 0u);
    return cudaGetLastError();
}

START_TEST(launches_beyond_the_limits_are_refused)
{
    size_t before = emulated_launches();

    ck_assert_int_eq(launched(0, 32, 0), cudaErrorInvalidConfiguration);
    ck_assert_int_eq(launched(1, 0, 0), cudaErrorInvalidConfiguration);
    ck_assert_int_eq(launched(1, 1025, 0), cudaErrorInvalidConfiguration);
    ck_assert_int_eq(launched(1, dim3(64, 32), 0), cudaErrorInvalidConfiguration);
    ck_assert_int_eq(launched(dim3(1, 65536), 1, 0), cudaErrorInvalidConfiguration);
    ck_assert_int_eq(launched(1, 32, (48 << 10) + 1), cudaErrorInvalidValue);
    ck_assert_int_eq(cudaGetLastError(), cudaSuccess);
    ck_assert_uint_eq(emulated_launches(), before);
    ck_assert_int_eq(launched(1, 1024, 48 << 10), cudaSuccess);
    ck_assert_int_eq(cudaFuncSetAttribute(writes_once,
                                          cudaFuncAttributeMaxDynamicSharedMemorySize,
                                          (227 << 10) + 1),
                     cudaErrorInvalidValue);
    ck_assert_int_eq(cudaFuncSetAttribute(writes_once,
                                          cudaFuncAttributeMaxDynamicSharedMemorySize,
                                          227 << 10),
                     cudaSuccess);
    (void)cudaGetLastError();
    ck_assert_int_eq(launched(1, 32, 227 << 10), cudaSuccess);
    ck_assert_uint_eq(emulated_launches(), before + 2);
}
END_TEST

TEST_MAIN(a_barrier_that_one_thread_misses_is_told, barriers_of_two_branches_are_told,
          a_shuffle_that_named_lanes_miss_is_told,
          a_shuffle_from_a_lane_outside_its_mask_is_told,
          threads_that_wait_for_different_things_are_told,
          bytes_beyond_shared_memory_are_told, bytes_beyond_an_allocation_are_told,
          a_kernel_that_is_given_memory_of_the_host_is_told,
          a_kernel_that_reads_addresses_from_memory_is_told,
          a_host_that_touches_memory_of_the_device_dies,
          launches_beyond_the_limits_are_refused)
