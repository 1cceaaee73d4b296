/* SPDX-License-Identifier: MIT
 *
 * The softmax of rows, exp(x - max) / sum exp(x - max), by the rules of
 * ops/ref_softmax.c; and the one whose every step is stored, by those of stepwise_row
 * in ops/emulated.c. A block has a row, and each thread the columns that are the same
 * modulo threads, counted from `begin`: so neither what lies outside of [begin, end)
 * nor how cells are hidden inside, by spans or as -inf, changes a bit.
 */
#include "cuda/launch.h"

#include <string.h>

#include "cuda/tiles.h"

/* In the order of txd_masked_row (model/config.h). */
enum { ROW_ZERO, ROW_NAN, ROW_UNIFORM };

/* Loads that are on their way together. */
#define AT_ONCE 4

struct softmax_job {
    float *out;
    const float *masked, *sink;
    double *max, *lse,
        *entropy; /* to be fetched, one after another; entropy may be NULL */
    struct txd_cuda_spans spans;
    size_t rows, keys, stride, begin, end;
    int masked_row;
};

/* ---- one row ---- */

struct softmax_row {
    float *out;
    const float *masked;
    txd_span part; /* columns that take part */
    float max;     /* their largest value */
    float top;     /* that, or the sink if it is larger */
    float sum;     /* of exp(x - top), the sink's among them */
};

static __device__ softmax_row row_of(const softmax_job &job, size_t r)
{
    softmax_row row = {};

    row.out = job.out + r * job.stride;
    row.masked = job.masked + r * job.stride;
    row.part = txd_cuda_span_of(job.spans, r, job.begin, job.end);
    return row;
}

/* -inf where a column takes no part. */
static __device__ float value_at(const softmax_row &row, size_t j)
{
    return j >= row.part.begin && j < row.part.end ? row.masked[j] : -INFINITY;
}

static __device__ void set_top(softmax_row *row, float max, const softmax_job &job)
{
    row->max = row->top = max;
    if (job.sink != NULL && *job.sink > max)
        row->top = *job.sink;
}

static __device__ double entropy_term(float w)
{
    return w > 0 ? -(double)w * (double)logf(w) : (isnan(w) ? (double)w : 0);
}

/* What all threads know of a row is said by one of them. */
static __device__ void say(const softmax_job &job, size_t r, float max, float lse,
                           double my_entropy)
{
    double entropy = job.entropy != NULL ? txd_block_sum(my_entropy) : 0;

    if (threadIdx.x != 0)
        return;
    job.max[r] = (double)max;
    job.lse[r] = (double)lse;
    if (job.entropy != NULL)
        job.entropy[r] = entropy;
}

/* No key takes part: the layer's policy, in all columns. */
template <typename Round>
static __device__ void empty_row(const softmax_job &job, const softmax_row &row,
                                 size_t r)
{
    float value = 0;
    double entropy = 0;

    if (job.masked_row == ROW_NAN)
        value = NAN;
    else if (job.masked_row == ROW_UNIFORM)
        value = Round()(1 / (float)job.keys);
    for (size_t j = threadIdx.x; j < job.keys; j += blockDim.x) {
        row.out[j] = value;
        entropy += entropy_term(value);
    }
    say(job, r, -INFINITY, -INFINITY, entropy);
}

/* 0, but NaN in a row that is. */
static __device__ void fill_outside(const softmax_job &job, const softmax_row &row)
{
    for (size_t j = threadIdx.x; j < job.keys; j += blockDim.x)
        if (j < row.part.begin || j >= row.part.end)
            row.out[j] = 0 / row.sum;
}

/* ---- rounded once, at the end ---- */

/* sum exp(x - max) so far. */
struct running {
    float max, sum;
};

/* A larger maximum scales the sum. */
static __device__ void raise_to(running *r, float max)
{
    if (max == r->max || max == -INFINITY)
        return;
    r->sum *= expf(r->max - max);
    r->max = max;
}

static __device__ void add_group(running *r, const float x[AT_ONCE])
{
    float max = r->max;

    for (int i = 0; i < AT_ONCE; i++)
        max = txd_how_max()(max, x[i]);
    raise_to(r, max);
    for (int i = 0; i < AT_ONCE && r->max != -INFINITY; i++)
        r->sum += expf(x[i] - r->max);
}

/* The largest value and the sum, in one sweep. */
static __device__ void sum_row(const softmax_job &job, softmax_row *row)
{
    running mine = {-INFINITY, 0};
    size_t step = blockDim.x;

    for (size_t j = job.begin + threadIdx.x; j < job.end; j += AT_ONCE * step) {
        float x[AT_ONCE];

        for (int i = 0; i < AT_ONCE; i++)
            x[i] = value_at(*row, j + i * step);
        add_group(&mine, x);
    }
    set_top(row, txd_block_max(mine.max), job);
    raise_to(&mine, row->top);
    row->sum = txd_block_sum(mine.sum);
    if (job.sink != NULL)
        row->sum += expf(*job.sink - row->top);
}

template <typename Round>
static __device__ void weigh_row(const softmax_job &job, const softmax_row &row,
                                 size_t r)
{
    float inverse = 1 / row.sum;
    double entropy = 0;

    for (size_t j = job.begin + threadIdx.x; j < job.end; j += blockDim.x) {
        float w = Round()(expf(value_at(row, j) - row.top) * inverse);

        if (j >= row.part.begin && j < row.part.end)
            row.out[j] = w;
        if (job.entropy != NULL)
            entropy += entropy_term(w);
    }
    fill_outside(job, row);
    say(job, r, row.max, row.top + logf(row.sum), entropy);
}

template <typename Round> static __global__ void softmax_kernel(softmax_job job)
{
    for (size_t r = blockIdx.x; r < job.rows; r += gridDim.x) {
        softmax_row row = row_of(job, r);

        sum_row(job, &row);
        if (row.max == -INFINITY)
            empty_row<Round>(job, row, r);
        else
            weigh_row<Round>(job, row, r);
    }
}

/* ---- rounded at every step ---- */

static __device__ float largest(const softmax_job &job, const softmax_row &row)
{
    float max = -INFINITY;

    for (size_t j = job.begin + threadIdx.x; j < job.end; j += blockDim.x)
        max = txd_how_max()(max, value_at(row, j));
    return txd_block_max(max);
}

/* exp of a difference, each as it is stored. */
template <typename Round> static __device__ float stored_exp(float x, float top)
{
    return Round()(expf(Round()(x - top)));
}

template <typename Round>
static __device__ void sum_by_steps(const softmax_job &job, softmax_row *row)
{
    float sum = 0;

    for (size_t j = job.begin + threadIdx.x; j < job.end; j += blockDim.x)
        sum += stored_exp<Round>(value_at(*row, j), row->top);
    row->sum = txd_block_sum(sum);
    if (job.sink != NULL)
        row->sum += stored_exp<Round>(*job.sink, row->top);
    row->sum = Round()(row->sum);
}

template <typename Round>
static __device__ void weigh_by_steps(const softmax_job &job, const softmax_row &row,
                                      size_t r)
{
    double entropy = 0;
    float log_sum = Round()(logf(row.sum));

    for (size_t j = row.part.begin + threadIdx.x; j < row.part.end; j += blockDim.x) {
        float w = Round()(stored_exp<Round>(row.masked[j], row.top) / row.sum);

        row.out[j] = w;
        entropy += entropy_term(w);
    }
    fill_outside(job, row);
    say(job, r, row.max, Round()(row.top + log_sum), entropy);
}

template <typename Round> static __global__ void stepwise_kernel(softmax_job job)
{
    for (size_t r = blockIdx.x; r < job.rows; r += gridDim.x) {
        softmax_row row = row_of(job, r);

        set_top(&row, largest(job, row), job);
        if (row.max == -INFINITY) {
            empty_row<Round>(job, row, r);
            continue;
        }
        sum_by_steps<Round>(job, &row);
        weigh_by_steps<Round>(job, row, r);
    }
}

/* ---- the entries ---- */

static txd_status job_of(softmax_job *job, const struct txd_softmax_args *a)
{
    double *said = (double *)txd_cuda_result(3 * a->rows * sizeof *said);

    if (said == NULL)
        return TXD_ERR_MEMORY;
    *job = softmax_job();
    job->out = (float *)a->out;
    job->masked = (const float *)a->masked;
    job->sink = (const float *)a->sink;
    job->max = said;
    job->lse = said + a->rows;
    job->entropy = a->entropy == NULL ? NULL : said + 2 * a->rows;
    job->rows = a->rows;
    job->keys = a->keys;
    job->stride = a->stride;
    job->begin = a->begin;
    job->end = a->end;
    job->masked_row = a->masked_row;
    return txd_cuda_spans_stage(&job->spans, a->spans, a->rows);
}

/* All that was said, at once. */
static txd_status fetch(const struct txd_softmax_args *a, const softmax_job *job)
{
    size_t bytes = a->rows * sizeof(double);
    size_t parts = a->entropy == NULL ? 2 : 3;
    const void *host;
    const double *said;

    TXD_TRY(txd_cuda_fetched(&host, job->max, parts * bytes));
    said = (const double *)host;
    memcpy(a->max, said, bytes);
    memcpy(a->lse, said + a->rows, bytes);
    if (a->entropy != NULL)
        memcpy(a->entropy, said + 2 * a->rows, bytes);
    return TXD_OK;
}

template <typename Round> static txd_status softmax_as(const struct txd_softmax_args *a)
{
    unsigned blocks = txd_cuda_row_blocks(a->rows);
    unsigned threads = txd_cuda_row_threads(a->end - a->begin);
    softmax_job job;

    if (a->rows == 0)
        return TXD_OK;
    TXD_TRY(job_of(&job, a));
    if (a->same && Round::rounds) /* to a format that rounds nothing it is the same */
        TXD_LAUNCH((stepwise_kernel<txd_round_bf16>), blocks, threads, 0, job);
    else
        TXD_LAUNCH((softmax_kernel<Round>), blocks, threads, 0, job);
    TXD_TRY(txd_cuda_check("softmax"));
    return fetch(a, &job);
}

TXD_CUDA_ENTRIES(softmax, softmax)
