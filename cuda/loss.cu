/* SPDX-License-Identifier: MIT
 *
 * The token loss and its slope (formulas: ops/args.h; the reference:
 * ops/ref_softmax.c). A block does one row at a time and reads it once for the sum of
 * exponentials: what was summed is scaled down whenever a larger logit comes.
 */
#include <float.h>

#include "cuda/quads.h"

/* Threads of a block at most. */
#define MOST 512u

namespace
{
/* Of some logits: the largest, never below -FLT_MAX, and the sum of exp(logit - max).
 * Logits of -inf add nothing; of NaN and inf the sum is NaN. */
struct exp_sum {
    double sum;
    float max;
};
} // namespace

static __device__ inline struct exp_sum merged(struct exp_sum a, struct exp_sum b)
{
    float max = fmaxf(a.max, b.max);

    return {a.sum * (double)expf(a.max - max) + b.sum * (double)expf(b.max - max), max};
}

/* The sum of this thread's logits, some at a time. */
static __device__ struct exp_sum sum_of_thread(const float *logits, size_t vocab,
                                               bool fit)
{
    const unsigned fours = 4;
    size_t step = txd_block_step();
    struct exp_sum all = {0, -FLT_MAX};

    for (size_t i = txd_block_begin(); i < vocab; i += fours * step) {
        txd_quad x[fours];
        struct exp_sum some = {0, -FLT_MAX};

        for (unsigned f = 0; f < fours; f++) {
            x[f] = txd_load(logits, i + f * step, vocab, fit, -INFINITY);
            for (unsigned k = 0; k < TXD_QUAD; k++)
                some.max = fmaxf(some.max, x[f].at[k]);
        }
        for (unsigned f = 0; f < fours; f++)
            for (unsigned k = 0; k < TXD_QUAD; k++)
                some.sum += (double)expf(x[f].at[k] - some.max);
        all = merged(all, some);
    }
    return all;
}

/* The row's, in every thread; NaN where there is no finite logit. */
static __device__ struct exp_sum sum_of_row(const float *logits, size_t vocab, bool fit)
{
    __shared__ struct exp_sum of[MOST];
    struct exp_sum all;

    of[threadIdx.x] = sum_of_thread(logits, vocab, fit);
    for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half)
            of[threadIdx.x] = merged(of[threadIdx.x], of[threadIdx.x + half]);
    }
    __syncthreads();
    all = of[0];
    __syncthreads(); /* `of` is free for the next row */
    if (all.sum == 0)
        all.sum = NAN;
    return all;
}

/* ---- loss ---- */

template <typename Round>
static __global__ void loss_rows(float *out, const float *logits,
                                 const int32_t *targets, size_t rows, size_t vocab,
                                 bool fit)
{
    for (size_t r = blockIdx.x; r < rows; r += gridDim.x) {
        const float *row = logits + r * vocab;
        struct exp_sum all = sum_of_row(row, vocab, fit);
        int32_t target = targets[r];
        double loss = NAN;

        if (target >= 0)
            loss = (double)all.max + log(all.sum) - (double)row[target];
        if (threadIdx.x == 0)
            out[r] = Round()((float)loss);
    }
}

template <typename Round> static txd_status loss_as(const struct txd_loss_args *a)
{
    bool fit = txd_quads_fit_rows(a->logits, a->vocab);
    const int32_t *targets;

    if (a->rows == 0)
        return TXD_OK;
    targets = (const int32_t *)txd_cuda_stage(a->targets, a->rows * sizeof *targets);
    if (targets == NULL)
        return TXD_ERR_MEMORY;
    TXD_LAUNCH((loss_rows<Round>), txd_row_blocks(a->rows),
               txd_row_threads(a->vocab, MOST), 0, (float *)a->out,
               (const float *)a->logits, targets, a->rows, a->vocab, fit);
    return txd_cuda_check("loss");
}

TXD_CUDA_ENTRIES(loss, loss)

/* ---- loss_back ---- */

/* Of a row whose target counts. */
template <typename Round>
static __device__ void loss_back_row(float *d_logits, const float *logits, size_t vocab,
                                     float d_out, int32_t target, bool fit)
{
    struct exp_sum all = sum_of_row(logits, vocab, fit);
    float sum = (float)all.sum;

    for (size_t i = txd_block_begin(); i < vocab; i += txd_block_step()) {
        txd_quad x = txd_load(logits, i, vocab, fit, 0);

        for (unsigned k = 0; k < TXD_QUAD; k++) {
            float p = expf(x.at[k] - all.max) / sum;

            p = i + k == (size_t)target ? p - 1 : p;
            x.at[k] = Round()(d_out * p);
        }
        txd_store(d_logits, i, vocab, fit, x);
    }
}

template <typename Round>
static __global__ void loss_back_rows(float *d_logits, const float *d_out,
                                      const float *logits, const int32_t *targets,
                                      size_t rows, size_t vocab, bool fit)
{
    const txd_quad none = {{0, 0, 0, 0}};

    for (size_t r = blockIdx.x; r < rows; r += gridDim.x) {
        float *to = d_logits + r * vocab;

        if (targets[r] >= 0)
            loss_back_row<Round>(to, logits + r * vocab, vocab, d_out[r], targets[r],
                                 fit);
        else
            for (size_t i = txd_block_begin(); i < vocab; i += txd_block_step())
                txd_store(to, i, vocab, fit, none);
    }
}

template <typename Round>
static txd_status loss_back_as(const struct txd_loss_back_args *a)
{
    bool fit = txd_quads_fit_rows(a->logits, a->vocab) && txd_quads_fit(a->d_logits);
    const int32_t *targets;

    if (a->rows == 0 || a->vocab == 0)
        return TXD_OK;
    targets = (const int32_t *)txd_cuda_stage(a->targets, a->rows * sizeof *targets);
    if (targets == NULL)
        return TXD_ERR_MEMORY;
    TXD_LAUNCH((loss_back_rows<Round>), txd_row_blocks(a->rows),
               txd_row_threads(a->vocab, MOST), 0, (float *)a->d_logits,
               (const float *)a->d_out, (const float *)a->logits, targets, a->rows,
               a->vocab, fit);
    return txd_cuda_check("loss_back");
}

TXD_CUDA_ENTRIES(loss_back, loss_back)
