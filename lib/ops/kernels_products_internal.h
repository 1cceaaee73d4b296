/* SPDX-License-Identifier: MIT
 *
 * The product of two rows, in double, and what it could be off by: the sum of the
 * magnitudes of its terms. A product of two floats is exact in double.
 */
#ifndef TXD_OPS_KERNELS_PRODUCTS_INTERNAL_H
#define TXD_OPS_KERNELS_PRODUCTS_INTERNAL_H

#include "ops/kernels.h"
#include "ops/vector_internal.h"

/* Two blocks of doubles hold the lanes of one of floats. */
struct product_lanes {
    doubles sum[2][PARTS], size[2][PARTS];
};

INLINE void product_block(struct product_lanes *lanes, const float *x, const float *y)
{
    for (int half = 0; half < 2; half++)
        EACH_PART (p) {
            int at = half * DOUBLE_LANES + p * PART_DOUBLES;
            doubles term = load_wide(x + at) * load_wide(y + at);

            lanes->sum[half][p] += term;
            lanes->size[half][p] += (doubles)((longs)term & INT64_MAX);
        }
}

static inline struct txd_products products_row(const float *x, const float *y,
                                               size_t count)
{
    struct product_lanes lanes = {{{{0}}}, {{{0}}}};
    float tail[2][LANES];

    for (; count >= LANES; count -= LANES, x += LANES, y += LANES)
        product_block(&lanes, x, y);
    if (count > 0) {
        load_tail(tail[0], x, count, 0);
        load_tail(tail[1], y, count, 0);
        product_block(&lanes, tail[0], tail[1]);
    }
    EACH_PART (p) {
        lanes.sum[0][p] += lanes.sum[1][p];
        lanes.size[0][p] += lanes.size[1][p];
    }
    return (struct txd_products){sum_of_doubles(lanes.sum[0]),
                                 sum_of_doubles(lanes.size[0])};
}

#endif
