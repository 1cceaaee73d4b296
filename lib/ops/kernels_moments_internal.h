/* SPDX-License-Identifier: MIT
 *
 * Mean and deviations of a row, in double. No sum of finite floats leaves the range of
 * doubles: one that is not finite has met a NaN or an infinity.
 */
#ifndef TXD_OPS_KERNELS_MOMENTS_INTERNAL_H
#define TXD_OPS_KERNELS_MOMENTS_INTERNAL_H

#include "ops/kernels.h"
#include "ops/vector_internal.h"

INLINE bool is_finite(double sum)
{
    return sum - sum == 0;
}

/* Sums of x - shift and of its square in 16 lanes, the least and the largest. Doubles
 * of the two halves of a block add up on their own: additions do not wait. */
struct moment_lanes {
    doubles sum[2][PARTS], squares[2][PARTS];
    floats low[PARTS], high[PARTS];
};

INLINE double sum_of_halves(doubles sum[2][PARTS])
{
    EACH_PART (p)
        sum[0][p] += sum[1][p];
    return sum_of_doubles(sum[0]);
}

INLINE void moment_block(struct moment_lanes *lanes, const float *x, doubles shift)
{
    EACH_HALF (half)
        EACH_PART (p) {
            doubles away =
                load_wide(x + half * DOUBLE_LANES + p * PART_DOUBLES) - shift;

            lanes->sum[half][p] += away;
            lanes->squares[half][p] += away * away;
        }
    EACH_PART (p) {
        floats value = load(x + p * PART_FLOATS);

        lanes->low[p] = lower_of(value, lanes->low[p]);
        lanes->high[p] = higher_of(value, lanes->high[p]);
    }
}

/* Once over the row: no element is further from the mean than sqrt(count) deviations,
 * so that with one of them as the shift little cancels. */
static inline bool moments_row(struct txd_moments *out, const float *x, size_t count)
{
    const float shift = count > 0 ? x[0] : 0;
    const double number = (double)count;
    struct moment_lanes lanes;
    float tail[LANES];
    double sum;

    EACH_PART (p) {
        lanes.sum[0][p] = lanes.sum[1][p] = spread_double(0);
        lanes.squares[0][p] = lanes.squares[1][p] = spread_double(0);
        lanes.low[p] = lanes.high[p] = spread(shift);
    }
    *out = (struct txd_moments){0, 0, 0, 0};
    if (count == 0)
        return true;
    for (; count >= LANES; count -= LANES, x += LANES)
        moment_block(&lanes, x, spread_double((double)shift));
    if (count > 0) {
        load_tail(tail, x, count, shift);
        moment_block(&lanes, tail, spread_double((double)shift));
    }
    sum = sum_of_halves(lanes.sum);
    out->mean = (double)shift + sum / number;
    out->deviation2 = sum_of_halves(lanes.squares) - sum * (sum / number);
    out->deviation2 = out->deviation2 < 0 ? 0 : out->deviation2;
    out->low = least_of(lanes.low);
    out->high = largest_of(lanes.high);
    return is_finite(sum);
}

#endif
