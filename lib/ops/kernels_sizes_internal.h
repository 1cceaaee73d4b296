/* SPDX-License-Identifier: MIT
 *
 * How large the elements of a row are: their squares, the largest, those that are 0.
 */
#ifndef TXD_OPS_KERNELS_SIZES_INTERNAL_H
#define TXD_OPS_KERNELS_SIZES_INTERNAL_H

#include "ops/kernels.h"
#include "ops/vector_internal.h"

struct size_lanes {
    doubles squares[2][PARTS];
    floats largest[PARTS];
    ints zeros[PARTS];
};

INLINE void size_block(struct size_lanes *lanes, const float *x)
{
    EACH_HALF (half)
        EACH_PART (p) {
            doubles value = load_wide(x + half * DOUBLE_LANES + p * PART_DOUBLES);

            lanes->squares[half][p] += value * value;
        }
    EACH_PART (p) {
        floats value = load(x + p * PART_FLOATS);
        floats size = (floats)(bits_of(value) & 0x7fffffff);

        lanes->largest[p] = higher_of(size, lanes->largest[p]);
        lanes->zeros[p] -= value == 0;
    }
}

static inline bool sizes_row(struct txd_sizes *out, const float *x, size_t count)
{
    struct size_lanes lanes = {{{{0}}}, {{0}}, {{0}}};
    const size_t rest = count % LANES;
    int32_t zeros[LANES];
    float tail[LANES];

    for (size_t i = 0; i + LANES <= count; i += LANES)
        size_block(&lanes, x + i);
    if (rest > 0) {
        load_tail(tail, x + (count - rest), rest, 0);
        size_block(&lanes, tail);
    }
    EACH_PART (p)
        lanes.squares[0][p] += lanes.squares[1][p];
    out->squares = sum_of_doubles(lanes.squares[0]);
    out->largest = largest_of(lanes.largest);
    memcpy(zeros, lanes.zeros, sizeof zeros);
    out->zeros = rest > 0 ? rest - LANES : 0; /* what filled it up */
    for (size_t i = 0; i < LANES; i++)
        out->zeros += (size_t)zeros[i];
    return out->squares - out->squares == 0;
}

#endif
