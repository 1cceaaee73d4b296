/* SPDX-License-Identifier: MIT
 *
 * Each entry calls the float32 entry and rounds what came out: so sums are accumulated
 * in float32 and rounded once, as matrix units of these formats do. A sum or product of
 * two stored values is rounded as if at once: 24 bits are at least 2 p + 2 for p = 8
 * and for p = 11 (Figueroa 1995).
 *
 * What only copies stored values (embeddings, heads) has nothing to round, and what
 * measures (rows, statistics, the doubles of a softmax) is no value of the model.
 */
#include "ops/emulated.h"

#include <math.h>
#include <string.h>

#include "ops/kernels.h"
#include "ops/cpu.h"
#include "ops/kernels.h"
#include "ops/ref.h"

/* Elements of a task, and about how many operations one takes. */
#define CHUNK 16384
#define OPERATIONS 8.0

/* The later initialiser of an entry wins, as in registry.c. */
#if defined(__clang__)
#pragma clang diagnostic ignored "-Winitializer-overrides"
#elif defined(__GNUC__)
#pragma GCC diagnostic ignored "-Woverride-init"
#endif

static const struct txd_ops wide = {TXD_OPS(TXD_REF32_ENTRY) TXD_OPS_CPU32};

typedef void (*rounder)(float *values, size_t count);

struct rounding {
    rounder round;
    float *values;
    size_t count;
};

static txd_status round_chunk(void *self, size_t i, int worker)
{
    const struct rounding *job = self;
    size_t begin = i * CHUNK, left = job->count - begin;

    (void)worker;
    job->round(job->values + begin, left < CHUNK ? left : CHUNK);
    return TXD_OK;
}

/* Dense values; NULL where a result is not wanted. */
static txd_status round_all(txd_ctx *ctx, rounder round, void *values, size_t count)
{
    struct rounding job = {round, values, count};

    if (values == NULL || count == 0)
        return TXD_OK;
    return txd_parallel(ctx, (count + CHUNK - 1) / CHUNK, OPERATIONS * CHUNK,
                        round_chunk, &job);
}

/* A part of a wider matrix. */
static void round_rows(rounder round, void *values, size_t rows, size_t width,
                       size_t stride)
{
    for (size_t r = 0; values != NULL && r < rows; r++)
        round((float *)values + r * stride, width);
}

/* ---- the softmax whose every step is stored ---- */

static float largest(const float *row, size_t begin, size_t end)
{
    float max = -INFINITY;

    for (size_t j = begin; j < end; j++)
        if (row[j] > max || isnan(row[j]))
            max = row[j];
    return max;
}

static float rounded(rounder round, float value)
{
    round(&value, 1);
    return value;
}

static txd_status stepwise_row(txd_ctx *ctx, const struct txd_softmax_args *a, size_t r,
                               rounder round)
{
    const float *masked = (const float *)a->masked + r * a->stride;
    float *out = (float *)a->out + r * a->stride, sum = 0;
    txd_span part = txd_span_of(a->spans, r, a->begin, a->end);
    float max = largest(masked, part.begin, part.end);
    struct txd_softmax_args row = *a;

    if (max == -INFINITY) { /* no key: the layer's policy, which has no steps */
        row.masked = masked;
        row.out = out;
        row.max += r;
        row.lse += r;
        row.entropy = NULL;
        row.spans = NULL;
        row.begin = part.begin;
        row.end = part.end;
        row.rows = 1;
        return wide.softmax(ctx, &row);
    }
    a->max[r] = (double)max;
    if (a->sink != NULL && *(const float *)a->sink > max)
        max = *(const float *)a->sink;
    for (size_t j = 0; j < a->keys; j++)
        out[j] = j >= part.begin && j < part.end ? masked[j] - max : -INFINITY;
    round(out, a->keys);
    for (size_t j = 0; j < a->keys; j++)
        out[j] = expf(out[j]);
    round(out, a->keys);
    for (size_t j = 0; j < a->keys; j++)
        sum += out[j];
    if (a->sink != NULL)
        sum += rounded(round, expf(rounded(round, *(const float *)a->sink - max)));
    sum = rounded(round, sum);
    for (size_t j = 0; j < a->keys; j++)
        out[j] /= sum;
    a->lse[r] = (double)rounded(round, max + rounded(round, logf(sum)));
    return TXD_OK;
}

/* ---- forward ---- */

/* What an operation stores: op(name, arguments, results). */
#define ROUNDED(name, arguments, results)                                              \
    static txd_status name##_rounded(                                                  \
        txd_ctx *ctx, const struct txd_##arguments##_args *a, rounder round)           \
    {                                                                                  \
        TXD_TRY(wide.name(ctx, a));                                                    \
        results;                                                                       \
        return TXD_OK;                                                                 \
    }

#define DENSE(values, count) TXD_TRY(round_all(ctx, round, values, count))
#define STRIDED(values) round_rows(round, values, a->rows, a->keys, a->stride)
#define NOTHING (void)round

ROUNDED(embed, embed, NOTHING)
ROUNDED(sinusoid, sinusoid, DENSE(a->out, (a->rows * a->width)))
ROUNDED(linear, linear, DENSE(a->out, (a->rows * a->n)))
ROUNDED(norm, norm, DENSE(a->out, (a->rows * a->width)))
ROUNDED(activate, activate, DENSE(a->out, a->count))
ROUNDED(multiply, pair, DENSE(a->out, a->count))
ROUNDED(add, pair, DENSE(a->out, a->count))
ROUNDED(scale, scale, DENSE(a->out, a->count))
ROUNDED(split_heads, heads, NOTHING)
ROUNDED(merge_heads, heads, NOTHING)
ROUNDED(rotate, rotate, DENSE(a->out, (a->batch * a->heads * a->length * a->width)))
ROUNDED(visible, visible, NOTHING)
ROUNDED(scores, scores, STRIDED(a->out))
ROUNDED(mask, mask, STRIDED(a->out)) /* the fill may be no value of the format */
ROUNDED(rows, rows, NOTHING)

/* Columns whose bias is kept at once, on the stack. */
#define COLUMNS 1024

/* The bias is a value of its own, so rounded before the sum is. */
static txd_status bias_rounded(txd_ctx *ctx, const struct txd_bias_args *a,
                               rounder round)
{
    float bias[COLUMNS];

    for (size_t i = 0; i < a->rows * ((a->keys + COLUMNS - 1) / COLUMNS); i++) {
        size_t r = i % a->rows, first = i / a->rows * COLUMNS;
        size_t at = r * a->stride + first, left = a->keys - first;
        struct txd_bias_args part = *a;

        part.out = bias;
        part.scores = NULL;
        part.rows = 1;
        part.keys = part.stride = left < COLUMNS ? left : COLUMNS;
        part.query_positions += r;
        part.key_positions += first;
        TXD_TRY(wide.bias(ctx, &part));
        round(bias, part.keys);
        for (size_t j = 0; a->scores != NULL && j < part.keys; j++)
            bias[j] += ((const float *)a->scores)[at + j];
        round(bias, part.keys);
        memcpy((float *)a->out + at, bias, part.keys * sizeof *bias);
    }
    return TXD_OK;
}

ROUNDED(softcap, softcap, round_rows(round, a->out, a->rows, a->width, a->stride))
ROUNDED(mix, mix, DENSE(a->out, (a->rows * a->width)))
ROUNDED(loss, loss, DENSE(a->out, a->rows))
ROUNDED(stats, stats, NOTHING)

/* NaN where one is. */
static double entropy_of(const float *weights, size_t keys)
{
    const txd_kernels *k = txd_kernels_here();

    return k->finite(weights, keys) ? k->entropy(weights, keys) : (double)NAN;
}

/* The entropy is that of the weights as they are stored. */
static txd_status softmax_rounded(txd_ctx *ctx, const struct txd_softmax_args *a,
                                  rounder round)
{
    struct txd_softmax_args once = *a;

    once.entropy = NULL;
    if (!a->same)
        TXD_TRY(wide.softmax(ctx, &once));
    for (size_t r = 0; a->same && r < a->rows; r++)
        TXD_TRY(stepwise_row(ctx, a, r, round));
    STRIDED(a->out);
    for (size_t r = 0; a->entropy != NULL && r < a->rows; r++)
        a->entropy[r] = entropy_of((const float *)a->out + r * a->stride, a->keys);
    return TXD_OK;
}

/* ---- backward ---- */

/* The rows of the table that some token added to. */
static txd_status embed_back_rounded(txd_ctx *ctx, const struct txd_embed_back_args *a,
                                     rounder round)
{
    TXD_TRY(wide.embed_back(ctx, a));
    for (size_t r = 0; r < a->rows; r++)
        round((float *)a->d_table + (size_t)a->ids[r] * a->width, a->width);
    return TXD_OK;
}

ROUNDED(linear_back, linear_back, DENSE(a->d_x, (a->rows * a->k));
        DENSE(a->d_weight, (a->n * a->k)); DENSE(a->d_bias, a->n))
ROUNDED(norm_back, norm_back, DENSE(a->d_x, (a->rows * a->width));
        DENSE(a->d_gain, a->width); DENSE(a->d_bias, a->width))
ROUNDED(activate_back, activate_back, DENSE(a->d_x, a->count))
ROUNDED(multiply_back, pair_back, DENSE(a->d_a, a->count); DENSE(a->d_b, a->count))
ROUNDED(add_back, pair_back, NOTHING)
ROUNDED(scale_back, scale, DENSE(a->out, a->count))
ROUNDED(split_heads_back, heads, NOTHING)
ROUNDED(merge_heads_back, heads, NOTHING)
ROUNDED(rotate_back, rotate,
        DENSE(a->out, (a->batch * a->heads * a->length * a->width)))
ROUNDED(scores_back, scores_back, DENSE(a->d_q, (a->rows * a->width));
        DENSE(a->d_k, (a->keys * a->width)))

static txd_status bias_back_rounded(txd_ctx *ctx, const struct txd_bias_back_args *a,
                                    rounder round)
{
    TXD_TRY(wide.bias_back(ctx, a));
    for (size_t b = 0; a->d_table != NULL && b < a->relative->buckets; b++)
        round((float *)a->d_table + b * a->relative->heads + a->relative->head, 1);
    return TXD_OK;
}

ROUNDED(softcap_back, softcap_back,
        round_rows(round, a->d_x, a->rows, a->width, a->stride))
ROUNDED(mask_back, mask_back, NOTHING)
ROUNDED(softmax_back, softmax_back, STRIDED(a->d_masked))
ROUNDED(sink_back, sink_back, DENSE(a->d_sink, 1))
ROUNDED(mix_back, mix_back, STRIDED(a->d_weights); DENSE(a->d_v, (a->keys * a->width)))
ROUNDED(loss_back, loss_back, DENSE(a->d_logits, (a->rows * a->vocab)))

/* ---- the tables ---- */

#define TXD_OP(name, arguments)                                                        \
    txd_status txd_bf16_##name(txd_ctx *ctx, const struct txd_##arguments##_args *a)   \
    {                                                                                  \
        return name##_rounded(ctx, a, txd_kernels_here()->round_bf16);                 \
    }                                                                                  \
    txd_status txd_fp16_##name(txd_ctx *ctx, const struct txd_##arguments##_args *a)   \
    {                                                                                  \
        return name##_rounded(ctx, a, txd_kernels_here()->round_f16);                  \
    }
TXD_OPS(TXD_OP)
#undef TXD_OP
