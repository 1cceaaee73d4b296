/* SPDX-License-Identifier: MIT
 *
 * Attention backward by recomputation, in two kernels: over blocks of queries (maxima
 * and sums of rows again, the mean of the weights' gradients in each, d_q), then over
 * blocks of keys (d_k, d_v).
 */
#ifndef TXD_CUDA_ATTEND_BACK_H
#define TXD_CUDA_ATTEND_BACK_H

#include "cuda/attend_tile.h"

/* What both know, beside the view; passed by value. */
struct attend_back_view {
    const float *d_out; /* (heads, queries, value_width) */
    float *mean; /* (heads, queries): sum over a row of weights times their gradients */
    float *d_q, *d_k, *d_v;
};

/* The gradient of a score before its cap, of that of what the softmax reads. */
static __device__ inline float attend_uncap(const attend_view &view, float d,
                                            float score)
{
    float e;

    if (view.cap == 0)
        return d;
    e = expf(-2 * fabsf(score / view.cap));
    return d * (4 * e / ((1 + e) * (1 + e)));
}

/* The gradient of a visible cell's score: of its weight w, the weight's gradient, and
 * the row's mean of these. Rows without a largest value have none. */
static __device__ inline float attend_score_back(const attend_view &view, float w,
                                                 float d_w, float mean, float base,
                                                 float score)
{
    return base == -INFINITY ? 0 : attend_uncap(view, w * (d_w - mean), score);
}

/* d_k and d_v (attend_keys.cu), from what view and back hold of the queries. */
txd_status attend_back_keys(const struct attend_view *view,
                            const struct attend_back_view *back, bool rounds);

#endif
