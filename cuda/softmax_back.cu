/* SPDX-License-Identifier: MIT
 *
 * The gradients of a softmax and of its sink, by the rules of ops/ref_softmax.c. Both
 * have one sum per row, of d_out weights, whose columns are dealt to the threads of a
 * block as in softmax.cu.
 */
#include "cuda/launch.h"
#include "cuda/tiles.h"

/* Loads that are on their way together. */
#define AT_ONCE 4

/* What is summed over. */
struct back_rows {
    const float *d_out, *weights;
    const double *max; /* (rows), staged */
    struct txd_cuda_spans spans;
    size_t rows, stride, begin, end;
};

/* The columns of a row that take part; none where no key does. */
static __device__ txd_span part_of(const back_rows &over, size_t r)
{
    return txd_cuda_span_of(over.spans, r, over.begin,
                            txd_cuda_no_key(over.max[r]) ? over.begin : over.end);
}

/* Sum of d_out weights over the row, told to every thread. */
static __device__ float mean_of(const back_rows &over, size_t r, const txd_span &part)
{
    const float *d_out = over.d_out + r * over.stride;
    const float *weights = over.weights + r * over.stride;
    size_t step = blockDim.x;
    float mean = 0;

    for (size_t j = over.begin + threadIdx.x; j < over.end; j += AT_ONCE * step) {
        float terms[AT_ONCE];

        for (int i = 0; i < AT_ONCE; i++) {
            size_t at = j + i * step;
            bool inside = at >= part.begin && at < part.end;

            terms[i] = inside ? d_out[at] * weights[at] : 0;
        }
        for (int i = 0; i < AT_ONCE; i++)
            mean += terms[i];
    }
    return txd_block_sum(mean);
}

/* ---- of the masked scores ---- */

template <typename Round>
static __global__ void softmax_back_kernel(float *d_masked, back_rows over, size_t keys)
{
    for (size_t r = blockIdx.x; r < over.rows; r += gridDim.x) {
        txd_span part = part_of(over, r);
        float mean = mean_of(over, r, part);

        for (size_t j = threadIdx.x; j < keys; j += blockDim.x) {
            size_t at = r * over.stride + j;
            bool inside = j >= part.begin && j < part.end;

            d_masked[at] =
                inside ? Round()(over.weights[at] * (over.d_out[at] - mean)) : 0;
        }
    }
}

template <typename Round>
static txd_status softmax_back_as(const struct txd_softmax_back_args *a)
{
    back_rows over = {(const float *)a->d_out,
                      (const float *)a->weights,
                      NULL,
                      {},
                      a->rows,
                      a->stride,
                      a->begin,
                      a->end};

    if (a->rows == 0 || a->d_masked == NULL)
        return TXD_OK;
    over.max = (const double *)txd_cuda_stage(a->max, a->rows * sizeof *a->max);
    if (over.max == NULL)
        return TXD_ERR_MEMORY;
    TXD_TRY(txd_cuda_spans_stage(&over.spans, a->spans, a->rows));
    TXD_LAUNCH((softmax_back_kernel<Round>), txd_cuda_row_blocks(a->rows),
               txd_cuda_row_threads(a->end - a->begin), 0, (float *)a->d_masked, over,
               a->keys);
    return txd_cuda_check("softmax_back");
}

TXD_CUDA_ENTRIES(softmax_back, softmax_back)

/* ---- of the sink ---- */

/* terms (rows): p times the sum over the row; 0 where no key takes part. */
static __global__ void sink_terms_kernel(float *terms, back_rows over,
                                         const float *sink, const double *lse)
{
    for (size_t r = blockIdx.x; r < over.rows; r += gridDim.x) {
        bool empty = txd_cuda_no_key(over.max[r]);
        float mean = mean_of(over, r, part_of(over, r));

        if (threadIdx.x == 0)
            terms[r] = empty ? 0 : expf(*sink - (float)lse[r]) * mean;
    }
}

/* One thread: rows in order. */
template <typename Round>
static __global__ void sink_sum_kernel(float *d_sink, const float *terms, size_t rows)
{
    float sum = 0;

    for (size_t r = 0; r < rows; r++)
        sum += terms[r];
    *d_sink = Round()(*d_sink - sum);
}

template <typename Round>
static txd_status sink_back_as(const struct txd_sink_back_args *a)
{
    size_t bytes = a->rows * sizeof(double);
    float *terms = (float *)txd_cuda_workspace(a->rows * sizeof *terms);
    const double *max = (const double *)txd_cuda_stage(a->max, bytes);
    const double *lse = (const double *)txd_cuda_stage(a->lse, bytes);
    back_rows over = {(const float *)a->d_out,
                      (const float *)a->weights,
                      max,
                      {},
                      a->rows,
                      a->stride,
                      a->begin,
                      a->end};

    if (a->rows == 0)
        return TXD_OK;
    if (terms == NULL || max == NULL || lse == NULL)
        return TXD_ERR_MEMORY;
    TXD_TRY(txd_cuda_spans_stage(&over.spans, a->spans, a->rows));
    TXD_LAUNCH(sink_terms_kernel, txd_cuda_row_blocks(a->rows),
               txd_cuda_row_threads(a->end - a->begin), 0, terms, over,
               (const float *)a->sink, lse);
    TXD_LAUNCH((sink_sum_kernel<Round>), 1u, 1u, 0, (float *)a->d_sink, terms, a->rows);
    return txd_cuda_check("sink_back");
}

TXD_CUDA_ENTRIES(sink_back, sink_back)
