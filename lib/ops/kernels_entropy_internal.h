/* SPDX-License-Identifier: MIT
 *
 * Sums of w log w, in double: w = 2^e (1 + f) with |f| <= sqrt(2) - 1, and log(1 + f) /
 * f as a polynomial of degree 12 (relative error below 2^-35), so that weights near 1
 * lose nothing.
 */
#ifndef TXD_OPS_KERNELS_ENTROPY_INTERNAL_H
#define TXD_OPS_KERNELS_ENTROPY_INTERNAL_H

#include "ops/vector_internal.h"

/* log(1 + f) / f. */
INLINE doubles log_quotient(doubles f)
{
    doubles ff = f * f, even, odd;

    even = 0x1.b7830c2637a06p-5 * ff + 0x1.9b0372205f7b7p-4;
    even = even * ff + 0x1.c2c14baa8a320p-4;
    even = even * ff + 0x1.24ae0e355dcb8p-3;
    even = even * ff + 0x1.9998f91e204e0p-3;
    even = even * ff + 0x1.55555602771c0p-2;
    even = even * ff + 0x1.ffffffffe0db5p-1;
    odd = -0x1.95b3356e38073p-4 * ff - 0x1.966a431212f35p-4;
    odd = odd * ff - 0x1.ffe5e249528ffp-4;
    odd = odd * ff - 0x1.5556c8f145273p-3;
    odd = odd * ff - 0x1.fffff807f6ef7p-3;
    odd = odd * ff - 0x1.0000000289be0p-1;
    return even + f * odd;
}

/* w log w where w > 0, which no float32 makes subnormal here; else 0. Adding to the
 * bits carries into the exponent from sqrt(2) on: so m is in [1/sqrt(2), sqrt(2)). The
 * exponent becomes a number in the last bits of 2^52. */
INLINE doubles entropy_terms(doubles w)
{
    const uint64_t one = 0x3ff0000000000000, above = 0x00095f619980c433;
    const double unit = 0x1p52;
    words exponent = ((words)w + above) >> 52;
    doubles m = (doubles)((words)w - (exponent << 52) + one), f = m - 1, e;

    e = (doubles)(exponent + 0x4330000000000000) - (unit + 1023);
    e = w * (e * 0x1.62e42fefa39efp-1 + f * log_quotient(f));
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
