/* SPDX-License-Identifier: MIT
 *
 * What becomes of scores, or logits, before their softmax: soft capping, and biases by
 * distance, by the rules of ops/ref_bias.c and, of what is rounded, of bias_rounded in
 * ops/emulated.c.
 */
#include "cuda/launch.h"
#include "cuda/tiles.h"

/* ---- soft capping ---- */

template <typename Round>
static __global__ void softcap_kernel(float *out, const float *x, float cap,
                                      size_t rows, size_t width, size_t stride)
{
    TXD_CELLS(r, rows, j, width)
    {
        size_t at = r * stride + j;

        out[at] = Round()(cap * tanhf(x[at] / cap));
    }
}

template <typename Round> static txd_status softcap_as(const struct txd_softcap_args *a)
{
    if (a->rows == 0 || a->width == 0)
        return TXD_OK;
    TXD_LAUNCH((softcap_kernel<Round>), txd_cuda_cell_blocks(a->rows, a->width),
               txd_cuda_row_threads(a->width), 0, (float *)a->out, (const float *)a->x,
               (float)a->cap, a->rows, a->width, a->stride);
    return txd_cuda_check("softcap");
}

TXD_CUDA_ENTRIES(softcap, softcap)

/* 1 / cosh(z)^2, by what neither cancels nor overflows. */
static __device__ float bell(float z)
{
    float e = expf(-2 * fabsf(z));

    return 4 * e / ((1 + e) * (1 + e));
}

template <typename Round>
static __global__ void softcap_back_kernel(float *d_x, const float *d_out,
                                           const float *x, float cap, size_t rows,
                                           size_t width, size_t stride)
{
    TXD_CELLS(r, rows, j, width)
    {
        size_t at = r * stride + j;

        d_x[at] = Round()(d_out[at] * bell(x[at] / cap));
    }
}

template <typename Round>
static txd_status softcap_back_as(const struct txd_softcap_back_args *a)
{
    if (a->d_x == NULL || a->rows == 0 || a->width == 0)
        return TXD_OK;
    TXD_LAUNCH((softcap_back_kernel<Round>), txd_cuda_cell_blocks(a->rows, a->width),
               txd_cuda_row_threads(a->width), 0, (float *)a->d_x,
               (const float *)a->d_out, (const float *)a->x, (float)a->cap, a->rows,
               a->width, a->stride);
    return txd_cuda_check("softcap_back");
}

TXD_CUDA_ENTRIES(softcap_back, softcap_back)

/* ---- distances ---- */

/* Positions of queries and keys, and the buckets of a table (bucket_of NULL: there is
 * no table), in the device's memory. */
struct distances {
    const int32_t *queries, *keys, *bucket_of;
    int64_t farthest;
};

static const int32_t *stage(const int32_t *from, size_t count)
{
    return (const int32_t *)txd_cuda_stage(from, count * sizeof *from);
}

static txd_status stage_distances(distances *out, const int32_t *queries, size_t rows,
                                  const int32_t *keys, size_t columns,
                                  const struct txd_relative *t)
{
    *out = distances();
    out->queries = stage(queries, rows);
    out->keys = stage(keys, columns);
    if (t != NULL) {
        out->farthest = t->farthest;
        out->bucket_of = stage(t->bucket_of, 2 * (size_t)t->farthest + 1);
    }
    return out->queries == NULL || out->keys == NULL ||
                   (t != NULL && out->bucket_of == NULL)
               ? TXD_ERR_MEMORY
               : TXD_OK;
}

static __device__ int64_t distance_of(const distances &d, size_t r, size_t j)
{
    return (int64_t)d.keys[j] - d.queries[r];
}

static __device__ size_t bucket_of(const distances &d, size_t r, size_t j)
{
    int64_t distance = distance_of(d, r, j);
    int64_t cut = distance < -d.farthest
                      ? -d.farthest
                      : (distance > d.farthest ? d.farthest : distance);

    return (size_t)d.bucket_of[cut + d.farthest];
}

/* ---- bias ---- */

struct bias_job {
    float *out;
    const float *scores; /* or NULL */
    const float *table;  /* its column, `heads` apart; read with buckets */
    distances at;
    size_t rows, keys, stride, heads;
    float slope; /* negated */
};

/* The product is exact before it is rounded, so that it is, whatever is added next. */
static __device__ float bias_of(const bias_job &job, size_t r, size_t j)
{
    int64_t distance;

    if (job.at.bucket_of != NULL)
        return job.table[bucket_of(job.at, r, j) * job.heads];
    distance = distance_of(job.at, r, j);
    distance = distance < 0 ? -distance : distance;
    return (float)((double)job.slope * (double)(float)distance);
}

/* The bias is a value of its own, so rounded before the sum is: whoever forms it apart
 * has the same bits. */
template <typename Round> static __global__ void bias_kernel(bias_job job)
{
    TXD_CELLS(r, job.rows, j, job.keys)
    {
        size_t at = r * job.stride + j;
        float bias = Round()(bias_of(job, r, j));

        job.out[at] = job.scores != NULL ? Round()(job.scores[at] + bias) : bias;
    }
}

template <typename Round> static txd_status bias_as(const struct txd_bias_args *a)
{
    const struct txd_relative *t = a->relative;
    bias_job job = {};

    if (a->rows == 0 || a->keys == 0)
        return TXD_OK;
    job.out = (float *)a->out;
    job.scores = (const float *)a->scores;
    job.table = t == NULL ? NULL : (const float *)t->table + t->head;
    job.heads = t == NULL ? 0 : t->heads;
    job.rows = a->rows;
    job.keys = a->keys;
    job.stride = a->stride;
    job.slope = (float)-a->slope;
    TXD_TRY(stage_distances(&job.at, a->query_positions, a->rows, a->key_positions,
                            a->keys, t));
    TXD_LAUNCH((bias_kernel<Round>), txd_cuda_cell_blocks(a->rows, a->keys),
               txd_cuda_row_threads(a->keys), 0, job);
    return txd_cuda_check("bias");
}

TXD_CUDA_ENTRIES(bias, bias)

/* ---- the gradient of a table ---- */

/* A block has a row and so many buckets, each thread a sum of its own for each bucket:
 * so there is one order, and no two threads add to one place. */
#define BUCKETS 64
#define THREADS 64

struct bias_back_job {
    const float *d_out;
    distances at;
    size_t rows, keys, stride, buckets;
};

/* The sums of the threads, in order: thread b has those of bucket b. */
static __device__ float bucket_sum(const float *sums, size_t bucket)
{
    float sum = 0;

    for (size_t t = 0; t < THREADS; t++)
        sum += sums[bucket * (THREADS + 1) + t];
    return sum;
}

/* partial (rows, buckets): what each row adds. */
static __global__ void row_buckets_kernel(float *partial, bias_back_job job)
{
    __shared__ float sums[BUCKETS * (THREADS + 1)]; /* one more: no two in a bank */
    size_t first = (size_t)blockIdx.y * BUCKETS, t = threadIdx.x;

    for (size_t r = blockIdx.x; r < job.rows; r += gridDim.x) {
        for (size_t b = 0; b < BUCKETS; b++)
            sums[b * (THREADS + 1) + t] = 0;
        for (size_t j = t; j < job.keys; j += THREADS) {
            size_t bucket = bucket_of(job.at, r, j);

            if (bucket >= first && bucket < first + BUCKETS)
                sums[(bucket - first) * (THREADS + 1) + t] +=
                    job.d_out[r * job.stride + j];
        }
        __syncthreads();
        if (first + t < job.buckets)
            partial[r * job.buckets + first + t] = bucket_sum(sums, t);
        __syncthreads();
    }
}

/* A thread per bucket: rows in order. d_table is the column, `heads` apart. */
template <typename Round>
static __global__ void bias_back_kernel(float *d_table, const float *partial,
                                        size_t rows, size_t buckets, size_t heads)
{
    size_t step = (size_t)gridDim.x * blockDim.x;

    for (size_t b = (size_t)blockIdx.x * blockDim.x + threadIdx.x; b < buckets;
         b += step) {
        float sum = d_table[b * heads];

        for (size_t r = 0; r < rows; r++)
            sum += partial[r * buckets + b];
        d_table[b * heads] = Round()(sum);
    }
}

template <typename Round>
static txd_status bias_back_as(const struct txd_bias_back_args *a)
{
    const struct txd_relative *t = a->relative;
    bias_back_job job = {};
    float *partial;

    if (a->d_table == NULL || a->rows == 0 || a->keys == 0)
        return TXD_OK;
    job.d_out = (const float *)a->d_out;
    job.rows = a->rows;
    job.keys = a->keys;
    job.stride = a->stride;
    job.buckets = t->buckets;
    partial = (float *)txd_cuda_workspace(a->rows * t->buckets * sizeof *partial);
    if (partial == NULL)
        return TXD_ERR_MEMORY;
    TXD_TRY(stage_distances(&job.at, a->query_positions, a->rows, a->key_positions,
                            a->keys, t));
    TXD_LAUNCH(row_buckets_kernel,
               dim3(txd_cuda_row_blocks(a->rows),
                    (unsigned)((t->buckets + BUCKETS - 1) / BUCKETS)),
               THREADS, 0, partial, job);
    TXD_LAUNCH((bias_back_kernel<Round>), txd_cuda_blocks(t->buckets, THREADS), THREADS,
               0, (float *)a->d_table + t->head, partial, a->rows, t->buckets,
               t->heads);
    return txd_cuda_check("bias_back");
}

TXD_CUDA_ENTRIES(bias_back, bias_back)
