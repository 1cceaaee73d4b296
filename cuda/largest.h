/* SPDX-License-Identifier: MIT
 *
 * The largest of many sizes and the column where it is: the first of equal ones, as
 * `raise` of ops/ref_softmax.c finds it, whatever thread has which column.
 */
#ifndef TXD_CUDA_LARGEST_H
#define TXD_CUDA_LARGEST_H

#include <cuda_runtime.h>

#include "cuda/reduce.h"

#define TXD_NO_COLUMN 0xffffffffu

struct txd_largest {
    float size;
    unsigned column; /* or TXD_NO_COLUMN */
};

/* Of equal sizes the first stays; NaN beats every number. */
static __device__ inline void txd_raise(txd_largest *l, float size, unsigned column)
{
    if (size > l->size || (isnan(size) && !isnan(l->size))) {
        l->size = size;
        l->column = column;
    }
}

/* Both as one number, of which the largest is that of the block: a larger size makes a
 * larger number, a smaller column among equal ones, too. 0: none. */
typedef unsigned long long txd_rank;

#define TXD_NAN_RANK 0xffffffffu

static __device__ inline txd_rank txd_rank_of(const txd_largest &l)
{
    unsigned bits = __float_as_uint(l.size + 0.0f); /* -0 is 0 */

    if (l.column == TXD_NO_COLUMN)
        return 0;
    bits = (bits & 0x80000000u) != 0 ? ~bits : bits | 0x80000000u;
    if (isnan(l.size))
        bits = TXD_NAN_RANK;
    return (txd_rank)bits << 32 | (TXD_NO_COLUMN - l.column);
}

/* none: the size where there is none. */
static __device__ inline txd_largest txd_of_rank(txd_rank rank, float none)
{
    unsigned bits = (unsigned)(rank >> 32);
    txd_largest l = {none, TXD_NO_COLUMN};

    if (rank == 0)
        return l;
    l.column = TXD_NO_COLUMN - (unsigned)rank;
    bits = (bits & 0x80000000u) != 0 ? bits & 0x7fffffffu : ~bits;
    l.size = __uint_as_float(bits); /* that of TXD_NAN_RANK is a NaN */
    return l;
}

/* The block's, told to every thread. */
static __device__ inline void txd_block_largest(txd_largest *l, float none)
{
    *l = txd_of_rank(txd_block_max(txd_rank_of(*l)), none);
}

#endif
