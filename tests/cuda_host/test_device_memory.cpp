/* SPDX-License-Identifier: MIT
 *
 * Memory of the emulated device, copies, streams and events; and devices that are not
 * there.
 */
#include <stdlib.h>
#include <string.h>
#include <vector>

#include "cublas_v2.h"
#include "device_floats.h"

START_TEST(fresh_memory_is_nan)
{
    float *memory;

    ck_assert_int_eq(cudaMalloc(&memory, 1000 * sizeof(float)), cudaSuccess);
    ck_assert_uint_eq(reinterpret_cast<uintptr_t>(memory) % 256, 0);
    for (float value : floats_of(memory, 1000))
        ck_assert_float_nan(value);
    ck_assert_int_eq(cudaMemset(memory, 0, 500 * sizeof(float)), cudaSuccess);
    std::vector<float> values = floats_of(memory, 1000);
    ck_assert_float_eq(values[499], 0);
    ck_assert_float_nan(values[500]);
    ck_assert_int_eq(cudaFree(memory), cudaSuccess);
    ck_assert_int_eq(cudaFree(memory), cudaErrorInvalidValue);
    ck_assert_int_eq(cudaFree(nullptr), cudaSuccess);
}
END_TEST

START_TEST(copies_beyond_an_allocation_or_against_their_direction_are_refused)
{
    float host[8] = {1, 2, 3, 4, 5, 6, 7, 8}, back[8] = {};
    float *a = floats_on_device(std::vector<float>(8)),
          *b = floats_on_device(std::vector<float>(8));
    const struct {
        void *to;
        const void *from;
        size_t bytes;
        cudaMemcpyKind kind;
        cudaError_t result;
    } tries[] = {
        {a, host, 32, cudaMemcpyHostToDevice, cudaSuccess},
        {b, a, 32, cudaMemcpyDeviceToDevice, cudaSuccess},
        {back, b, 32, cudaMemcpyDeviceToHost, cudaSuccess},
        {b, host, 32, cudaMemcpyDefault, cudaSuccess},
        {b + 8, nullptr, 0, cudaMemcpyHostToDevice, cudaSuccess},
        {a + 1, host, 32, cudaMemcpyHostToDevice, cudaErrorInvalidValue},
        {a, host, 33, cudaMemcpyHostToDevice, cudaErrorInvalidValue},
        {back, a + 7, 8, cudaMemcpyDeviceToHost, cudaErrorInvalidValue},
        {back, a, 32, cudaMemcpyHostToDevice, cudaErrorInvalidValue},
        {a, host, 32, cudaMemcpyDeviceToDevice, cudaErrorInvalidValue},
        {b, a, 32, cudaMemcpyHostToDevice, cudaErrorInvalidValue},
        {back, a, 32, cudaMemcpyHostToHost, cudaErrorInvalidValue},
        {a + 1, a, 16, cudaMemcpyDeviceToDevice, cudaErrorInvalidValue},
    };

    (void)cudaGetLastError(); /* of whatever was before */
    for (const auto &one : tries) {
        ck_assert_int_eq(
            cudaMemcpyAsync(one.to, one.from, one.bytes, one.kind, nullptr),
            one.result);
        ck_assert_int_eq(cudaGetLastError(), one.result);
        ck_assert_int_eq(cudaGetLastError(), cudaSuccess);
    }
    ck_assert_mem_eq(back, host, sizeof host);
    ck_assert_int_eq(cudaMemset(host, 0, 32), cudaErrorInvalidValue);
    ck_assert_int_eq(cudaMemset(a, 0, 33), cudaErrorInvalidValue);
    cudaFree(a);
    cudaFree(b);
}
END_TEST

START_TEST(the_device_runs_out_of_the_memory_it_is_given)
{
    size_t available, total;
    char *first, *other;

    emulated_memory_limit(1 << 20);
    ck_assert_int_eq(cudaMemGetInfo(&available, &total), cudaSuccess);
    ck_assert_uint_eq(total, 1 << 20);
    ck_assert_uint_eq(available, 1 << 20);
    ck_assert_int_eq(cudaMalloc(&first, 700000), cudaSuccess);
    ck_assert_int_eq(cudaMalloc(&other, 700000), cudaErrorMemoryAllocation);
    ck_assert_int_eq(cudaMalloc(&other, SIZE_MAX), cudaErrorMemoryAllocation);
    ck_assert_ptr_null(other);
    ck_assert_int_eq(cudaMemGetInfo(&available, &total), cudaSuccess);
    ck_assert_uint_eq(available, (1 << 20) - 700000);
    cudaFree(first);
    ck_assert_int_eq(cudaMalloc(&other, 700000), cudaSuccess);
    cudaFree(other);
}
END_TEST

START_TEST(the_environment_limits_memory)
{
    size_t available, total;

    ck_assert_int_eq(setenv("TXD_EMULATED_MEMORY", "123456", 1), 0);
    emulated_memory_limit(0);
    ck_assert_int_eq(cudaMemGetInfo(&available, &total), cudaSuccess);
    ck_assert_uint_eq(total, 123456);
    unsetenv("TXD_EMULATED_MEMORY");
    emulated_memory_limit(0);
}
END_TEST

static void check_absent(const char *how, cudaError_t error)
{
    int count = 7, driver;
    float *memory;
    cublasHandle_t handle;
    cudaStream_t stream;

    ck_assert_int_eq(setenv("TXD_EMULATED_DEVICES", how, 1), 0);
    ck_assert_int_eq(cudaGetDeviceCount(&count), error);
    ck_assert_int_eq(count, 0);
    ck_assert_int_eq(cudaSetDevice(0), error);
    ck_assert_int_eq(cudaMalloc(&memory, 4), error);
    ck_assert_int_eq(cudaStreamCreate(&stream), error);
    ck_assert_int_eq(cublasCreate(&handle), CUBLAS_STATUS_NOT_INITIALIZED);
    ck_assert_int_eq(cudaDriverGetVersion(&driver), cudaSuccess);
    ck_assert_int_eq(driver == 0, error == cudaErrorInsufficientDriver);
    unsetenv("TXD_EMULATED_DEVICES");
}

START_TEST(there_may_be_no_device_or_no_driver)
{
    int count;

    check_absent("none", cudaErrorNoDevice);
    check_absent("no-driver", cudaErrorInsufficientDriver);
    ck_assert_str_eq(cudaGetErrorName(cudaErrorNoDevice), "cudaErrorNoDevice");
    ck_assert_int_eq(cudaGetDeviceCount(&count), cudaSuccess);
    ck_assert_int_eq(count, 1);
    ck_assert_int_eq(cudaSetDevice(1), cudaErrorInvalidDevice);
}
END_TEST

START_TEST(streams_and_events_are_there)
{
    cudaStream_t stream;
    cudaEvent_t from, to;
    float milliseconds = -1;

    ck_assert_int_eq(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking),
                     cudaSuccess);
    ck_assert_int_eq(cudaEventCreate(&from), cudaSuccess);
    ck_assert_int_eq(cudaEventCreate(&to), cudaSuccess);
    ck_assert_int_eq(cudaEventRecord(from, stream), cudaSuccess);
    ck_assert_int_eq(cudaEventRecord(to, stream), cudaSuccess);
    ck_assert_int_eq(cudaStreamWaitEvent(stream, to, 0), cudaSuccess);
    ck_assert_int_eq(cudaEventElapsedTime(&milliseconds, from, to), cudaSuccess);
    ck_assert_float_ge(milliseconds, 0);
    ck_assert_int_eq(cudaEventDestroy(from), cudaSuccess);
    ck_assert_int_eq(cudaEventDestroy(to), cudaSuccess);
    ck_assert_int_eq(cudaStreamDestroy(stream), cudaSuccess);
}
END_TEST

TEST_MAIN(fresh_memory_is_nan,
          copies_beyond_an_allocation_or_against_their_direction_are_refused,
          the_device_runs_out_of_the_memory_it_is_given, the_environment_limits_memory,
          there_may_be_no_device_or_no_driver, streams_and_events_are_there)
