/* SPDX-License-Identifier: MIT
 *
 * One row of a normalisation, forward and back, in the passes of ref_norm.c: deviations
 * are taken from the computed mean.
 */
#ifndef TXD_OPS_KERNELS_NORM_INTERNAL_H
#define TXD_OPS_KERNELS_NORM_INTERNAL_H

#include <math.h>

#include "ops/kernels.h"
#include "ops/vector_internal.h"

/* The sum of x - shift, or of its squares. A tail is filled up with what adds 0. */
INLINE float sum_of_row(const float *x, size_t count, float shift, bool squares)
{
    floats sum[PARTS] = {{0}};
    float tail[LANES];

    for (size_t i = 0; i < count; i += LANES) {
        const float *at = x + i;

        if (count - i < LANES) {
            load_tail(tail, at, count - i, shift);
            at = tail;
        }
        EACH_PART (p) {
            floats d = load(at + p * PART_FLOATS) - shift;

            sum[p] += squares ? d * d : d;
        }
    }
    return sum_of(sum);
}

static inline txd_norm_scale norm_scale_row(const float *x, size_t width, float eps,
                                            bool root_mean_square)
{
    float n = (float)width;
    float mean = root_mean_square ? 0 : sum_of_row(x, width, 0, false) / n;
    float squares = sum_of_row(x, width, mean, true);

    return (txd_norm_scale){mean, 1 / sqrtf(squares / n + eps), 0};
}

INLINE void norm_block(float *out, const float *x, const float *gain, const float *bias,
                       txd_norm_scale scale)
{
    EACH_PART (p) {
        size_t i = p * PART_FLOATS;
        floats y = (load(gain + i) + scale.offset) *
                   ((load(x + i) - scale.mean) * scale.factor);

        store(out + i, bias == NULL ? y : y + load(bias + i));
    }
}

static inline void norm_row(float *out, const float *x, const float *gain,
                            const float *bias, size_t width, txd_norm_scale scale)
{
    float tail[LANES], gain_tail[LANES], bias_tail[LANES];
    size_t whole = width / LANES * LANES, left = width - whole;

    for (size_t i = 0; i < whole; i += LANES)
        norm_block(out + i, x + i, gain + i, bias == NULL ? NULL : bias + i, scale);
    if (left == 0)
        return;
    load_tail(tail, x + whole, left, 0);
    load_tail(gain_tail, gain + whole, left, 0);
    if (bias != NULL)
        load_tail(bias_tail, bias + whole, left, 0);
    norm_block(tail, tail, gain_tail, bias == NULL ? NULL : bias_tail, scale);
    store_tail(out + whole, tail, left);
}

/* What one block of a row goes back through; copies of a tail, filled up with 0. */
struct norm_back_block {
    const float *x, *gain, *d_out;
    float tails[3][LANES];
};

INLINE void norm_back_take(struct norm_back_block *b, const txd_norm_back_row *row,
                           size_t i)
{
    size_t left = row->width - i;

    b->x = row->x + i;
    b->gain = row->gain + i;
    b->d_out = row->d_out + i;
    if (left >= LANES)
        return;
    load_tail(b->tails[0], b->x, left, row->scale.mean);
    load_tail(b->tails[1], b->gain, left, 0);
    load_tail(b->tails[2], b->d_out, left, 0);
    b->x = b->tails[0];
    b->gain = b->tails[1];
    b->d_out = b->tails[2];
}

/* Filled up lanes add nothing, not even 0 times infinity. */
INLINE void keep_first(floats block[PARTS], size_t count)
{
    float lanes[LANES];

    memcpy(lanes, block, sizeof lanes);
    for (size_t i = count; i < LANES; i++)
        lanes[i] = 0;
    memcpy(block, lanes, sizeof lanes);
}

/* What is added to every gain: mostly nothing, of which -0 lets the compiler know. */
#define NO_OFFSET (-0.0f)

/* The sums of g and of g y, g = (offset + gain) d_out, y = (x - mean) factor. */
INLINE void norm_back_sums(float *level, float *along, const txd_norm_back_row *row,
                           float offset)
{
    floats levels[PARTS] = {{0}}, alongs[PARTS] = {{0}}, terms[PARTS];
    struct norm_back_block b;

    for (size_t i = 0; i < row->width; i += LANES) {
        norm_back_take(&b, row, i);
        EACH_PART (p) {
            size_t at = p * PART_FLOATS;
            floats g = (load(b.gain + at) + offset) * load(b.d_out + at);

            levels[p] += g;
            terms[p] = g * ((load(b.x + at) - row->scale.mean) * row->scale.factor);
        }
        if (row->width - i < LANES)
            keep_first(terms, row->width - i);
        EACH_PART (p)
            alongs[p] += terms[p];
    }
    *level = sum_of(levels);
    *along = sum_of(alongs);
}

INLINE void norm_back_write(float *d_x, const struct norm_back_block *b,
                            const txd_norm_back_row *row, float level, float along,
                            float offset)
{
    const float factor = row->scale.factor;

    EACH_PART (p) {
        size_t at = p * PART_FLOATS;
        floats g = (load(b->gain + at) + offset) * load(b->d_out + at);
        floats y = (load(b->x + at) - row->scale.mean) * factor;
        floats d = factor * (g - level - y * along);

        store(d_x + at, row->add ? load(d_x + at) + d : d);
    }
}

INLINE void norm_back_with(float *d_x, const txd_norm_back_row *row, float offset)
{
    float level, along, n = (float)row->width, tail[LANES];
    struct norm_back_block b;

    norm_back_sums(&level, &along, row, offset);
    along /= n;
    level = row->root_mean_square ? 0 : level / n;
    for (size_t i = 0; i < row->width; i += LANES) {
        size_t left = row->width - i;

        norm_back_take(&b, row, i);
        if (left >= LANES) {
            norm_back_write(d_x + i, &b, row, level, along, offset);
            continue;
        }
        load_tail(tail, d_x + i, left, 0);
        norm_back_write(tail, &b, row, level, along, offset);
        store_tail(d_x + i, tail, left);
    }
}

static inline void norm_back_row(float *d_x, const txd_norm_back_row *row)
{
    if (row->scale.offset == 0)
        norm_back_with(d_x, row, NO_OFFSET);
    else
        norm_back_with(d_x, row, row->scale.offset);
}

/* sum += d (x - mean) factor; without x sum += d. */
INLINE void norm_sums_block(float *sum, const float *d, const float *x,
                            txd_norm_scale scale)
{
    EACH_PART (p) {
        size_t i = p * PART_FLOATS;
        floats term = load(d + i);

        if (x != NULL)
            term *= (load(x + i) - scale.mean) * scale.factor;
        store(sum + i, load(sum + i) + term);
    }
}

INLINE void norm_sums(float *sum, const float *d, const float *x, size_t count,
                      txd_norm_scale scale)
{
    float sum_tail[LANES], d_tail[LANES], x_tail[LANES];

    for (; count >= LANES; count -= LANES, sum += LANES, d += LANES) {
        norm_sums_block(sum, d, x, scale);
        x = x == NULL ? NULL : x + LANES;
    }
    if (count == 0)
        return;
    load_tail(sum_tail, sum, count, 0);
    load_tail(d_tail, d, count, 0);
    if (x != NULL)
        load_tail(x_tail, x, count, 0);
    norm_sums_block(sum_tail, d_tail, x == NULL ? NULL : x_tail, scale);
    store_tail(sum, sum_tail, count);
}

static inline void norm_params_row(float *d_gain, float *d_bias, const float *d_out,
                                   const float *x, size_t count, txd_norm_scale scale)
{
    if (d_gain != NULL)
        norm_sums(d_gain, d_out, x, count, scale);
    if (d_bias != NULL)
        norm_sums(d_bias, d_out, NULL, count, scale);
}

#endif
