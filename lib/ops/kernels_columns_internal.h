/* SPDX-License-Identifier: MIT
 *
 * Sums and largest elements of columns, and of runs of columns. What is largest is
 * found without regard to NaN, and again where the sum says that there is one.
 */
#ifndef TXD_OPS_KERNELS_COLUMNS_INTERNAL_H
#define TXD_OPS_KERNELS_COLUMNS_INTERNAL_H

#include <math.h>

#include "ops/kernels.h"
#include "ops/vector_internal.h"

/* One column alone. */
INLINE void columns_one(double *sum, float *top, const float *x, struct txd_lines lines)
{
    *sum = 0;
    *top = -(float)INFINITY;
    for (size_t r = 0; r < lines.count; r++, x += lines.stride) {
        *sum += (double)*x;
        *top = *x > *top || *x != *x ? *x : *top;
    }
}

/* A block of columns, in registers. */
INLINE void columns_block(double *sum, float *top, const float *x,
                          struct txd_lines lines)
{
    doubles low[PARTS], high[PARTS];
    floats most[PARTS];
    ints odd[PARTS];

    EACH_PART (p) {
        low[p] = high[p] = spread_double(0);
        most[p] = spread(-(float)INFINITY);
    }
    for (size_t r = 0; r < lines.count; r++) {
        const float *at = x + r * lines.stride;

        EACH_PART (p) {
            low[p] += load_wide(at + p * PART_FLOATS);
            high[p] += load_wide(at + p * PART_FLOATS + PART_DOUBLES);
            most[p] = higher_of(load(at + p * PART_FLOATS), most[p]);
        }
    }
    EACH_PART (p) {
        odd[p] = (ints)((low[p] != low[p]) | (high[p] != high[p]));
        store_doubles(sum + p * PART_FLOATS, low[p]);
        store_doubles(sum + p * PART_FLOATS + PART_DOUBLES, high[p]);
        store(top + p * PART_FLOATS, most[p]);
    }
    if (any_of(odd))
        for (size_t i = 0; i < LANES; i++)
            columns_one(sum + i, top + i, x + i, lines);
}

static inline void columns_rows(double *sum, float *top, const float *x, size_t count,
                                struct txd_lines lines)
{
    size_t i = 0;

    for (; i + LANES <= count; i += LANES)
        columns_block(sum + i, top + i, x + i, lines);
    for (; i < count; i++)
        columns_one(sum + i, top + i, x + i, lines);
}

INLINE double run_sum(const double *x, size_t count)
{
    doubles sums[PARTS];
    double sum = 0;
    size_t i = 0;

    if (count >= DOUBLE_LANES) {
        EACH_PART (p)
            sums[p] = load_doubles(x + p * PART_DOUBLES);
        for (i = DOUBLE_LANES; i + DOUBLE_LANES <= count; i += DOUBLE_LANES)
            EACH_PART (p)
                sums[p] += load_doubles(x + i + p * PART_DOUBLES);
        sum = sum_of_doubles(sums);
    }
    for (; i < count; i++)
        sum += x[i];
    return sum;
}

/* Of which none is NaN. */
INLINE float run_top(const float *x, size_t count)
{
    floats most[PARTS];
    float top = -(float)INFINITY;
    size_t i = 0;

    if (count >= LANES) {
        EACH_PART (p)
            most[p] = load(x + p * PART_FLOATS);
        for (i = LANES; i + LANES <= count; i += LANES)
            EACH_PART (p)
                most[p] = higher_of(load(x + i + p * PART_FLOATS), most[p]);
        top = largest_of(most);
    }
    for (; i < count; i++)
        top = x[i] > top ? x[i] : top;
    return top;
}

static inline void column_runs(double *sum, float *top, struct txd_columns from,
                               const uint32_t *ends, size_t count)
{
    for (size_t c = 0, begin = 0; c < count; begin = ends[c++]) {
        size_t width = ends[c] - begin;
        const float *tops = from.top + begin;

        sum[c] = run_sum(from.sum + begin, width);
        top[c] = run_top(tops, width);
        for (size_t i = 0; sum[c] != sum[c] && i < width; i++)
            top[c] = tops[i] != tops[i] ? tops[i] : top[c];
    }
}

#endif
