/* SPDX-License-Identifier: MIT
 *
 * The emulation of CUDA's launch model: how threads of a block meet, and in what order
 * they run.
 */
#include <atomic>
#include <string.h>
#include <thread>
#include <vector>

#include "base/half.h"
#include "cuda_bf16.h"
#include "device_floats.h"

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

/* Whether sums of blocks are those of a plain loop. Asserts nothing: for any thread. */
static bool sums_are_right(unsigned blocks, unsigned threads)
{
    std::vector<float> values(blocks * threads), sums(blocks);
    float *in = nullptr, *out = nullptr;
    bool right = true;

    for (size_t i = 0; i < values.size(); i++)
        values[i] = static_cast<float>(i % 97);
    cudaMalloc(&in, values.size() * sizeof(float));
    cudaMalloc(&out, sums.size() * sizeof(float));
    cudaMemcpy(in, values.data(), values.size() * sizeof(float),
               cudaMemcpyHostToDevice);
    TXD_LAUNCH(sum_blocks, blocks, threads, threads * sizeof(float), out, in);
    cudaMemcpy(sums.data(), out, sums.size() * sizeof(float), cudaMemcpyDeviceToHost);
    for (unsigned b = 0; b < blocks; b++) {
        float sum = 0;

        for (unsigned t = 0; t < threads; t++)
            sum += values[b * threads + t];
        right = right && sums[b] == sum;
    }
    cudaFree(in);
    cudaFree(out);
    return right && cudaGetLastError() == cudaSuccess;
}

START_TEST(a_block_sums_through_shared_memory_in_any_order)
{
    for (uint64_t order = 0; order < 5; order++) {
        emulated_order(order);
        ck_assert(sums_are_right(5, 256));
        ck_assert(sums_are_right(1, 1024));
    }
    ck_assert_uint_eq(emulated_allocations(), 0);
}
END_TEST

START_TEST(several_threads_of_the_host_launch_at_once)
{
    std::vector<std::thread> threads;
    std::atomic<int> right{0};

    for (unsigned i = 0; i < 4; i++)
        threads.emplace_back([i, &right] {
            for (int repeat = 0; repeat < 5; repeat++)
                right += sums_are_right(7 + i, 64u << i % 3);
        });
    for (std::thread &thread : threads)
        thread.join();
    ck_assert_int_eq(right, 20);
    ck_assert_uint_eq(emulated_allocations(), 0);
}
END_TEST

static const unsigned THREADS = 96, WIDTH = 8;

__global__ static void shuffle(float *out)
{
    unsigned t = threadIdx.x, lane = t % 32;
    float value = static_cast<float>(t);

    out[t] = __shfl_xor_sync(0xffffffffu, value, 5);
    out[THREADS + t] = __shfl_down_sync(0xffffffffu, value, 3);
    out[2 * THREADS + t] = __shfl_up_sync(0xffffffffu, value, 2);
    out[3 * THREADS + t] = __shfl_sync(0xffffffffu, value, 7, WIDTH);
    out[4 * THREADS + t] =
        static_cast<float>(__ballot_sync(0xffffffffu, lane % 3 == 0) >> lane & 1);
    out[5 * THREADS + t] = static_cast<float>(
        __shfl_down_sync(0xffffffffu, static_cast<double>(t) + 0x1p-30, 3, WIDTH) -
        0x1p-30);
    out[6 * THREADS + t] =
        static_cast<float>(__any_sync(0xffffffffu, t == 40) +
                           2 * __all_sync(0xffffffffu, t < THREADS - 1));
}

START_TEST(shuffles_and_votes_are_those_of_a_warp)
{
    float *out = floats_on_device(std::vector<float>(7 * THREADS));

    for (uint64_t order = 0; order < 4; order++) {
        emulated_order(order);
        TXD_LAUNCH(shuffle, 1, THREADS, 0, out);
        std::vector<float> got = floats_of(out, 7 * THREADS);
        for (unsigned t = 0; t < THREADS; t++) {
            unsigned lane = t % 32;
            const unsigned expected[] = {
                t ^ 5,
                lane + 3 < 32 ? t + 3 : t,
                lane >= 2 ? t - 2 : t,
                t / WIDTH * WIDTH + 7,
                lane % 3 == 0,
                lane % WIDTH + 3 < WIDTH ? t + 3 : t,
                (t / 32 == 1 ? 1u : 0u) + (t / 32 < 2 ? 2 : 0),
            };

            for (unsigned i = 0; i < 7; i++)
                ck_assert_float_eq(got[i * THREADS + t],
                                   static_cast<float>(expected[i]));
        }
    }
    cudaFree(out);
}
END_TEST

__global__ static void parts_of_a_warp(float *out)
{
    unsigned lane = threadIdx.x, mask = lane < 8 ? 0xffu : 0xffffff00u;
    float value = static_cast<float>(lane);

    /* The first part takes many more steps than the other. */
    for (unsigned i = 0; i < (lane < 8 ? 9 : 2); i++)
        value = __shfl_xor_sync(mask, value, 1) + 1;
    out[lane] = value;
}

START_TEST(parts_of_a_warp_go_their_own_ways)
{
    float *out = floats_on_device(std::vector<float>(32));

    for (uint64_t order = 0; order < 4; order++) {
        emulated_order(order);
        TXD_LAUNCH(parts_of_a_warp, 1, 32, 0, out);
        std::vector<float> got = floats_of(out, 32);
        for (unsigned lane = 0; lane < 32; lane++)
            ck_assert_float_eq(got[lane], lane < 8 ? static_cast<float>((lane ^ 1) + 9)
                                                   : static_cast<float>(lane + 2));
    }
    cudaFree(out);
}
END_TEST

__global__ static void places(unsigned *seen, unsigned *turn)
{
    unsigned t = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    unsigned b = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    unsigned at = b * blockDim.x * blockDim.y * blockDim.z + t;

    seen[at] = atomicAdd(turn, 1u);
}

/* The turn at which each thread of 2 x 3 x 4 blocks of 5 x 2 x 3 came. */
static std::vector<unsigned> turns(uint64_t order)
{
    const unsigned count = 2 * 3 * 4 * 5 * 2 * 3;
    std::vector<unsigned> got(count);
    unsigned *seen, *turn;

    ck_assert_int_eq(cudaMalloc(&seen, count * sizeof *seen), cudaSuccess);
    ck_assert_int_eq(cudaMalloc(&turn, sizeof *turn), cudaSuccess);
    cudaMemset(turn, 0, sizeof *turn);
    emulated_order(order);
    TXD_LAUNCH(places, dim3(2, 3, 4), dim3(5, 2, 3), 0, seen, turn);
    ck_assert_int_eq(cudaGetLastError(), cudaSuccess);
    cudaMemcpy(got.data(), seen, count * sizeof *seen, cudaMemcpyDeviceToHost);
    cudaFree(seen);
    cudaFree(turn);
    return got;
}

START_TEST(every_thread_of_every_block_runs_once_in_the_order_asked_for)
{
    std::vector<unsigned> forward = turns(0), backward = turns(1), one = turns(7),
                          other = turns(8);
    std::vector<bool> taken(one.size());

    for (unsigned i = 0; i < forward.size(); i++) {
        ck_assert_uint_eq(forward[i], i);
        ck_assert_uint_eq(backward[i], forward.size() - 1 - i);
        ck_assert_uint_lt(one[i], one.size());
        ck_assert(!taken[one[i]]);
        taken[one[i]] = true;
    }
    ck_assert(one == turns(7));
    ck_assert(one != forward && one != backward && one != other);
}
END_TEST

__global__ static void last_one_wins(float *out)
{
    *out = static_cast<float>(threadIdx.x);
}

START_TEST(a_kernel_that_depends_on_order_shows_it)
{
    float *out = floats_on_device({0});

    emulated_order(0);
    TXD_LAUNCH(last_one_wins, 1, 64, 0, out);
    float forward = floats_of(out, 1)[0];
    emulated_order(1);
    TXD_LAUNCH(last_one_wins, 1, 64, 0, out);
    ck_assert_float_ne(floats_of(out, 1)[0], forward);
    cudaFree(out);
}
END_TEST

__global__ static void first_of_shared(float *out)
{
    TXD_SHARED(float, cells);

    if (threadIdx.x == 0) {
        out[blockIdx.x] = cells[7];
        cells[7] = 1;
    }
}

START_TEST(shared_memory_is_nan_in_every_block)
{
    float *out = floats_on_device({0, 0, 0});

    TXD_LAUNCH(first_of_shared, 3, 32, 8 * sizeof(float), out);
    for (float value : floats_of(out, 3))
        ck_assert_float_nan(value);
    cudaFree(out);
}
END_TEST

START_TEST(bfloat16_rounds_as_the_library_does)
{
    for (uint64_t i = 0; i < 1u << 20; i++) {
        uint32_t bits = static_cast<uint32_t>(i << 12 | (i * 2654435761u >> 7 & 0xfff));
        float value;

        if (i % 3 == 0)
            bits = (bits & 0xffff0000u) | 0x8000; /* a tie */
        memcpy(&value, &bits, sizeof value);
        __nv_bfloat16 got = __float2bfloat16_rn(value);

        if (value != value)
            ck_assert_float_nan(__bfloat162float(got));
        else
            ck_assert_uint_eq(__bfloat16_as_ushort(got), txd_f32_to_bf16(value));
    }
}
END_TEST

TEST_MAIN(a_block_sums_through_shared_memory_in_any_order,
          several_threads_of_the_host_launch_at_once,
          shuffles_and_votes_are_those_of_a_warp, parts_of_a_warp_go_their_own_ways,
          every_thread_of_every_block_runs_once_in_the_order_asked_for,
          a_kernel_that_depends_on_order_shows_it, shared_memory_is_nan_in_every_block,
          bfloat16_rounds_as_the_library_does)
