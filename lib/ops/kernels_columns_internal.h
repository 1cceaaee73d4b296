/* SPDX-License-Identifier: MIT
 *
 * Rows added to sums of columns, and to the largest of columns.
 */
#ifndef TXD_OPS_KERNELS_COLUMNS_INTERNAL_H
#define TXD_OPS_KERNELS_COLUMNS_INTERNAL_H

#include "ops/vector_internal.h"

static inline void columns_row(double *sum, float *top, const float *x, size_t count)
{
    for (; count >= LANES; count -= LANES, sum += LANES, top += LANES, x += LANES) {
        EACH_PART (p) {
            const float *at = x + p * PART_FLOATS;
            double *low = sum + p * PART_FLOATS, *high = low + PART_DOUBLES;
            floats now = load(at), most = load(top + p * PART_FLOATS);

            store_doubles(low, load_doubles(low) + load_wide(at));
            store_doubles(high, load_doubles(high) + load_wide(at + PART_DOUBLES));
            store(top + p * PART_FLOATS,
                  choose((now > most) | (now != now), now, most));
        }
    }
    for (size_t i = 0; i < count; i++) {
        sum[i] += (double)x[i];
        top[i] = x[i] > top[i] || x[i] != x[i] ? x[i] : top[i];
    }
}

#endif
