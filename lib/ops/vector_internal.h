/* SPDX-License-Identifier: MIT
 *
 * Vectors of the instruction set that is being compiled for, by the extensions of GCC
 * and clang: operators work lane by lane, comparisons give lanes of 0 or -1. Blocks of
 * 16 floats (8 doubles) are PARTS such vectors on every set, so that sums over blocks
 * do not depend on the set.
 */
#ifndef TXD_OPS_VECTOR_INTERNAL_H
#define TXD_OPS_VECTOR_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

/* Set before the first inclusion, together with the target. */
#ifndef TXD_VECTOR_BYTES
#define TXD_VECTOR_BYTES 16
#endif

#define LANES 16       /* floats in a block */
#define DOUBLE_LANES 8 /* doubles in a block: float i of a row goes to lane i % 8 */
#define PARTS (64 / TXD_VECTOR_BYTES) /* vectors in a block */
#define PART_FLOATS (TXD_VECTOR_BYTES / 4)
#define PART_DOUBLES (TXD_VECTOR_BYTES / 8)

typedef float floats __attribute__((vector_size(TXD_VECTOR_BYTES)));
typedef int32_t ints __attribute__((vector_size(TXD_VECTOR_BYTES)));
typedef double doubles __attribute__((vector_size(TXD_VECTOR_BYTES)));
typedef int64_t longs __attribute__((vector_size(TXD_VECTOR_BYTES)));
typedef uint64_t words __attribute__((vector_size(TXD_VECTOR_BYTES)));

#define INLINE static inline __attribute__((always_inline))

/* Loops over the parts of a block must vanish, or blocks would live in memory. */
#if defined(__clang__)
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 8")
#endif
#define EACH_PART(p) UNROLL for (int p = 0; p < PARTS; p++)
#define EACH_HALF(h) UNROLL for (int h = 0; h < 2; h++)

/* One value in every lane; - 0 is what leaves -0 as it is. */
INLINE floats spread(float value)
{
    return value - (floats){0};
}

INLINE ints spread_int(int32_t value)
{
    return value - (ints){0};
}

INLINE doubles spread_double(double value)
{
    return value - (doubles){0};
}

/* A vector from anywhere, whole. */
INLINE floats load(const float *at)
{
    floats x;

    memcpy(&x, at, sizeof x);
    return x;
}

INLINE void store(float *at, floats x)
{
    memcpy(at, &x, sizeof x);
}

INLINE doubles load_doubles(const double *at)
{
    doubles x;

    memcpy(&x, at, sizeof x);
    return x;
}

INLINE void store_doubles(double *at, doubles x)
{
    memcpy(at, &x, sizeof x);
}

INLINE ints load_ints(const int32_t *at)
{
    ints x;

    memcpy(&x, at, sizeof x);
    return x;
}

/* x + y by the units that multiply, where others have more to do: x * 1 is exact, and
 * so these are the bits of the sum. */
INLINE doubles add_of_product(doubles x, doubles y)
{
#if TXD_VECTOR_BYTES == 64
    return (doubles)_mm512_fmadd_pd((__m512d)x, _mm512_set1_pd(1), (__m512d)y);
#else
    return x + y;
#endif
}

/* z - x * y where the product is exact: the bits of two operations, by one. */
INLINE floats less_product(floats z, floats x, floats y)
{
#if TXD_VECTOR_BYTES == 64
    return (floats)_mm512_fnmadd_ps((__m512)x, (__m512)y, (__m512)z);
#else
    return z - x * y;
#endif
}

/* PART_DOUBLES floats, made doubles. On x86 an instruction, which GCC does not find. */
INLINE doubles load_wide(const float *at)
{
#if TXD_VECTOR_BYTES == 64
    return (doubles)_mm512_cvtps_pd(_mm256_loadu_ps(at));
#elif TXD_VECTOR_BYTES == 32
    return (doubles)_mm256_cvtps_pd(_mm_loadu_ps(at));
#elif defined(__SSE2__)
    return (doubles)_mm_cvtps_pd(_mm_castsi128_ps(_mm_loadl_epi64((const void *)at)));
#else
    typedef float half __attribute__((vector_size(TXD_VECTOR_BYTES / 2)));
    half x;

    memcpy(&x, at, sizeof x);
    return __builtin_convertvector(x, doubles);
#endif
}

/* PART_FLOATS bytes, made integers; likewise. */
INLINE ints load_bytes(const uint8_t *at)
{
#if TXD_VECTOR_BYTES == 64
    return (ints)_mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)at));
#elif TXD_VECTOR_BYTES == 32
    return (ints)_mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)at));
#else
    typedef uint8_t bytes __attribute__((vector_size(PART_FLOATS)));
    bytes x;

    memcpy(&x, at, sizeof x);
    return __builtin_convertvector(x, ints);
#endif
}

/* Lane by lane: yes where the condition is -1, no where it is 0. */
INLINE floats choose(ints condition, floats yes, floats no)
{
    return (floats)((condition & (ints)yes) | (~condition & (ints)no));
}

INLINE ints choose_int(ints condition, ints yes, ints no)
{
    return (condition & yes) | (~condition & no);
}

INLINE doubles choose_double(longs condition, doubles yes, doubles no)
{
    return (doubles)((condition & (longs)yes) | (~condition & (longs)no));
}

/* x > y ? x : y, and x < y ? x : y: y if either is NaN. On x86 an instruction. */
#if TXD_VECTOR_BYTES == 64
#define X86_CHOICE(name) _mm512_##name##_ps
#elif TXD_VECTOR_BYTES == 32
#define X86_CHOICE(name) _mm256_##name##_ps
#elif defined(__SSE2__)
#define X86_CHOICE(name) _mm_##name##_ps
#endif

INLINE floats higher_of(floats x, floats y)
{
#ifdef X86_CHOICE
    return (floats)X86_CHOICE(max)(x, y);
#else
    return choose(x > y, x, y);
#endif
}

INLINE floats lower_of(floats x, floats y)
{
#ifdef X86_CHOICE
    return (floats)X86_CHOICE(min)(x, y);
#else
    return choose(x < y, x, y);
#endif
}

INLINE ints bits_of(floats x)
{
    return (ints)x;
}

/* The last, partial block of a row, filled up. */
INLINE void load_tail(float tail[LANES], const float *at, size_t count, float filling)
{
#if TXD_VECTOR_BYTES == 64
    const __mmask16 some = (__mmask16)((1U << count) - 1);

    store(tail, (floats)_mm512_mask_loadu_ps((__m512)spread(filling), some, at));
#elif TXD_VECTOR_BYTES == 32
    static const int32_t place[LANES] = {0, 1, 2,  3,  4,  5,  6,  7,
                                         8, 9, 10, 11, 12, 13, 14, 15};

    EACH_PART (p) {
        ints some = load_ints(place + p * PART_FLOATS) < (int32_t)count;
        floats x = (floats)_mm256_maskload_ps(at + p * PART_FLOATS, (__m256i)some);

        store(tail + p * PART_FLOATS, choose(some, x, spread(filling)));
    }
#else
    for (size_t i = 0; i < LANES; i++)
        tail[i] = filling;
    memcpy(tail, at, count * sizeof *at);
#endif
}

/* The first lanes of such a block. */
INLINE void store_tail(float *at, const float tail[LANES], size_t count)
{
#if TXD_VECTOR_BYTES == 64
    const __mmask16 some = (__mmask16)((1U << count) - 1);

    _mm512_mask_storeu_ps(at, some, (__m512)load(tail));
#else
    memcpy(at, tail, count * sizeof *at);
#endif
}

/* ---- what a block comes to: lane i with lane i + 8, then + 4, + 2, + 1 ---- */

typedef float quad __attribute__((vector_size(16)));
typedef int32_t quad_ints __attribute__((vector_size(16)));
typedef double double_pair __attribute__((vector_size(16)));
typedef int64_t long_pair __attribute__((vector_size(16)));

/* The quarters of a block. */
INLINE void quads_of(quad q[4], const floats block[PARTS])
{
#if TXD_VECTOR_BYTES == 64
    q[0] = (quad)_mm512_castps512_ps128((__m512)block[0]);
    q[1] = (quad)_mm512_extractf32x4_ps((__m512)block[0], 1);
    q[2] = (quad)_mm512_extractf32x4_ps((__m512)block[0], 2);
    q[3] = (quad)_mm512_extractf32x4_ps((__m512)block[0], 3);
#elif TXD_VECTOR_BYTES == 32
    EACH_PART (p) {
        q[2 * p] = (quad)_mm256_castps256_ps128((__m256)block[p]);
        q[2 * p + 1] = (quad)_mm256_extractf128_ps((__m256)block[p], 1);
    }
#else
    memcpy(q, block, 4 * sizeof *q);
#endif
}

INLINE float sum_of(const floats block[PARTS])
{
    quad q[4];

    quads_of(q, block);
    q[0] = (q[0] + q[2]) + (q[1] + q[3]);
    return (q[0][0] + q[0][2]) + (q[0][1] + q[0][3]);
}

INLINE double sum_of_doubles(const doubles block[PARTS])
{
    floats same[PARTS];
    quad q[4];
    double_pair sum;

    EACH_PART (p)
        same[p] = (floats)block[p];
    quads_of(q, same);
    sum = ((double_pair)q[0] + (double_pair)q[2]) +
          ((double_pair)q[1] + (double_pair)q[3]);
    return sum[0] + sum[1];
}

INLINE quad choose_quad(quad_ints condition, quad yes, quad no)
{
    return (quad)((condition & (quad_ints)yes) | (~condition & (quad_ints)no));
}

INLINE int32_t lower_int(int32_t x, int32_t y)
{
    return x < y ? x : y;
}

INLINE int32_t least_int_of(const ints block[PARTS])
{
    floats same[PARTS];
    quad q[4];

    EACH_PART (p)
        same[p] = (floats)block[p];
    quads_of(q, same);
    q[0] = choose_quad((quad_ints)q[2] < (quad_ints)q[0], q[2], q[0]);
    q[1] = choose_quad((quad_ints)q[3] < (quad_ints)q[1], q[3], q[1]);
    q[0] = choose_quad((quad_ints)q[1] < (quad_ints)q[0], q[1], q[0]);
    return lower_int(lower_int(((quad_ints)q[0])[3], ((quad_ints)q[0])[1]),
                     lower_int(((quad_ints)q[0])[2], ((quad_ints)q[0])[0]));
}

INLINE float higher(float x, float y)
{
    return x > y ? x : y;
}

INLINE float lower(float x, float y)
{
    return x < y ? x : y;
}

/* The largest lane, the least one; there must be no NaN. */
INLINE float largest_of(const floats block[PARTS])
{
    quad q[4];

    quads_of(q, block);
    q[0] = choose_quad(q[2] > q[0], q[2], q[0]);
    q[1] = choose_quad(q[3] > q[1], q[3], q[1]);
    q[0] = choose_quad(q[1] > q[0], q[1], q[0]);
    return higher(higher(q[0][3], q[0][1]), higher(q[0][2], q[0][0]));
}

INLINE float least_of(const floats block[PARTS])
{
    quad q[4];

    quads_of(q, block);
    q[0] = choose_quad(q[2] < q[0], q[2], q[0]);
    q[1] = choose_quad(q[3] < q[1], q[3], q[1]);
    q[0] = choose_quad(q[1] < q[0], q[1], q[0]);
    return lower(lower(q[0][3], q[0][1]), lower(q[0][2], q[0][0]));
}

/* Whether any lane has a bit set. */
INLINE bool any_of(const ints block[PARTS])
{
    floats same[PARTS];
    quad q[4];
    long_pair some;

    EACH_PART (p)
        same[p] = (floats)block[p];
    quads_of(q, same);
    some = ((long_pair)q[0] | (long_pair)q[1]) | ((long_pair)q[2] | (long_pair)q[3]);
    return (some[0] | some[1]) != 0;
}

#endif
