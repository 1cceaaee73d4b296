/* SPDX-License-Identifier: MIT
 *
 * float32 to the values of bfloat16 and of float16: to nearest, ties to even, by
 * integers; NaN stays one, quiet, with what of its payload is kept.
 */
#ifndef TXD_OPS_KERNELS_ROUND_INTERNAL_H
#define TXD_OPS_KERNELS_ROUND_INTERNAL_H

#include "ops/vector_internal.h"

typedef uint32_t units __attribute__((vector_size(TXD_VECTOR_BYTES)));

/* Half of what the lowest `drop` bits can be, a little less where that makes a tie go
 * to the even neighbour; a carry runs into the exponent as it should. */
INLINE units nearest(units bits, int drop)
{
    const uint32_t half = ((uint32_t)1 << (drop - 1)) - 1;

    return (bits + half + (bits >> drop & 1)) >> drop << drop;
}

INLINE units quiet(units bits, int drop)
{
    return (bits >> drop << drop) | 0x400000u;
}

INLINE floats bf16_of(floats x)
{
    units bits = (units)x;
    ints is_nan = (bits_of(x) & 0x7fffffff) > 0x7f800000;

    return choose(is_nan, (floats)quiet(bits, 16), (floats)nearest(bits, 16));
}

/* Below 2^-14 values are multiples of 2^-24, the unit of 0.5; from 2^16 on, what was
 * rounded is infinite. */
INLINE floats f16_of(floats x)
{
    units bits = (units)x, sign = bits & 0x80000000u;
    ints size = bits_of(x) & 0x7fffffff, rounded;
    floats small = ((floats)size + 0.5f) - 0.5f, value;

    rounded = (ints)nearest((units)size, 13);
    rounded = choose_int(rounded >= 0x47800000, spread_int(0x7f800000), rounded);
    value = choose(size < 0x38800000, small, (floats)rounded);
    value = (floats)((units)value | sign);
    return choose(size > 0x7f800000, (floats)quiet(bits, 13), value);
}

INLINE void round_each(float *values, size_t count, floats (*round)(floats x))
{
    float tail[LANES];

    for (; count >= LANES; count -= LANES, values += LANES)
        EACH_PART (p)
            store(values + p * PART_FLOATS, round(load(values + p * PART_FLOATS)));
    if (count == 0)
        return;
    load_tail(tail, values, count, 0);
    EACH_PART (p)
        store(tail + p * PART_FLOATS, round(load(tail + p * PART_FLOATS)));
    memcpy(values, tail, count * sizeof *values);
}

static inline void round_bf16_row(float *values, size_t count)
{
    round_each(values, count, bf16_of);
}

static inline void round_f16_row(float *values, size_t count)
{
    round_each(values, count, f16_of);
}

#endif
