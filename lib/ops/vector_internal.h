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
    for (size_t i = 0; i < LANES; i++)
        tail[i] = filling;
    memcpy(tail, at, count * sizeof *at);
}

/* ---- what a block comes to ---- */

INLINE float sum_of(const floats block[PARTS])
{
    float lane[LANES];

    memcpy(lane, block, sizeof lane);
    for (size_t width = LANES / 2; width > 0; width /= 2)
        for (size_t i = 0; i < width; i++)
            lane[i] += lane[i + width];
    return lane[0];
}

INLINE double sum_of_doubles(const doubles block[PARTS])
{
    double lane[DOUBLE_LANES];

    memcpy(lane, block, sizeof lane);
    for (size_t width = DOUBLE_LANES / 2; width > 0; width /= 2)
        for (size_t i = 0; i < width; i++)
            lane[i] += lane[i + width];
    return lane[0];
}

/* The largest lane, the least one; there must be no NaN. */
INLINE float largest_of(const floats block[PARTS])
{
    float lane[LANES];

    memcpy(lane, block, sizeof lane);
    for (size_t width = LANES / 2; width > 0; width /= 2)
        for (size_t i = 0; i < width; i++)
            lane[i] = lane[i + width] > lane[i] ? lane[i + width] : lane[i];
    return lane[0];
}

INLINE float least_of(const floats block[PARTS])
{
    float lane[LANES];

    memcpy(lane, block, sizeof lane);
    for (size_t width = LANES / 2; width > 0; width /= 2)
        for (size_t i = 0; i < width; i++)
            lane[i] = lane[i + width] < lane[i] ? lane[i + width] : lane[i];
    return lane[0];
}

/* Whether any lane has a bit set. */
INLINE bool any_of(const ints block[PARTS])
{
    ints together = {0};
    int64_t word[TXD_VECTOR_BYTES / 8], some = 0;

    EACH_PART (p)
        together |= block[p];
    memcpy(word, &together, sizeof word);
    for (size_t i = 0; i < TXD_VECTOR_BYTES / 8; i++)
        some |= word[i];
    return some != 0;
}

#endif
