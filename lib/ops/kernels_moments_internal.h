/* SPDX-License-Identifier: MIT
 *
 * Sums over rows in double: of values, and of weights with their places. No sum of
 * finite floats leaves the range of doubles: one that is not finite has met a NaN or an
 * infinity.
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

/* Weights with their places: sums, and in each lane the largest and where it was. */
struct weight_lanes {
    doubles sum[2][PARTS], distance[2][PARTS], away[2][PARTS];
    floats peak[PARTS];
    ints at[PARTS], now[PARTS];
};

INLINE void weight_lanes_begin(struct weight_lanes *lanes, double first)
{
    static const double place[DOUBLE_LANES] = {0, 1, 2, 3, 4, 5, 6, 7};
    static const int32_t now[LANES] = {0, 1, 2,  3,  4,  5,  6,  7,
                                       8, 9, 10, 11, 12, 13, 14, 15};

    EACH_PART (p) {
        EACH_HALF (half) {
            lanes->sum[half][p] = lanes->distance[half][p] = spread_double(0);
            lanes->away[half][p] =
                first - half * DOUBLE_LANES - load_doubles(place + p * PART_DOUBLES);
        }
        lanes->peak[p] = spread(-__builtin_inff());
        lanes->at[p] = spread_int(-1);
        lanes->now[p] = load_ints(now + p * PART_FLOATS);
    }
}

/* The same block twice: what fills it up is 0 in x, and nothing can be below in y. */
INLINE void weight_block(struct weight_lanes *lanes, const float *x, const float *y)
{
    EACH_HALF (half)
        EACH_PART (p) {
            doubles w = load_wide(x + half * DOUBLE_LANES + p * PART_DOUBLES);

            lanes->sum[half][p] += w;
            lanes->distance[half][p] += w * lanes->away[half][p];
            lanes->away[half][p] -= LANES;
        }
    EACH_PART (p) {
        floats w = load(y + p * PART_FLOATS);
        ints higher = w > lanes->peak[p];

        lanes->peak[p] = higher_of(w, lanes->peak[p]);
        lanes->at[p] = choose_int(higher, lanes->now[p], lanes->at[p]);
        lanes->now[p] += LANES;
    }
}

/* The first place of the largest weight of x, which of equal zeros has its sign. */
INLINE void peak_of(struct txd_weight_sums *out, const struct weight_lanes *lanes,
                    const float *x)
{
    const floats peak = spread(largest_of(lanes->peak));
    ints at[PARTS];

    EACH_PART (p)
        at[p] = choose_int(lanes->peak[p] == peak, lanes->at[p], spread_int(INT32_MAX));
    out->peak_at = least_int_of(at);
    out->peak = out->peak_at < 0 ? -__builtin_inff() : x[out->peak_at];
}

static inline bool weights_row(struct txd_weight_sums *out, const float *x,
                               size_t count, double first)
{
    const size_t whole = count / LANES * LANES;
    struct weight_lanes lanes;
    float zeros[LANES], lowest[LANES];

    weight_lanes_begin(&lanes, first);
    for (size_t i = 0; i < whole; i += LANES)
        weight_block(&lanes, x + i, x + i);
    if (whole < count) {
        load_tail(zeros, x + whole, count - whole, 0);
        load_tail(lowest, x + whole, count - whole, -__builtin_inff());
        weight_block(&lanes, zeros, lowest);
    }
    out->sum = sum_of_halves(lanes.sum);
    out->distance = sum_of_halves(lanes.distance);
    peak_of(out, &lanes, x);
    return is_finite(out->sum);
}

#endif
