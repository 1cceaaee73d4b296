/* SPDX-License-Identifier: MIT
 *
 * Rows element by element.
 */
#ifndef TXD_OPS_KERNELS_MAP_INTERNAL_H
#define TXD_OPS_KERNELS_MAP_INTERNAL_H

#include "ops/vector_internal.h"

INLINE void map_block(float *out, const float *x, floats (*of)(floats x))
{
    EACH_PART (p)
        store(out + p * PART_FLOATS, of(load(x + p * PART_FLOATS)));
}

INLINE void map(float *out, const float *x, size_t count, floats (*of)(floats x))
{
    float tail[LANES];

    for (; count >= LANES; count -= LANES, x += LANES, out += LANES)
        map_block(out, x, of);
    if (count == 0)
        return;
    load_tail(tail, x, count, 0);
    map_block(tail, tail, of);
    store_tail(out, tail, count);
}

INLINE void map_pair_block(float *out, const float *x, const float *y,
                           floats (*of)(floats x, floats y))
{
    EACH_PART (p)
        store(out + p * PART_FLOATS,
              of(load(x + p * PART_FLOATS), load(y + p * PART_FLOATS)));
}

INLINE void map_pair(float *out, const float *x, const float *y, size_t count,
                     floats (*of)(floats x, floats y))
{
    float tail[LANES], other[LANES];

    for (; count >= LANES; count -= LANES, x += LANES, y += LANES, out += LANES)
        map_pair_block(out, x, y, of);
    if (count == 0)
        return;
    load_tail(tail, x, count, 0);
    load_tail(other, y, count, 0);
    map_pair_block(tail, tail, other, of);
    store_tail(out, tail, count);
}

INLINE floats sum_of_pair(floats x, floats y)
{
    return x + y;
}

INLINE floats product_of_pair(floats x, floats y)
{
    return x * y;
}

static inline void add_row(float *out, const float *a, const float *b, size_t count)
{
    map_pair(out, a, b, count, sum_of_pair);
}

static inline void multiply_row(float *out, const float *a, const float *b,
                                size_t count)
{
    map_pair(out, a, b, count, product_of_pair);
}

INLINE void scale_block(float *out, const float *x, float factor)
{
    EACH_PART (p)
        store(out + p * PART_FLOATS, factor * load(x + p * PART_FLOATS));
}

static inline void scale_row(float *out, const float *x, float factor, size_t count)
{
    float tail[LANES];

    for (; count >= LANES; count -= LANES, x += LANES, out += LANES)
        scale_block(out, x, factor);
    if (count == 0)
        return;
    load_tail(tail, x, count, 0);
    scale_block(tail, tail, factor);
    store_tail(out, tail, count);
}

#endif
