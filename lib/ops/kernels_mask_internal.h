/* SPDX-License-Identifier: MIT
 *
 * Rows by byte maps: what counts is kept, the rest is filled.
 */
#ifndef TXD_OPS_KERNELS_MASK_INTERNAL_H
#define TXD_OPS_KERNELS_MASK_INTERNAL_H

#include "ops/kernels_scan_internal.h"

/* -1 in lanes whose byte is not 0. */
INLINE ints kept_lanes(const uint8_t *keep)
{
    return load_bytes(keep) != 0;
}

static inline void fill_row(float *out, size_t count, float value)
{
    const floats filling = spread(value);
    float tail[LANES];

    for (; count >= LANES; count -= LANES, out += LANES)
        EACH_PART (p)
            store(out + p * PART_FLOATS, filling);
    if (count == 0)
        return;
    EACH_PART (p)
        store(tail + p * PART_FLOATS, filling);
    store_tail(out, tail, count);
}

INLINE void mask_block(float *out, const float *x, const uint8_t *keep, floats filling)
{
    EACH_PART (p) {
        floats kept = load(x + p * PART_FLOATS);

        store(out + p * PART_FLOATS,
              choose(kept_lanes(keep + p * PART_FLOATS), kept, filling));
    }
}

static inline void mask_row(float *out, const float *x, const uint8_t *keep,
                            size_t count, float value)
{
    const floats filling = spread(value);

    for (; count >= LANES; count -= LANES, x += LANES, out += LANES, keep += LANES)
        mask_block(out, x, keep, filling);
    for (; count > 0; count--, x++)
        *out++ = *keep++ != 0 ? *x : value;
}

INLINE void nonzero_block(ints some[PARTS], const float *x, const uint8_t *keep)
{
    EACH_PART (p)
        some[p] |= ~kept_lanes(keep + p * PART_FLOATS) &
                   nonzero_bits(load(x + p * PART_FLOATS));
}

static inline bool zero_unless_row(const float *x, const uint8_t *keep, size_t count)
{
    ints some[PARTS] = {{0}};
    size_t i = 0;

    for (; i + LANES <= count; i += LANES) {
        nonzero_block(some, x + i, keep + i);
        if (i % SCAN_STRIDE == 0 && any_of(some))
            return false;
    }
    for (; i < count; i++)
        if (keep[i] == 0 && !(x[i] == 0))
            return false;
    return !any_of(some);
}

#endif
