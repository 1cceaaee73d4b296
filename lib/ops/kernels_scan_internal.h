/* SPDX-License-Identifier: MIT
 *
 * Questions about all elements of a row, by integer compare: they cost what reading
 * costs, and no exception.
 */
#ifndef TXD_OPS_KERNELS_SCAN_INTERNAL_H
#define TXD_OPS_KERNELS_SCAN_INTERNAL_H

#include "ops/vector_internal.h"

/* Elements after which a scan asks whether it has its answer. */
#define SCAN_STRIDE 512

/* -1 in lanes that are NaN or infinite. */
INLINE ints nonfinite_lanes(floats x)
{
    return (bits_of(x) & 0x7fffffff) > 0x7f7fffff;
}

/* Bits of lanes that are not 0, sign apart. */
INLINE ints nonzero_bits(floats x)
{
    return bits_of(x) & 0x7fffffff;
}

/* Whether `found` gives bits in any lane; a row is filled up with zeros. */
INLINE bool scan(const float *x, size_t count, ints (*found)(floats x))
{
    ints some[PARTS] = {{0}};
    float tail[LANES];

    while (count >= LANES) {
        size_t blocks = (count < SCAN_STRIDE ? count : SCAN_STRIDE) / LANES;

        count -= blocks * LANES;
        for (; blocks > 0; blocks--, x += LANES)
            EACH_PART (p)
                some[p] |= found(load(x + p * PART_FLOATS));
        if (any_of(some))
            return true;
    }
    load_tail(tail, x, count, 0);
    EACH_PART (p)
        some[p] |= found(load(tail + p * PART_FLOATS));
    return any_of(some);
}

static inline bool finite_row(const float *x, size_t count)
{
    return !scan(x, count, nonfinite_lanes);
}

static inline bool zero_row(const float *x, size_t count)
{
    return !scan(x, count, nonzero_bits);
}

#endif
