/* SPDX-License-Identifier: MIT
 *
 * Pairs of lanes that turn, one half of them `second` elements behind the other.
 */
#ifndef TXD_OPS_KERNELS_ROTATE_INTERNAL_H
#define TXD_OPS_KERNELS_ROTATE_INTERNAL_H

#include "ops/vector_internal.h"

INLINE void rotate_block(float *out1, float *out2, const float *x1, const float *x2,
                         const float *cosine, const float *sine)
{
    EACH_PART (p) {
        size_t i = p * PART_FLOATS;
        floats first = load(x1 + i), other = load(x2 + i);
        floats c = load(cosine + i), s = load(sine + i);

        store(out1 + i, first * c - other * s);
        store(out2 + i, other * c + first * s);
    }
}

static inline void rotate_row(float *out, const float *x, size_t second,
                              const float *cosine, const float *sine, size_t count)
{
    size_t i = 0;

    for (; count - i >= LANES; i += LANES)
        rotate_block(out + i, out + second + i, x + i, x + second + i, cosine + i,
                     sine + i);
    for (; i < count; i++) {
        float first = x[i], other = x[second + i];

        out[i] = first * cosine[i] - other * sine[i];
        out[second + i] = other * cosine[i] + first * sine[i];
    }
}

#endif
