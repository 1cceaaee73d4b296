/* SPDX-License-Identifier: MIT
 *
 * Sums of w log w, in double: w = 2^e m with m near 1, and log m = 2 artanh s, s =
 * (m - 1) / (m + 1), of which |s| < 0.172: 5 terms in s^2 (relative error below 2^-37),
 * so that weights near 1 lose nothing. Dividing costs less than the 8 terms more that a
 * polynomial in m - 1 has.
 */
#ifndef TXD_OPS_KERNELS_ENTROPY_INTERNAL_H
#define TXD_OPS_KERNELS_ENTROPY_INTERNAL_H

#include "ops/vector_internal.h"

/* w log w where w > 0, which no float32 makes subnormal here; else 0. Adding to the
 * bits carries into the exponent from sqrt(2) on: so m is in [1/sqrt(2), sqrt(2)). The
 * exponent becomes a number in the last bits of 2^52. */
INLINE doubles entropy_terms(doubles w)
{
    const uint64_t one = 0x3ff0000000000000, above = 0x00095f619980c433;
    const double unit = 0x1p52;
    words exponent = ((words)w + above) >> 52;
    doubles m = (doubles)((words)w - (exponent << 52) + one);
    doubles s = (m - 1) / (m + 1), t = s * s, e, sum;

    e = (doubles)(exponent + 0x4330000000000000) - (unit + 1023);
    sum = 0x1.e3af8a3d0bab1p-3 * t + 0x1.2432c0e4bd12dp-2;
    sum = sum * t + 0x1.999a9c8d6bb95p-2;
    sum = sum * t + 0x1.555554dad28c4p-1;
    sum = sum * t + 0x1.0000000004a19p+1;
    e = w * (e * 0x1.62e42fefa39efp-1 + s * sum);
    return (doubles)((longs)e & (w > 0));
}

INLINE void entropy_block(doubles sum[PARTS], const float *x)
{
    for (int half = 0; half < LANES; half += DOUBLE_LANES)
        EACH_PART (p)
            sum[p] += entropy_terms(load_wide(x + half + p * PART_DOUBLES));
}

static inline double entropy_row(const float *x, size_t count)
{
    doubles sum[PARTS] = {{0}};
    float tail[LANES];

    for (; count >= LANES; count -= LANES, x += LANES)
        entropy_block(sum, x);
    if (count > 0) {
        load_tail(tail, x, count, 0);
        entropy_block(sum, tail);
    }
    return 0 - sum_of_doubles(sum);
}

#endif
