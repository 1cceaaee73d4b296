/* SPDX-License-Identifier: MIT
 *
 * Sums of w log w: w = 2^e m with m near 1, and log m = f - h + s (h + s^2 ...), f = m
 * - 1, h = f^2 / 2, s = f / (2 + f), of which |s| < 0.172. What is large, w e and w f,
 * is exact in double; the rest of a term is float32, off by less than 2^-25 of the
 * term: where no term is positive that is less than a rounding of the sum to the
 * float32 in which it is kept. Other rows, and those of next to no
 * entropy, are formed in double.
 */
#ifndef TXD_OPS_KERNELS_ENTROPY_INTERNAL_H
#define TXD_OPS_KERNELS_ENTROPY_INTERNAL_H

#include "ops/vector_internal.h"

/* Blocks whose small parts are added up before they become double. */
#define ENTROPY_BLOCKS 4
/* Above all that weights below the normal numbers come to, in any row. */
#define TINY_ENTROPY 1e-20

struct entropy_sums {
    doubles halvings[PARTS], first[PARTS]; /* of w e, of w (m - 1) */
};

/* A float32 for each lane of w: e, m - 1, and the part of w log m beyond w (m - 1). A
 * weight of 0 makes all products 0. Adding to the bits carries into the exponent from
 * sqrt(2) on: so m is in [1/sqrt(2), sqrt(2)). The exponent becomes a number in the
 * last bits of 2^23. */
INLINE floats entropy_parts(floats *e, floats *f, floats w)
{
    const uint32_t root = 0x3f3504f3, above = 0x3f800000 - root;
    const float unit = 0x1p23F;
    half_words carried = (half_words)w + above;
    floats m = (floats)((carried & 0x7fffff) + root), s, t, half, rest;

    *e = (floats)((carried >> 23) | 0x4b000000) - (unit + 127);
    *f = m - 1;
    s = *f / (*f + 2);
    t = s * s;
    half = *f * *f * 0.5F;
    rest = ((0x1.31e2f4p-2F * t + 0x1.995ebap-2F) * t + 0x1.55557ap-1F) * t;
    return w * (s * (half + rest) - half);
}

/* w log w in double, where no float32 is subnormal; else 0. 5 terms in s^2, 2^-37. */
INLINE doubles entropy_terms_wide(doubles w)
{
    const uint64_t one = 0x3ff0000000000000, above = 0x00095f619980c433;
    const double unit = 0x1p52;
    words exponent = ((words)w + above) >> 52;
    doubles m = (doubles)((words)w - (exponent << 52) + one);
    doubles s = (m - 1) / (m + 1), t = s * s, e, sum;

    e = (doubles)(exponent + 0x4330000000000000) - (unit + 1023);
    sum = 0x1.e3af8a3d0bab1p-3 * t + 0x1.2432c0e4bd12dp-2;
    sum = sum * t + 0x1.999a9c8d6bb95p-2;
    sum = sum * t + 0x1.555554dad28c4p-1;
    sum = sum * t + 0x1.0000000004a19p+1;
    e = w * (e * 0x1.62e42fefa39efp-1 + s * sum);
    return (doubles)((longs)e & (w > 0));
}

/* To a sum products of floats, which are exact in double. */
INLINE void add_products(doubles sum[PARTS], const float *x, const float *y)
{
    EACH_HALF (half)
        EACH_PART (p) {
            size_t at = (size_t)(half * DOUBLE_LANES + p * PART_DOUBLES);

            sum[p] = add_exact_product(load_wide(x + at), load_wide(y + at), sum[p]);
        }
}

INLINE void entropy_block(struct entropy_sums *sums, floats small[PARTS],
                          ints odd[PARTS], const float *x)
{
    float e[LANES], f[LANES];

    EACH_PART (p) {
        floats w = load(x + p * PART_FLOATS), two[2];

        odd[p] |= (ints)(0x3f800000 - (half_words)w) | bits_of(w);
        small[p] += entropy_parts(&two[0], &two[1], w);
        store(e + p * PART_FLOATS, two[0]);
        store(f + p * PART_FLOATS, two[1]);
    }
    add_products(sums->halvings, x, e);
    add_products(sums->first, x, f);
}

INLINE void add_wide(doubles sum[PARTS], const floats block[PARTS])
{
    float lane[LANES];

    EACH_PART (p)
        store(lane + p * PART_FLOATS, block[p]);
    EACH_HALF (half)
        EACH_PART (p)
            sum[p] += load_wide(lane + half * DOUBLE_LANES + p * PART_DOUBLES);
}

INLINE void entropy_block_wide(doubles sum[PARTS], const float *x)
{
    for (int half = 0; half < LANES; half += DOUBLE_LANES)
        EACH_PART (p)
            sum[p] += entropy_terms_wide(load_wide(x + half + p * PART_DOUBLES));
}

static double entropy_row_wide(const float *x, size_t count)
{
    doubles sum[PARTS] = {{0}};
    float tail[LANES];

    for (; count >= LANES; count -= LANES, x += LANES)
        entropy_block_wide(sum, x);
    load_tail(tail, x, count, 0);
    entropy_block_wide(sum, tail);
    return 0 - sum_of_doubles(sum);
}

/* Whether no weight is negative or above 1, so that no terms cancel. */
INLINE bool are_shares(const ints odd[PARTS])
{
    ints sign[PARTS];

    EACH_PART (p)
        sign[p] = odd[p] < 0;
    return !any_of(sign);
}

static inline double entropy_row(const float *x, size_t count)
{
    const float *at = x;
    size_t left = count;
    ints odd[PARTS] = {{0}};
    struct entropy_sums sums = {{{0}}, {{0}}};
    doubles rest[PARTS] = {{0}};
    float tail[LANES];
    double all;

    while (left > 0) {
        floats small[PARTS] = {{0}};
        int block = 0;

        for (; block < ENTROPY_BLOCKS && left >= LANES; block++, left -= LANES) {
            entropy_block(&sums, small, odd, at);
            at += LANES;
        }
        if (block < ENTROPY_BLOCKS && left > 0) {
            load_tail(tail, at, left, 0);
            entropy_block(&sums, small, odd, tail);
            left = 0;
        }
        add_wide(rest, small);
    }
    EACH_PART (p)
        rest[p] += sums.halvings[p] * 0x1.62e42fefa39efp-1 + sums.first[p];
    all = 0 - sum_of_doubles(rest);
    /* So little may be that of weights below the normal numbers alone, to whose terms
     * the exponent is none; beside others these are nothing. */
    if (!are_shares(odd) || (all != 0 && all < TINY_ENTROPY))
        return entropy_row_wide(x, count);
    return all;
}

#endif
