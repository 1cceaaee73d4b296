/* SPDX-License-Identifier: MIT
 *
 * Sums over rows in double: of values, and of weights with their places. Elements that
 * fill no block are added to the lanes one by one.
 */
#ifndef TXD_OPS_KERNELS_MOMENTS_INTERNAL_H
#define TXD_OPS_KERNELS_MOMENTS_INTERNAL_H

#include "ops/kernels.h"
#include "ops/kernels_scan_internal.h"

/* One block into sums of 8 lanes, the lower half of it first. */
INLINE void sum_block(doubles sum[PARTS], const float *x)
{
    for (int half = 0; half < LANES; half += DOUBLE_LANES)
        EACH_PART (p)
            sum[p] += load_wide(x + half + p * PART_DOUBLES);
}

INLINE void square_block(doubles sum[PARTS], const float *x, doubles mean)
{
    for (int half = 0; half < LANES; half += DOUBLE_LANES)
        EACH_PART (p) {
            doubles away = load_wide(x + half + p * PART_DOUBLES) - mean;

            sum[p] += away * away;
        }
}

/* The least and the largest, and bits where one is no number. */
struct range_lanes {
    floats low[PARTS], high[PARTS];
    ints nonfinite[PARTS];
};

INLINE void range_block(struct range_lanes *lanes, const float *x)
{
    EACH_PART (p) {
        floats value = load(x + p * PART_FLOATS);

        lanes->low[p] = lower_of(value, lanes->low[p]);
        lanes->high[p] = higher_of(value, lanes->high[p]);
        lanes->nonfinite[p] |= nonfinite_lanes(value);
    }
}

/* The sums of the lanes and of what fills no block. */
INLINE double sum_with_tail(const doubles sum[PARTS], const float *tail, size_t count)
{
    double lane[DOUBLE_LANES];

    memcpy(lane, sum, sizeof lane);
    for (size_t i = 0; i < count; i++)
        lane[i % DOUBLE_LANES] += (double)tail[i];
    return sum_of_double_lanes(lane);
}

INLINE double squares_with_tail(const doubles sum[PARTS], const float *tail,
                                size_t count, double mean)
{
    double lane[DOUBLE_LANES];

    memcpy(lane, sum, sizeof lane);
    for (size_t i = 0; i < count; i++)
        lane[i % DOUBLE_LANES] += ((double)tail[i] - mean) * ((double)tail[i] - mean);
    return sum_of_double_lanes(lane);
}

static inline bool moments_row(struct txd_moments *out, const float *x, size_t count)
{
    const size_t whole = count / LANES * LANES;
    struct range_lanes range = {.nonfinite = {{0}}};
    doubles sum[PARTS] = {{0}}, squares[PARTS] = {{0}};
    float tail[LANES];

    *out = (struct txd_moments){0, 0, 0, 0};
    if (count == 0)
        return true;
    EACH_PART (p)
        range.low[p] = range.high[p] = spread(x[0]);
    for (size_t i = 0; i < whole; i += LANES) {
        sum_block(sum, x + i);
        range_block(&range, x + i);
    }
    load_tail(tail, x + whole, count - whole, x[0]);
    range_block(&range, tail);
    if (any_of(range.nonfinite))
        return false;
    out->low = least_of(range.low);
    out->high = largest_of(range.high);
    out->mean = sum_with_tail(sum, x + whole, count - whole) / (double)count;
    for (size_t i = 0; i < whole; i += LANES)
        square_block(squares, x + i, spread_double(out->mean));
    out->deviation2 = squares_with_tail(squares, x + whole, count - whole, out->mean);
    return true;
}

/* Weights with their places: sums, and in each lane the largest and where it was. */
struct weight_lanes {
    doubles sum[PARTS], distance[PARTS], away[PARTS];
    floats peak[PARTS];
    ints at[PARTS], now[PARTS], nonfinite[PARTS];
};

INLINE void weight_lanes_begin(struct weight_lanes *lanes, double first)
{
    static const double place[DOUBLE_LANES] = {0, 1, 2, 3, 4, 5, 6, 7};
    static const int32_t now[LANES] = {0, 1, 2,  3,  4,  5,  6,  7,
                                       8, 9, 10, 11, 12, 13, 14, 15};

    EACH_PART (p) {
        lanes->sum[p] = lanes->distance[p] = spread_double(0);
        lanes->away[p] = first - load_doubles(place + p * PART_DOUBLES);
        lanes->peak[p] = spread(-__builtin_inff());
        lanes->at[p] = spread_int(-1);
        lanes->now[p] = load_ints(now + p * PART_FLOATS);
        lanes->nonfinite[p] = spread_int(0);
    }
}

/* The same block twice: what fills it up is 0 in x, and nothing can be below in y. */
INLINE void weight_block(struct weight_lanes *lanes, const float *x, const float *y)
{
    for (int half = 0; half < LANES; half += DOUBLE_LANES)
        EACH_PART (p) {
            doubles w = load_wide(x + half + p * PART_DOUBLES);

            lanes->sum[p] += w;
            lanes->distance[p] += w * lanes->away[p];
            lanes->away[p] -= DOUBLE_LANES;
        }
    EACH_PART (p) {
        floats w = load(y + p * PART_FLOATS);
        ints higher = w > lanes->peak[p];

        lanes->peak[p] = higher_of(w, lanes->peak[p]);
        lanes->at[p] = choose_int(higher, lanes->now[p], lanes->at[p]);
        lanes->now[p] += LANES;
        lanes->nonfinite[p] |= nonfinite_lanes(load(x + p * PART_FLOATS));
    }
}

/* The first place of the largest weight. */
INLINE void peak_of(struct txd_weight_sums *out, const struct weight_lanes *lanes)
{
    float peak[LANES];
    int32_t at[LANES];

    memcpy(peak, lanes->peak, sizeof peak);
    memcpy(at, lanes->at, sizeof at);
    out->peak = peak[0];
    out->peak_at = at[0];
    for (int i = 1; i < LANES; i++)
        if (peak[i] > out->peak || (peak[i] == out->peak && at[i] < out->peak_at)) {
            out->peak = peak[i];
            out->peak_at = at[i];
        }
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
    load_tail(zeros, x + whole, count - whole, 0);
    load_tail(lowest, x + whole, count - whole, -__builtin_inff());
    weight_block(&lanes, zeros, lowest);
    out->sum = sum_of_doubles(lanes.sum);
    out->distance = sum_of_doubles(lanes.distance);
    peak_of(out, &lanes);
    return !any_of(lanes.nonfinite);
}

#endif
