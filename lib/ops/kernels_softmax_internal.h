/* SPDX-License-Identifier: MIT
 *
 * The three sweeps of a softmax over a row, and what its gradient needs.
 */
#ifndef TXD_OPS_KERNELS_SOFTMAX_INTERNAL_H
#define TXD_OPS_KERNELS_SOFTMAX_INTERNAL_H

#include "ops/kernels.h"
#include "ops/kernels_exp_internal.h"

/* A comparison with NaN is false: the largest number, and whether there is a NaN. */
INLINE void largest_block(floats largest[PARTS], ints nan[PARTS], const float *x)
{
    EACH_PART (p) {
        floats value = load(x + p * PART_FLOATS);

        largest[p] = higher_of(value, largest[p]);
        nan[p] |= value != value;
    }
}

static inline float largest_row(const float *x, size_t count)
{
    const float least = -__builtin_inff();
    floats largest[PARTS];
    ints nan[PARTS] = {{0}};
    float tail[LANES];

    EACH_PART (p)
        largest[p] = spread(least);
    for (; count >= LANES; count -= LANES, x += LANES)
        largest_block(largest, nan, x);
    if (count > 0) {
        load_tail(tail, x, count, least);
        largest_block(largest, nan, tail);
    }
    return any_of(nan) ? __builtin_nanf("") : largest_of(largest);
}

/* Sums in lanes of 2^k exp(x - max), and of that times x - max. */
struct exp_lanes {
    floats sum[PARTS], moment[PARTS];
};

/* Two blocks, two vectors at a time; `out` NULL: nowhere. */
#define EXP_FLOATS (2 * LANES)

INLINE void exp_blocks(struct exp_lanes *lanes, float *out, const float *x, floats max)
{
    const floats low = spread(EXP_LOWEST);

    EACH_OF (pair, PARTS) {
        floats below[EXP_PAIR], e[EXP_PAIR];

        EACH_OF (v, EXP_PAIR) {
            below[v] = load(x + (pair * EXP_PAIR + v) * PART_FLOATS) - max;
            below[v] = higher_of(low, below[v]);
        }
        exp_scaled(e, below);
        EACH_OF (v, EXP_PAIR) /* what is no more than `low` rounds to 0; a NaN stays */
            e[v] = (floats)(bits_of(e[v]) & ~(below[v] <= low));
        EACH_OF (v, EXP_PAIR) {
            int vector = pair * EXP_PAIR + v;

            lanes->sum[vector % PARTS] += e[v];
            lanes->moment[vector % PARTS] += e[v] * below[v];
            if (out != NULL)
                store(out + vector * PART_FLOATS, e[v]);
        }
    }
}

INLINE struct txd_exp_sums exp_sums(float *out, const float *x, size_t count,
                                    float largest)
{
    struct exp_lanes lanes = {{{0}}, {{0}}};
    const floats max = spread(largest);
    float tail[EXP_FLOATS];
    size_t i = 0;

    for (; i + EXP_FLOATS <= count; i += EXP_FLOATS)
        exp_blocks(&lanes, out == NULL ? NULL : out + i, x + i, max);
    if (i < count) {
        size_t first = count - i < LANES ? count - i : LANES,
               second = count - i - first;

        load_tail(tail, x + i, first, -__builtin_inff());
        load_tail(tail + LANES, x + i + first, second, -__builtin_inff());
        exp_blocks(&lanes, tail, tail, max);
        if (out != NULL) {
            store_tail(out + i, tail, first);
            store_tail(out + i + first, tail + LANES, second);
        }
    }
    return (struct txd_exp_sums){sum_of(lanes.sum), sum_of(lanes.moment)};
}

static inline struct txd_exp_sums exp_sums_row(float *out, const float *x, size_t count,
                                               float largest)
{
    return out == NULL ? exp_sums(NULL, x, count, largest)
                       : exp_sums(out, x, count, largest);
}

static inline void scale_twice_row(float *out, const float *x, size_t count,
                                   float factor, float then)
{
    const floats first = spread(factor), second = spread(then);
    float tail[LANES];

    for (; count >= LANES; count -= LANES, x += LANES, out += LANES)
        EACH_PART (p)
            store(out + p * PART_FLOATS, load(x + p * PART_FLOATS) * first * second);
    if (count == 0)
        return;
    load_tail(tail, x, count, 0);
    EACH_PART (p)
        store(tail + p * PART_FLOATS, load(tail + p * PART_FLOATS) * first * second);
    store_tail(out, tail, count);
}

static inline float dot_row(const float *x, const float *y, size_t count)
{
    floats sum[PARTS] = {{0}};
    float tail[2][LANES];

    for (; count >= LANES; count -= LANES, x += LANES, y += LANES)
        EACH_PART (p)
            sum[p] += load(x + p * PART_FLOATS) * load(y + p * PART_FLOATS);
    if (count > 0) {
        load_tail(tail[0], x, count, 0);
        load_tail(tail[1], y, count, 0);
        EACH_PART (p)
            sum[p] += load(tail[0] + p * PART_FLOATS) * load(tail[1] + p * PART_FLOATS);
    }
    return sum_of(sum);
}

INLINE void weigh_block(float *out, const float *weights, const float *x, floats mean)
{
    EACH_PART (p)
        store(out + p * PART_FLOATS,
              load(weights + p * PART_FLOATS) * (load(x + p * PART_FLOATS) - mean));
}

static inline void weigh_row(float *out, const float *weights, const float *x,
                             size_t count, float mean)
{
    const floats middle = spread(mean);
    float tail[LANES], other[LANES];

    for (; count >= LANES; count -= LANES, x += LANES, out += LANES, weights += LANES)
        weigh_block(out, weights, x, middle);
    if (count == 0)
        return;
    load_tail(tail, weights, count, 0);
    load_tail(other, x, count, 0);
    weigh_block(tail, tail, other, middle);
    store_tail(out, tail, count);
}

#endif
