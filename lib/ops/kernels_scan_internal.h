/* SPDX-License-Identifier: MIT
 *
 * Questions about all elements of a row, by integer compare, and the sum of a row of
 * weights: they cost what reading costs, and no exception.
 */
#ifndef TXD_OPS_KERNELS_SCAN_INTERNAL_H
#define TXD_OPS_KERNELS_SCAN_INTERNAL_H

#include "ops/kernels.h"
#include "ops/vector_internal.h"

/* Elements after which a scan asks whether it has its answer. */
#define SCAN_STRIDE 512

/* -1 in lanes that are NaN or infinite. */
INLINE ints nonfinite_lanes(floats x)
{
    return (bits_of(x) & 0x7fffffff) > 0x7f7fffff;
}

/* Bits of lanes that are not 0, sign apart. */
INLINE ints nonzero_bits(floats x)
{
    return bits_of(x) & 0x7fffffff;
}

/* Whether `found` gives bits in any lane; a row is filled up with zeros. */
INLINE bool scan(const float *x, size_t count, ints (*found)(floats x))
{
    ints some[PARTS] = {{0}};
    float tail[LANES];

    while (count >= LANES) {
        size_t blocks = (count < SCAN_STRIDE ? count : SCAN_STRIDE) / LANES;

        count -= blocks * LANES;
        for (; blocks > 0; blocks--, x += LANES)
            EACH_PART (p)
                some[p] |= found(load(x + p * PART_FLOATS));
        if (any_of(some))
            return true;
    }
    if (count == 0)
        return false;
    load_tail(tail, x, count, 0);
    EACH_PART (p)
        some[p] |= found(load(tail + p * PART_FLOATS));
    return any_of(some);
}

static inline bool finite_row(const float *x, size_t count)
{
    return !scan(x, count, nonfinite_lanes);
}

static inline bool zero_row(const float *x, size_t count)
{
    return !scan(x, count, nonzero_bits);
}

/* ---- a row of weights ---- */

/* In double, element i of a run in lane i % 16: two chains, so that an addition does
 * not wait for the one before it. */
struct sum_lanes {
    doubles low[PARTS], high[PARTS];
};

INLINE void sum_block(struct sum_lanes *lanes, const float *x)
{
    EACH_PART (p) {
        lanes->low[p] += load_wide(x + p * PART_DOUBLES);
        lanes->high[p] += load_wide(x + DOUBLE_LANES + p * PART_DOUBLES);
    }
}

INLINE double sum_run(const float *x, size_t count)
{
    struct sum_lanes lanes;
    float tail[LANES];

    EACH_PART (p)
        lanes.low[p] = lanes.high[p] = spread_double(0);
    for (; count >= LANES; count -= LANES, x += LANES)
        sum_block(&lanes, x);
    if (count > 0) {
        load_tail(tail, x, count, 0);
        sum_block(&lanes, tail);
    }
    EACH_PART (p)
        lanes.low[p] += lanes.high[p];
    return sum_of_doubles(lanes.low);
}

/* Bits of the largest |x|: those of an infinity are above all numbers', those of a NaN
 * above these. */
INLINE int32_t most_bits(const float *x, size_t count)
{
    ints most[PARTS] = {{0}};
    float tail[LANES];
    int32_t lane[LANES];

    for (; count >= LANES; count -= LANES, x += LANES)
        EACH_PART (p) {
            ints bits = nonzero_bits(load(x + p * PART_FLOATS));

            most[p] = choose_int(bits > most[p], bits, most[p]);
        }
    load_tail(tail, x, count, 0);
    EACH_PART (p) {
        ints bits = nonzero_bits(load(tail + p * PART_FLOATS));

        most[p] = choose_int(bits > most[p], bits, most[p]);
    }
    memcpy(lane, most, sizeof lane);
    for (int i = 1; i < LANES; i++)
        lane[0] = lane[i] > lane[0] ? lane[i] : lane[0];
    return lane[0];
}

/* A run of hidden cells: they are 0 as a rule. */
INLINE void scan_hidden(struct txd_row_scan *out, int32_t *most, const float *x,
                        size_t count)
{
    int32_t bits;

    if (zero_row(x, count))
        return;
    bits = most_bits(x, count);
    *most = bits > *most ? bits : *most;
    out->sum += sum_run(x, count);
}

static inline void scan_row(struct txd_row_scan *out, const float *x, size_t count,
                            size_t begin, size_t end)
{
    int32_t most = 0;

    out->sum = sum_run(x + begin, end - begin);
    scan_hidden(out, &most, x, begin);
    scan_hidden(out, &most, x + end, count - end);
    memcpy(&out->hidden, &most, sizeof most);
    /* No sum of finite floats leaves the range of doubles. */
    out->finite = out->sum - out->sum == 0;
}

#endif
