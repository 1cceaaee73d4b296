/* SPDX-License-Identifier: MIT
 *
 * The sum of squares of a row, in double.
 */
#ifndef TXD_OPS_KERNELS_SQUARES_INTERNAL_H
#define TXD_OPS_KERNELS_SQUARES_INTERNAL_H

#include "ops/vector_internal.h"

/* Two blocks of doubles hold the lanes of one of floats. */
static inline double squares_row(const float *x, size_t count)
{
    doubles sum[2][PARTS] = {{{0}}};
    float tail[LANES];

    for (size_t i = 0; i < count; i += LANES) {
        const float *at = x + i;

        if (count - i < LANES) {
            load_tail(tail, at, count - i, 0);
            at = tail;
        }
        EACH_PART (p) {
            doubles low = load_wide(at + p * PART_DOUBLES);
            doubles high = load_wide(at + DOUBLE_LANES + p * PART_DOUBLES);

            sum[0][p] += low * low;
            sum[1][p] += high * high;
        }
    }
    EACH_PART (p)
        sum[0][p] += sum[1][p];
    return sum_of_doubles(sum[0]);
}

#endif
