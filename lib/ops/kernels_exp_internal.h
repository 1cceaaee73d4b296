/* SPDX-License-Identifier: MIT
 *
 * exp of float32 by x = k ln 2 + r, |r| <= ln 2 / 2, and a polynomial of degree 6 in r
 * (relative error below 2^-28); k is the rounded sum of x / ln 2 and a number so large
 * that the sum's unit is 1, and stands in its lowest bits.
 */
#ifndef TXD_OPS_KERNELS_EXP_INTERNAL_H
#define TXD_OPS_KERNELS_EXP_INTERNAL_H

#include "ops/kernels.h"
#include "ops/vector_internal.h"

/* Below this exp rounds to 0, above that to infinity. */
#define EXP_LOWEST -104.0f
#define EXP_HIGHEST 89.0f
/* What exp_scaled gives is larger by 2 to this power: never subnormal. */
#define EXP_SHIFT TXD_EXP_SHIFT

/* Vectors that are worked on together, step by step: each waits for its own last step,
 * and what waits fills the CPU's queues. */
#define EXP_PAIR 2
#define EACH_OF(v, count) UNROLL for (int v = 0; v < count; v++)

/* exp(r) of x = k ln 2 + r, where sum = shift + k. The head of ln 2 has 15 bits, so
 * that its product with k is exact, and so is the difference. */
INLINE void exp_reduced(floats *e, floats *sum, const floats *x, float shift, int count)
{
    const float head = 0x1.62e4p-1f, tail = 0x1.7f7d1cp-20f;
    floats r[EXP_PAIR], rr[EXP_PAIR], p[EXP_PAIR];

    EACH_OF (v, count)
        sum[v] = x[v] * 0x1.715476p+0f + shift;
    EACH_OF (v, count) {
        floats k = sum[v] - shift;

        r[v] = less_product(x[v], k, spread(head)) - k * tail;
    }
    EACH_OF (v, count)
        rr[v] = r[v] * r[v];
    EACH_OF (v, count)
        p[v] = (0x1.5558f8p-5f + r[v] * 0x1.123b02p-7f) + rr[v] * 0x1.6a2256p-10f;
    EACH_OF (v, count)
        p[v] = (0x1.fffffcp-2f + r[v] * 0x1.555490p-3f) + rr[v] * p[v];
    EACH_OF (v, count)
        e[v] = 1 + (r[v] + rr[v] * p[v]);
}

/* 2^EXP_SHIFT exp(x) for x <= 0 or NaN: one exact factor is enough, and whoever divides
 * rounds once. x below EXP_LOWEST must have been raised to it. The exponent's bits are
 * those of the sum: the bits of 1.5 * 2^23 above them are shifted out. */
INLINE void exp_scaled(floats e[EXP_PAIR], const floats x[EXP_PAIR])
{
    floats sum[EXP_PAIR];

    exp_reduced(e, sum, x, 0x1.8p23f + 127 + EXP_SHIFT, EXP_PAIR);
    EACH_OF (v, EXP_PAIR)
        e[v] *= (floats)(bits_of(sum[v]) << 23);
}

/* exp(x) of anything; the second factor rounds what is subnormal. */
INLINE floats exp_of(floats x)
{
    const floats low = spread(EXP_LOWEST), high = spread(EXP_HIGHEST);
    floats sum, e;
    ints k, half;

    x = lower_of(high, higher_of(low, x));
    exp_reduced(&e, &sum, &x, 0x1.8p23f, 1);
    k = bits_of(sum) - bits_of(spread(0x1.8p23f));
    half = k >> 1;
    return e * (floats)((half + 127) << 23) * (floats)((k - half + 127) << 23);
}

static inline void exp_row(float *out, const float *x, size_t count)
{
    float tail[LANES];

    for (; count >= LANES; count -= LANES, x += LANES, out += LANES)
        EACH_PART (p)
            store(out + p * PART_FLOATS, exp_of(load(x + p * PART_FLOATS)));
    if (count == 0)
        return;
    load_tail(tail, x, count, 0);
    EACH_PART (p)
        store(tail + p * PART_FLOATS, exp_of(load(tail + p * PART_FLOATS)));
    store_tail(out, tail, count);
}

#endif
