/* SPDX-License-Identifier: MIT
 *
 * What the elements of a row come to, in double: of values, and of weights with their
 * places. The totals of both have the same bits.
 */
#ifndef TXD_OPS_KERNELS_TOTALS_INTERNAL_H
#define TXD_OPS_KERNELS_TOTALS_INTERNAL_H

#include <math.h>

#include "ops/kernels_moments_internal.h"

/* In 16 lanes; doubles of the two halves of a block add up on their own. */
struct total_lanes {
    doubles sum[2][PARTS], squares[2][PARTS];
    floats low[PARTS], high[PARTS];
};

INLINE void total_begin(struct total_lanes *lanes)
{
    EACH_PART (p) {
        lanes->sum[0][p] = lanes->sum[1][p] = spread_double(0);
        lanes->squares[0][p] = lanes->squares[1][p] = spread_double(0);
        lanes->low[p] = spread(__builtin_inff());
        lanes->high[p] = spread(-__builtin_inff());
    }
}

/* The same block three times, filled up with what adds nothing, with what cannot be
 * lower, and with what cannot be higher. */
struct total_block {
    const float *zeros, *highest, *lowest;
};

struct total_tail {
    float zeros[LANES], highest[LANES], lowest[LANES];
};

INLINE struct total_block total_tail(struct total_tail *tail, const float *x,
                                     size_t count)
{
    load_tail(tail->zeros, x, count, 0);
    load_tail(tail->highest, x, count, __builtin_inff());
    load_tail(tail->lowest, x, count, -__builtin_inff());
    return (struct total_block){tail->zeros, tail->highest, tail->lowest};
}

INLINE void total_wide(struct total_lanes *lanes, doubles x, int half, int part)
{
    lanes->sum[half][part] = add_of_product(x, lanes->sum[half][part]);
    lanes->squares[half][part] += x * x;
}

INLINE doubles wide_of(struct total_block x, int half, int part)
{
    return load_wide(x.zeros + half * DOUBLE_LANES + part * PART_DOUBLES);
}

INLINE void total_narrow(struct total_lanes *lanes, struct total_block x, int part)
{
    const size_t at = (size_t)part * PART_FLOATS;

    lanes->low[part] = lower_of(load(x.highest + at), lanes->low[part]);
    lanes->high[part] = higher_of(load(x.lowest + at), lanes->high[part]);
}

INLINE bool total_end(struct txd_totals *out, struct total_lanes *lanes)
{
    out->sum = sum_of_halves(lanes->sum);
    out->squares = sum_of_halves(lanes->squares);
    out->low = least_of(lanes->low);
    out->high = largest_of(lanes->high);
    return is_finite(out->sum);
}

INLINE void total_add(struct total_lanes *lanes, struct total_block x)
{
    EACH_HALF (half)
        EACH_PART (p)
            total_wide(lanes, wide_of(x, half, p), half, p);
    EACH_PART (p)
        total_narrow(lanes, x, p);
}

static inline bool totals_row(struct txd_totals *out, const float *x, size_t count)
{
    struct total_lanes lanes;
    struct total_tail tail;

    total_begin(&lanes);
    for (; count >= LANES; count -= LANES, x += LANES)
        total_add(&lanes, (struct total_block){x, x, x});
    if (count > 0)
        total_add(&lanes, total_tail(&tail, x, count));
    return total_end(out, &lanes);
}

/* Of weights, too: in each lane the sum of what its sum was after each block, and where
 * the largest was. */
struct weight_lanes {
    struct total_lanes total;
    doubles sums[2][PARTS];
    ints at[PARTS], now[PARTS];
};

INLINE void weight_begin(struct weight_lanes *lanes)
{
    static const int32_t now[LANES] = {0, 1, 2,  3,  4,  5,  6,  7,
                                       8, 9, 10, 11, 12, 13, 14, 15};

    total_begin(&lanes->total);
    EACH_PART (p) {
        lanes->sums[0][p] = lanes->sums[1][p] = spread_double(0);
        lanes->at[p] = spread_int(-1);
        lanes->now[p] = load_ints(now + p * PART_FLOATS);
    }
}

INLINE void weight_add(struct weight_lanes *lanes, struct total_block x)
{
    EACH_HALF (half)
        EACH_PART (p) {
            total_wide(&lanes->total, wide_of(x, half, p), half, p);
            lanes->sums[half][p] += lanes->total.sum[half][p];
        }
    EACH_PART (p) {
        ints higher = load(x.lowest + p * PART_FLOATS) > lanes->total.high[p];

        lanes->at[p] = choose_int(higher, lanes->now[p], lanes->at[p]);
        lanes->now[p] += LANES;
        total_narrow(&lanes->total, x, p);
    }
}

/* first - place of the lanes of the block that begins there. */
INLINE doubles away_of(double first, int half, int part)
{
    static const double place[DOUBLE_LANES] = {0, 1, 2, 3, 4, 5, 6, 7};

    return first - half * DOUBLE_LANES - load_doubles(place + part * PART_DOUBLES);
}

/* Of n blocks, that of place i is n - i times in the sum of sums. */
INLINE double distance_of(const struct weight_lanes *lanes, double first, double blocks)
{
    doubles distance[2][PARTS];

    EACH_HALF (half)
        EACH_PART (p)
            distance[half][p] =
                lanes->total.sum[half][p] * away_of(first - LANES * blocks, half, p) +
                lanes->sums[half][p] * LANES;
    return sum_of_halves(distance);
}

/* Whether so little is left of that that it is not known to 2^-26 of itself: each of
 * the sums is off by up to 2^-53 of it per block. */
INLINE bool distance_cancels(const struct txd_weight_sums *out, double first,
                             double blocks)
{
    double size = out->total.sum * (fabs(first) + 2 * LANES * (blocks + 1));

    return out->total.low < 0 || !(fabs(out->distance) >= 0x3p-27 * blocks * size);
}

/* Term by term. */
static inline double distance_row(const float *x, size_t count, double first)
{
    doubles distance[2][PARTS] = {{{0}}};
    float tail[LANES];

    for (size_t i = 0; i < count; i += LANES) {
        const float *at = x + i;

        if (count - i < LANES) {
            load_tail(tail, at, count - i, 0);
            at = tail;
        }
        EACH_HALF (half)
            EACH_PART (p)
                distance[half][p] +=
                    load_wide(at + half * DOUBLE_LANES + p * PART_DOUBLES) *
                    away_of(first - (double)i, half, p);
    }
    return sum_of_halves(distance);
}

/* The first place of the largest weight of x, which of equal zeros has its sign. */
INLINE void peak_of(struct txd_weight_sums *out, const struct weight_lanes *lanes,
                    const float *x)
{
    const floats peak = spread(out->total.high);
    ints at[PARTS];

    EACH_PART (p)
        at[p] = choose_int(lanes->total.high[p] == peak, lanes->at[p],
                           spread_int(INT32_MAX));
    out->peak_at = least_int_of(at);
    out->peak = out->peak_at < 0 ? -__builtin_inff() : x[out->peak_at];
}

static inline bool weights_row(struct txd_weight_sums *out, const float *x,
                               size_t count, double first)
{
    const size_t whole = count / LANES * LANES;
    const double blocks = (double)((count + LANES - 1) / LANES);
    struct weight_lanes lanes;
    struct total_tail tail;
    bool finite;

    weight_begin(&lanes);
    for (const float *at = x; at < x + whole; at += LANES)
        weight_add(&lanes, (struct total_block){at, at, at});
    if (whole < count)
        weight_add(&lanes, total_tail(&tail, x + whole, count - whole));
    out->distance = distance_of(&lanes, first, blocks);
    finite = total_end(&out->total, &lanes.total);
    if (distance_cancels(out, first, blocks))
        out->distance = distance_row(x, count, first);
    peak_of(out, &lanes, x);
    return finite;
}

#endif
