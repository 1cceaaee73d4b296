/* SPDX-License-Identifier: MIT
 *
 * The softmax of the CPU backend and its gradient, by kernels: the largest value; then
 * exponentials, their sum and that of their logarithms in one sweep; then the quotient
 * as a product. Losses are rows of the same, over threads.
 */
#include <math.h>
#include <string.h>

#include "ops/cpu.h"
#include "ops/kernels.h"
#include "ops/ref.h"

/* About how many operations an element takes in one row of a loss. */
#define LOSS_OPERATIONS 4.0

/* A row without a key is the reference's matter. */
static void empty_row(const struct txd_softmax_args *a, size_t r)
{
    struct txd_softmax_args row = *a;

    row.rows = 1;
    row.spans = NULL;
    row.begin = row.end = 0;
    row.masked = (const float *)a->masked + r * a->stride;
    row.out = (float *)a->out + r * a->stride;
    row.max += r;
    row.lse += r;
    row.entropy = a->entropy == NULL ? NULL : a->entropy + r;
    (void)txd_ref32_softmax(NULL, &row);
}

/* log sum exp(d) - (sum d exp(d)) / sum exp(d) is -sum w log w, where the weights sum
 * to `share` = 1. Neither it nor what it is made of is below 0, unless by rounding. */
static double entropy_of(struct txd_exp_sums sums, double log_sum, double share)
{
    double entropy = log_sum * share - (double)sums.moment / (double)sums.sum;

    return entropy < 0 ? 0 : entropy;
}

/* What is added to the sum of the keys: 2^TXD_EXP_SHIFT exp(sink - max). */
static float sink_of(const struct txd_softmax_args *a, float max)
{
    return a->sink == NULL ? 0
                           : ldexpf(expf(*(const float *)a->sink - max), TXD_EXP_SHIFT);
}

static void softmax_row(const struct txd_softmax_args *a, size_t r)
{
    const txd_kernels *k = txd_kernels_here();
    txd_span part = txd_span_of(a->spans, r, a->begin, a->end);
    const float *masked = (const float *)a->masked + r * a->stride + part.begin;
    float *out = (float *)a->out + r * a->stride;
    size_t count = part.end - part.begin;
    float max = k->largest(masked, count);
    struct txd_exp_sums sums;
    double log_sum, share = 1;

    if (max == -INFINITY) {
        empty_row(a, r);
        return;
    }
    a->max[r] = (double)max;
    if (a->sink != NULL && *(const float *)a->sink > max)
        max = *(const float *)a->sink;
    sums = k->exp_sums(out + part.begin, masked, count, max);
    if (a->sink != NULL) {
        share = (double)sums.sum;
        sums.sum += sink_of(a, max);
        share /= (double)sums.sum;
    }
    k->scale(out + part.begin, out + part.begin, 1 / sums.sum, count);
    k->fill(out, part.begin, 0);
    k->fill(out + part.end, a->keys - part.end, 0);
    log_sum = log(ldexp((double)sums.sum, -TXD_EXP_SHIFT));
    a->lse[r] = (double)(float)((double)max + log_sum);
    if (a->entropy != NULL)
        a->entropy[r] = entropy_of(sums, log_sum, share);
}

txd_status txd_cpu32_softmax(txd_ctx *ctx, const struct txd_softmax_args *a)
{
    (void)ctx;
    for (size_t r = 0; r < a->rows; r++)
        softmax_row(a, r);
    return TXD_OK;
}

txd_status txd_cpu32_softmax_back(txd_ctx *ctx, const struct txd_softmax_back_args *a)
{
    const txd_kernels *k = txd_kernels_here();

    (void)ctx;
    for (size_t r = 0; r < a->rows; r++) {
        const float *weights = (const float *)a->weights + r * a->stride;
        const float *d_out = (const float *)a->d_out + r * a->stride;
        float *d_masked = (float *)a->d_masked + r * a->stride;
        bool empty = isinf(a->max[r]) && a->max[r] < 0;
        txd_span part = txd_span_of(a->spans, r, a->begin, empty ? a->begin : a->end);
        size_t count = part.end - part.begin;
        float mean = k->dot(d_out + part.begin, weights + part.begin, count);

        k->weigh(d_masked + part.begin, weights + part.begin, d_out + part.begin, count,
                 mean);
        k->fill(d_masked, part.begin, 0);
        k->fill(d_masked + part.end, a->keys - part.end, 0);
    }
    return TXD_OK;
}

/* ---- losses ---- */

static txd_status loss_row(void *self, size_t r, int worker)
{
    const struct txd_loss_args *a = self;
    const txd_kernels *k = txd_kernels_here();
    const float *logits = (const float *)a->logits + r * a->vocab;
    float *out = (float *)a->out + r, max;
    double sum;

    (void)worker;
    *out = NAN;
    if (a->targets[r] < 0)
        return TXD_OK;
    max = k->largest(logits, a->vocab);
    sum = (double)k->exp_sums(NULL, logits, a->vocab, max).sum;
    *out = (float)((double)max + log(ldexp(sum, -TXD_EXP_SHIFT)) -
                   (double)logits[a->targets[r]]);
    return TXD_OK;
}

txd_status txd_cpu32_loss(txd_ctx *ctx, const struct txd_loss_args *a)
{
    struct txd_loss_args copy = *a;

    return txd_parallel(ctx, a->rows, LOSS_OPERATIONS * (double)a->vocab, loss_row,
                        &copy);
}

/* The target's element is read before the row is scaled. */
static txd_status loss_back_row(void *self, size_t r, int worker)
{
    const struct txd_loss_back_args *a = self;
    const txd_kernels *k = txd_kernels_here();
    const float *logits = (const float *)a->logits + r * a->vocab;
    float *d_logits = (float *)a->d_logits + r * a->vocab;
    float d = ((const float *)a->d_out)[r], max, inverse, p;

    (void)worker;
    if (a->targets[r] < 0) {
        k->fill(d_logits, a->vocab, 0);
        return TXD_OK;
    }
    max = k->largest(logits, a->vocab);
    inverse = 1 / k->exp_sums(d_logits, logits, a->vocab, max).sum;
    p = d_logits[a->targets[r]] * inverse;
    k->scale_twice(d_logits, d_logits, a->vocab, inverse, d);
    d_logits[a->targets[r]] = d * (p - 1);
    return TXD_OK;
}

txd_status txd_cpu32_loss_back(txd_ctx *ctx, const struct txd_loss_back_args *a)
{
    struct txd_loss_back_args copy = *a;

    return txd_parallel(ctx, a->rows, LOSS_OPERATIONS * (double)a->vocab, loss_back_row,
                        &copy);
}
