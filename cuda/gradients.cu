/* SPDX-License-Identifier: MIT
 *
 * What the gradients of parameters need beside the operations (ops/ops.h): sums,
 * divisions, sums of squares. Always in float32, whatever the format.
 */
#include "cuda/module.h"
#include "cuda/quads.h"

/* Blocks of the sum of squares at most. */
#define BLOCKS 1024u

static __global__ void accumulate(float *to, const float *from, size_t count, bool fit)
{
    for (size_t i = txd_grid_begin(); i < count; i += txd_grid_step()) {
        txd_quad sum = txd_load(to, i, count, fit, 0);
        txd_quad more = txd_load(from, i, count, fit, 0);

        for (unsigned k = 0; k < TXD_QUAD; k++)
            sum.at[k] += more.at[k];
        txd_store(to, i, count, fit, sum);
    }
}

static txd_status accumulate_now(void *to, const void *from, size_t count)
{
    bool fit = txd_quads_fit(to) && txd_quads_fit(from);

    if (count == 0)
        return TXD_OK;
    TXD_LAUNCH(accumulate, txd_quad_blocks(count), TXD_THREADS, 0, (float *)to,
               (const float *)from, count, fit);
    return txd_cuda_check("accumulate");
}

static __global__ void divide(float *values, float divisor, size_t count, bool fit)
{
    for (size_t i = txd_grid_begin(); i < count; i += txd_grid_step()) {
        txd_quad quad = txd_load(values, i, count, fit, 0);

        for (unsigned k = 0; k < TXD_QUAD; k++)
            quad.at[k] /= divisor;
        txd_store(values, i, count, fit, quad);
    }
}

static txd_status divide_now(void *values, double divisor, size_t count)
{
    if (count == 0)
        return TXD_OK;
    TXD_LAUNCH(divide, txd_quad_blocks(count), TXD_THREADS, 0, (float *)values,
               (float)divisor, count, txd_quads_fit(values));
    return txd_cuda_check("divide");
}

/* A sum for each block. */
static __global__ void squares(double *sums, const float *values, size_t count,
                               bool fit)
{
    double sum = 0;

    for (size_t i = txd_grid_begin(); i < count; i += txd_grid_step()) {
        txd_quad quad = txd_load(values, i, count, fit, 0);

        for (unsigned k = 0; k < TXD_QUAD; k++)
            sum += (double)quad.at[k] * (double)quad.at[k];
    }
    sum = txd_block_sum(sum);
    if (threadIdx.x == 0)
        sums[blockIdx.x] = sum;
}

static __global__ void sum_of_blocks(double *out, const double *sums, unsigned count)
{
    double sum = 0;

    for (unsigned i = threadIdx.x; i < count; i += blockDim.x)
        sum += sums[i];
    sum = txd_block_sum(sum);
    if (threadIdx.x == 0)
        *out = sum;
}

static txd_status squares_now(double *out, const void *values, size_t count)
{
    unsigned blocks = txd_quad_blocks(count);
    double *sums, *sum;

    blocks = blocks < BLOCKS ? blocks : BLOCKS;
    sums = (double *)txd_cuda_workspace(blocks * sizeof *sums);
    sum = (double *)txd_cuda_result(sizeof *sum);
    if (sums == NULL || sum == NULL)
        return TXD_ERR_MEMORY;
    TXD_LAUNCH(squares, blocks, TXD_THREADS, 0, sums, (const float *)values, count,
               txd_quads_fit(values));
    TXD_LAUNCH(sum_of_blocks, 1, TXD_THREADS, 0, sum, sums, blocks);
    TXD_TRY(txd_cuda_check("squares"));
    return txd_cuda_fetch(out, sum, sizeof *sum);
}

/* ---- the table's entries ---- */

txd_status txd_cuda_accumulate(void *to, const void *from, size_t count)
{
    txd_status status;

    txd_cuda_begin();
    status = accumulate_now(to, from, count);
    txd_cuda_end();
    return status;
}

txd_status txd_cuda_divide(void *values, double divisor, size_t count)
{
    txd_status status;

    txd_cuda_begin();
    status = divide_now(values, divisor, count);
    txd_cuda_end();
    return status;
}

txd_status txd_cuda_squares(double *out, const void *values, size_t count)
{
    txd_status status;

    txd_cuda_begin();
    status = squares_now(out, values, count);
    txd_cuda_end();
    return status;
}
