/* SPDX-License-Identifier: MIT
 *
 * The emulated cuBLAS against three loops, with numbers whose sums are exact.
 */
#include <math.h>
#include <vector>

#include "cublas_v2.h"
#include "cuda_bf16.h"
#include "device_floats.h"

struct shape {
    cublasOperation_t transa, transb;
    int m, n, k, more; /* `more` rows between columns */
    int count;
    float alpha, beta;
};

/* A matrix of the host, its elements as floats. */
struct operand {
    int rows, columns, ld;
    long long stride;
    std::vector<float> values;

    operand(int rows_, int columns_, int more, int count, unsigned seed)
        : rows(rows_), columns(columns_), ld(rows_ + more),
          stride(static_cast<long long>(ld) * columns + 3 * more),
          values(static_cast<size_t>(stride * count))
    {
        for (float &value : values) {
            seed = seed * 1664525u + 1013904223u;
            value = static_cast<float>(static_cast<int>(seed >> 28) - 8);
        }
    }

    size_t at(int row, int column, int i) const
    {
        return static_cast<size_t>(stride * i) + static_cast<size_t>(ld * column + row);
    }

    float get(cublasOperation_t operation, int row, int column, int i) const
    {
        return operation == CUBLAS_OP_N ? values[at(row, column, i)]
                                        : values[at(column, row, i)];
    }
};

static float product_of(const operand &a, const operand &b, const shape &s, int row,
                        int column, int i)
{
    float sum = 0;

    for (int k = 0; k < s.k; k++)
        sum += a.get(s.transa, row, k, i) * b.get(s.transb, k, column, i);
    return s.alpha * sum;
}

/* What C must be: also between its columns, where nothing is written. */
static std::vector<float> expected(const operand &a, const operand &b, const operand &c,
                                   const shape &s)
{
    std::vector<float> out = c.values;

    for (int i = 0; i < s.count; i++)
        for (int column = 0; column < s.n; column++)
            for (int row = 0; row < s.m; row++) {
                float &cell = out[c.at(row, column, i)];

                cell = product_of(a, b, s, row, column, i) +
                       (s.beta == 0 ? 0 : s.beta * cell);
            }
    return out;
}

static __nv_bfloat16 *halves_on_device(const std::vector<float> &values)
{
    std::vector<__nv_bfloat16> halves;
    __nv_bfloat16 *memory;

    for (float value : values)
        halves.push_back(__float2bfloat16_rn(value));
    ck_assert_int_eq(cudaMalloc(&memory, halves.size() * sizeof *memory), cudaSuccess);
    cudaMemcpy(memory, halves.data(), halves.size() * sizeof *memory,
               cudaMemcpyHostToDevice);
    return memory;
}

static std::vector<float> halves_of(const __nv_bfloat16 *memory, size_t count)
{
    std::vector<__nv_bfloat16> halves(count);

    cudaMemcpy(halves.data(), memory, count * sizeof *memory, cudaMemcpyDeviceToHost);
    return std::vector<float>(halves.begin(), halves.end());
}

static void same(const std::vector<float> &got, const std::vector<float> &wanted)
{
    ck_assert_uint_eq(got.size(), wanted.size());
    for (size_t i = 0; i < got.size(); i++)
        ck_assert_msg(got[i] == wanted[i] || (isnan(got[i]) && isnan(wanted[i])),
                      "element %zu is %g, not %g", i, static_cast<double>(got[i]),
                      static_cast<double>(wanted[i]));
}

static void check_floats(cublasHandle_t handle, const operand &a, const operand &b,
                         const operand &c, const shape &s)
{
    float *da = floats_on_device(a.values), *db = floats_on_device(b.values);
    float *dc = floats_on_device(c.values);

    ck_assert_int_eq(
        s.count == 1
            ? cublasSgemm(handle, s.transa, s.transb, s.m, s.n, s.k, &s.alpha, da, a.ld,
                          db, b.ld, &s.beta, dc, c.ld)
            : cublasSgemmStridedBatched(handle, s.transa, s.transb, s.m, s.n, s.k,
                                        &s.alpha, da, a.ld, a.stride, db, b.ld,
                                        b.stride, &s.beta, dc, c.ld, c.stride, s.count),
        CUBLAS_STATUS_SUCCESS);
    same(floats_of(dc, c.values.size()), expected(a, b, c, s));
    cudaFree(da);
    cudaFree(db);
    cudaFree(dc);
}

/* bfloat16 operands, and a C of either type. */
static void check_halves(cublasHandle_t handle, const operand &a, const operand &b,
                         const operand &c, const shape &s)
{
    __nv_bfloat16 *da = halves_on_device(a.values), *db = halves_on_device(b.values);
    __nv_bfloat16 *small = halves_on_device(c.values);
    float *large = floats_on_device(c.values);
    std::vector<float> wanted = expected(a, b, c, s);

    ck_assert_int_eq(cublasGemmStridedBatchedEx(
                         handle, s.transa, s.transb, s.m, s.n, s.k, &s.alpha, da,
                         CUDA_R_16BF, a.ld, a.stride, db, CUDA_R_16BF, b.ld, b.stride,
                         &s.beta, large, CUDA_R_32F, c.ld, c.stride, s.count,
                         CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT),
                     CUBLAS_STATUS_SUCCESS);
    same(floats_of(large, c.values.size()), wanted);
    ck_assert_int_eq(cublasGemmStridedBatchedEx(
                         handle, s.transa, s.transb, s.m, s.n, s.k, &s.alpha, da,
                         CUDA_R_16BF, a.ld, a.stride, db, CUDA_R_16BF, b.ld, b.stride,
                         &s.beta, small, CUDA_R_16BF, c.ld, c.stride, s.count,
                         CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT),
                     CUBLAS_STATUS_SUCCESS);
    for (float &value : wanted)
        value = __bfloat162float(__float2bfloat16_rn(value));
    same(halves_of(small, c.values.size()), wanted);
    cudaFree(da);
    cudaFree(db);
    cudaFree(small);
    cudaFree(large);
}

static const cublasOperation_t operations[] = {CUBLAS_OP_N, CUBLAS_OP_T};

template <class Check> static void each_shape(Check check)
{
    static const struct {
        int m, n, k, more, count;
        float alpha, beta;
    } sizes[] = {
        {5, 4, 7, 0, 1, 1, 0},    {5, 4, 7, 2, 1, 2, 1}, {1, 9, 3, 1, 3, -1, 0.5f},
        {17, 6, 33, 3, 2, 1, -1}, {3, 1, 1, 0, 4, 1, 0}, {4, 4, 0, 1, 2, 1, 2},
    };

    for (cublasOperation_t transa : operations)
        for (cublasOperation_t transb : operations)
            for (const auto &one : sizes)
                check(shape{transa, transb, one.m, one.n, one.k, one.more, one.count,
                            one.alpha, one.beta});
}

static operand left(const shape &s)
{
    bool plain = s.transa == CUBLAS_OP_N;

    return operand(plain ? s.m : s.k, plain ? s.k : s.m, s.more, s.count, 1);
}

static operand right(const shape &s)
{
    bool plain = s.transb == CUBLAS_OP_N;

    return operand(plain ? s.k : s.n, plain ? s.n : s.k, s.more + 1, s.count, 2);
}

static operand result(const shape &s)
{
    return operand(s.m, s.n, 2 * s.more, s.count, 3);
}

START_TEST(products_are_those_of_three_loops)
{
    cublasHandle_t handle;

    ck_assert_int_eq(cublasCreate(&handle), CUBLAS_STATUS_SUCCESS);
    each_shape([handle](const shape &s) {
        check_floats(handle, left(s), right(s), result(s), s);
        if (s.k > 0)
            check_halves(handle, left(s), right(s), result(s), s);
    });
    cublasDestroy(handle);
    ck_assert_uint_eq(emulated_allocations(), 0);
}
END_TEST

START_TEST(nan_and_inf_go_through_products_and_beta_0_reads_no_result)
{
    cublasHandle_t handle;

    ck_assert_int_eq(cublasCreate(&handle), CUBLAS_STATUS_SUCCESS);
    each_shape([handle](const shape &s) {
        operand a = left(s), b = right(s), c = result(s);

        if (s.k == 0)
            return;
        a.values[a.at(0, 0, 0)] = NAN;
        b.values[b.at(0, 0, 0)] = INFINITY;
        for (float &value : b.values)
            value = value < 0 ? 0 : value; /* 0 times NaN is NaN */
        for (float &value : c.values)
            value = s.beta == 0 ? NAN : value;
        check_floats(handle, a, b, c, s);
        check_halves(handle, a, b, c, s);
    });
    cublasDestroy(handle);
}
END_TEST

START_TEST(operands_beyond_their_memory_are_refused)
{
    cublasHandle_t handle;
    float one = 1, zero = 0;
    float *a = floats_on_device(std::vector<float>(12)),
          *b = floats_on_device({0, 0, 0});

    ck_assert_int_eq(cublasCreate(&handle), CUBLAS_STATUS_SUCCESS);
    ck_assert_int_eq(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 3, 1, 3, &one, a, 3,
                                 b, 3, &zero, a + 9, 3),
                     CUBLAS_STATUS_SUCCESS);
    ck_assert_int_eq(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 3, 1, 3, &one, a, 3,
                                 b, 3, &zero, a + 10, 3),
                     CUBLAS_STATUS_INVALID_VALUE);
    ck_assert_int_eq(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 3, 1, 3, &one, a, 2,
                                 b, 3, &zero, a + 9, 3),
                     CUBLAS_STATUS_INVALID_VALUE);
    ck_assert_int_eq(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 3, 1, 3, &one, a, 3,
                                 &one, 3, &zero, a + 9, 3),
                     CUBLAS_STATUS_INVALID_VALUE);
    ck_assert_int_eq(cublasSgemm(nullptr, CUBLAS_OP_N, CUBLAS_OP_N, 3, 1, 3, &one, a, 3,
                                 b, 3, &zero, a + 9, 3),
                     CUBLAS_STATUS_NOT_INITIALIZED);
    cublasDestroy(handle);
    cudaFree(a);
    cudaFree(b);
}
END_TEST

TEST_MAIN(products_are_those_of_three_loops,
          nan_and_inf_go_through_products_and_beta_0_reads_no_result,
          operands_beyond_their_memory_are_refused)
