/* SPDX-License-Identifier: MIT
 *
 * Linear maps and their gradients.
 */
#include "cuda/launch.h"

#include "cuda/products.h"

#define THREADS 256u
/* Columns of a block that sums them, and its threads per column. */
#define COLUMNS 32u
#define LINES 32u

/* x (rows, width) = itself, plus bias (width) if there is one, as it is stored. */
template <typename Round>
static __global__ void store(float *x, const float *bias, size_t count, size_t width)
{
    size_t step = (size_t)gridDim.x * blockDim.x;

    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step)
        x[i] = Round()(bias != NULL ? x[i] + bias[i % width] : x[i]);
}

/* Where nothing changes, nothing is queued. */
template <typename Round>
static txd_status stored(const char *name, void *x, const void *bias, size_t rows,
                         size_t width)
{
    size_t count = rows * width;

    if (count == 0 || (bias == NULL && !Round::rounds))
        return TXD_OK;
    TXD_LAUNCH((store<Round>), txd_cuda_blocks(count, THREADS), THREADS, 0, (float *)x,
               (const float *)bias, count, width);
    return txd_cuda_check(name);
}

template <typename Round> static txd_status linear_as(const struct txd_linear_args *a)
{
    struct txd_cuda_product product = {};

    product.a = {(const float *)a->x, a->k, false};
    product.b = {(const float *)a->weight, a->k, true};
    product.out = (float *)a->out;
    product.m = a->rows;
    product.n = a->n;
    product.k = a->k;
    product.out_stride = a->n;
    product.scale = 1;
    TXD_TRY(txd_cuda_multiply<Round>("linear", &product));
    return stored<Round>("linear", a->out, a->bias, a->rows, a->n);
}

template <typename Round> static txd_status back_x(const struct txd_linear_back_args *a)
{
    struct txd_cuda_product product = {};

    product.a = {(const float *)a->d_out, a->n, false};
    product.b = {(const float *)a->weight, a->k, false};
    product.out = (float *)a->d_x;
    product.m = a->rows;
    product.n = a->k;
    product.k = a->n;
    product.out_stride = a->k;
    product.scale = 1;
    product.add = a->add;
    TXD_TRY(txd_cuda_multiply<Round>("linear_back", &product));
    return stored<Round>("linear_back", a->d_x, NULL, a->rows, a->k);
}

template <typename Round>
static txd_status back_weight(const struct txd_linear_back_args *a)
{
    struct txd_cuda_product product = {};

    product.a = {(const float *)a->d_out, a->n, true};
    product.b = {(const float *)a->x, a->k, false};
    product.out = (float *)a->d_weight;
    product.m = a->n;
    product.n = a->k;
    product.k = a->rows;
    product.out_stride = a->k;
    product.scale = 1;
    product.add = true;
    TXD_TRY(txd_cuda_multiply<Round>("linear_back", &product));
    return stored<Round>("linear_back", a->d_weight, NULL, a->n, a->k);
}

/* A block adds up COLUMNS columns of x: each thread every LINES-th row, then one of
 * each column what they have, in order. */
template <typename Round>
static __global__ void add_columns(float *sum, const float *x, size_t rows,
                                   size_t width)
{
    __shared__ float parts[LINES][COLUMNS + 1];
    unsigned lane = threadIdx.x % COLUMNS, line = threadIdx.x / COLUMNS;
    size_t column = (size_t)blockIdx.x * COLUMNS + lane;
    float part = 0;

    for (size_t r = line; r < rows && column < width; r += LINES)
        part += x[r * width + column];
    parts[line][lane] = part;
    __syncthreads();
    if (line > 0 || column >= width)
        return;
    for (unsigned i = 1; i < LINES; i++)
        part += parts[i][lane];
    sum[column] = Round()(sum[column] + part);
}

template <typename Round>
static txd_status back_bias(const struct txd_linear_back_args *a)
{
    if (a->n == 0)
        return TXD_OK;
    TXD_LAUNCH((add_columns<Round>), (unsigned)((a->n + COLUMNS - 1) / COLUMNS),
               COLUMNS * LINES, 0, (float *)a->d_bias, (const float *)a->d_out, a->rows,
               a->n);
    return txd_cuda_check("linear_back");
}

template <typename Round>
static txd_status linear_back_as(const struct txd_linear_back_args *a)
{
    if (a->d_x != NULL)
        TXD_TRY(back_x<Round>(a));
    if (a->d_weight != NULL)
        TXD_TRY(back_weight<Round>(a));
    return a->d_bias != NULL ? back_bias<Round>(a) : TXD_OK;
}

TXD_CUDA_ENTRIES(linear, linear)
TXD_CUDA_ENTRIES(linear_back, linear_back)
