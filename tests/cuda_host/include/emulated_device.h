/* SPDX-License-Identifier: MIT
 *
 * What a kernel may use beside C++: its place, barriers, shuffles, votes, atomics, and
 * CUDA's own arithmetic. Included by emulated.h.
 */
#ifndef TXD_EMULATED_DEVICE_H
#define TXD_EMULATED_DEVICE_H

#include <stdint.h>

#ifdef __cplusplus

#include <math.h>
#include <string.h>

#include "emulated_types.h"

#define __global__
#define __device__
#define __host__
#define __grid_constant__
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)
#define __align__(bytes) __attribute__((aligned(bytes)))
/* One per thread of the host: blocks run one after another on it. Unlike dynamic shared
 * memory it is not filled anew for each block. */
#define __shared__ static thread_local

/* Not of the model initial-exec: a module that is loaded has no room for it. */
#define EMULATED_LOCAL extern __thread

EMULATED_LOCAL uint3 threadIdx, blockIdx;
EMULATED_LOCAL dim3 blockDim, gridDim;
EMULATED_LOCAL void *emulated_shared_memory;
static const int warpSize = 32;

/* Where a thread waits, for messages. */
#define EMULATED_PLACE const char *file = __builtin_FILE(), int line = __builtin_LINE()

enum emulated_wait {
    EMULATED_BARRIER,
    EMULATED_SYNCWARP,
    EMULATED_SHUFFLE,
    EMULATED_BALLOT,
    EMULATED_WAITS
};

/* A barrier of the block. */
void emulated_barrier(const char *file, int line);

/* Waits for the lanes of `mask`, and returns what lane `source` gave as `value`
 * (EMULATED_SHUFFLE), or the lanes that gave other than 0 (EMULATED_BALLOT). */
uint64_t emulated_exchange(emulated_wait wait, unsigned mask, uint64_t value,
                           unsigned source, const char *file, int line);

/* The lane of the calling thread in its warp. */
unsigned emulated_lane(void);

inline void __syncthreads(EMULATED_PLACE)
{
    emulated_barrier(file, line);
}

inline void __syncwarp(unsigned mask = 0xffffffffu, EMULATED_PLACE)
{
    (void)emulated_exchange(EMULATED_SYNCWARP, mask, 0, 0, file, line);
}

inline unsigned __activemask()
{
    return 1u << emulated_lane();
}

inline unsigned __ballot_sync(unsigned mask, int predicate, EMULATED_PLACE)
{
    return static_cast<unsigned>(
        emulated_exchange(EMULATED_BALLOT, mask, predicate != 0, 0, file, line));
}

inline int __any_sync(unsigned mask, int predicate, EMULATED_PLACE)
{
    return __ballot_sync(mask, predicate, file, line) != 0;
}

inline int __all_sync(unsigned mask, int predicate, EMULATED_PLACE)
{
    return __ballot_sync(mask, predicate, file, line) == mask;
}

template <class T>
T emulated_shuffle(unsigned mask, T value, unsigned source, const char *file, int line)
{
    static_assert(sizeof(T) == 4 || sizeof(T) == 8, "shuffles are of 4 or 8 bytes");
    uint64_t bits = 0;

    memcpy(&bits, &value, sizeof value);
    bits = emulated_exchange(EMULATED_SHUFFLE, mask, bits, source, file, line);
    memcpy(&value, &bits, sizeof value);
    return value;
}

template <class T>
T __shfl_sync(unsigned mask, T value, int source, int width = 32, EMULATED_PLACE)
{
    unsigned part = static_cast<unsigned>(width) - 1, lane = emulated_lane();

    return emulated_shuffle(mask, value,
                            (lane & ~part) | (static_cast<unsigned>(source) & part),
                            file, line);
}

template <class T>
T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32, EMULATED_PLACE)
{
    unsigned part = static_cast<unsigned>(width) - 1, lane = emulated_lane();

    return emulated_shuffle(mask, value, (lane & part) >= delta ? lane - delta : lane,
                            file, line);
}

template <class T>
T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32,
                   EMULATED_PLACE)
{
    unsigned part = static_cast<unsigned>(width) - 1, lane = emulated_lane();

    return emulated_shuffle(
        mask, value, (lane & part) + delta <= part ? lane + delta : lane, file, line);
}

template <class T>
T __shfl_xor_sync(unsigned mask, T value, int lanes, int width = 32, EMULATED_PLACE)
{
    unsigned part = static_cast<unsigned>(width) - 1, lane = emulated_lane();
    unsigned source = lane ^ static_cast<unsigned>(lanes);

    return emulated_shuffle(mask, value, source <= (lane | part) ? source : lane, file,
                            line);
}

inline void __threadfence()
{
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

inline void __threadfence_block()
{
    __threadfence();
}

/* Integers only: sums of floats would depend on the order. Each returns what was there
 * before. */
#define EMULATED_ATOMIC(type)                                                          \
    inline type atomicAdd(type *place, type value)                                     \
    {                                                                                  \
        return __atomic_fetch_add(place, value, __ATOMIC_RELAXED);                     \
    }                                                                                  \
    inline type atomicOr(type *place, type value)                                      \
    {                                                                                  \
        return __atomic_fetch_or(place, value, __ATOMIC_RELAXED);                      \
    }                                                                                  \
    inline type atomicAnd(type *place, type value)                                     \
    {                                                                                  \
        return __atomic_fetch_and(place, value, __ATOMIC_RELAXED);                     \
    }                                                                                  \
    inline type atomicExch(type *place, type value)                                    \
    {                                                                                  \
        return __atomic_exchange_n(place, value, __ATOMIC_RELAXED);                    \
    }                                                                                  \
    inline type atomicCAS(type *place, type expected, type value)                      \
    {                                                                                  \
        __atomic_compare_exchange_n(place, &expected, value, false, __ATOMIC_RELAXED,  \
                                    __ATOMIC_RELAXED);                                 \
        return expected;                                                               \
    }                                                                                  \
    inline type atomicMin(type *place, type value)                                     \
    {                                                                                  \
        type was = __atomic_load_n(place, __ATOMIC_RELAXED), now;                      \
        while (value < was && (now = atomicCAS(place, was, value)) != was)             \
            was = now;                                                                 \
        return was;                                                                    \
    }                                                                                  \
    inline type atomicMax(type *place, type value)                                     \
    {                                                                                  \
        type was = __atomic_load_n(place, __ATOMIC_RELAXED), now;                      \
        while (value > was && (now = atomicCAS(place, was, value)) != was)             \
            was = now;                                                                 \
        return was;                                                                    \
    }
EMULATED_ATOMIC(int)
EMULATED_ATOMIC(unsigned)
EMULATED_ATOMIC(unsigned long long)
#undef EMULATED_ATOMIC

#define EMULATED_EXTREMES(type)                                                        \
    inline type min(type a, type b)                                                    \
    {                                                                                  \
        return b < a ? b : a;                                                          \
    }                                                                                  \
    inline type max(type a, type b)                                                    \
    {                                                                                  \
        return a < b ? b : a;                                                          \
    }
EMULATED_EXTREMES(int)
EMULATED_EXTREMES(unsigned)
EMULATED_EXTREMES(long)
EMULATED_EXTREMES(unsigned long)
EMULATED_EXTREMES(long long)
EMULATED_EXTREMES(unsigned long long)
#undef EMULATED_EXTREMES

inline float min(float a, float b)
{
    return fminf(a, b);
}

inline float max(float a, float b)
{
    return fmaxf(a, b);
}

inline double min(double a, double b)
{
    return fmin(a, b);
}

inline double max(double a, double b)
{
    return fmax(a, b);
}

template <class To, class From> To emulated_bits(From value)
{
    static_assert(sizeof(To) == sizeof(From), "the same bits");
    To bits;

    memcpy(&bits, &value, sizeof bits);
    return bits;
}

#define EMULATED_FUNCTION(type, name, parameters, value)                               \
    inline type name parameters                                                        \
    {                                                                                  \
        return value;                                                                  \
    }
EMULATED_FUNCTION(int, __float_as_int, (float x), emulated_bits<int>(x))
EMULATED_FUNCTION(unsigned, __float_as_uint, (float x), emulated_bits<unsigned>(x))
EMULATED_FUNCTION(float, __int_as_float, (int x), emulated_bits<float>(x))
EMULATED_FUNCTION(float, __uint_as_float, (unsigned x), emulated_bits<float>(x))
EMULATED_FUNCTION(long long, __double_as_longlong, (double x),
                  emulated_bits<long long>(x))
EMULATED_FUNCTION(double, __longlong_as_double, (long long x), emulated_bits<double>(x))
EMULATED_FUNCTION(int, __popc, (unsigned x), __builtin_popcount(x))
EMULATED_FUNCTION(int, __popcll, (unsigned long long x), __builtin_popcountll(x))
EMULATED_FUNCTION(int, __ffs, (int x), __builtin_ffs(x))
EMULATED_FUNCTION(int, __clz, (int x), x ? __builtin_clz(static_cast<unsigned>(x)) : 32)
EMULATED_FUNCTION(float, __fadd_rn, (float a, float b), a + b)
EMULATED_FUNCTION(float, __fsub_rn, (float a, float b), a - b)
EMULATED_FUNCTION(float, __fmul_rn, (float a, float b), a *b)
EMULATED_FUNCTION(float, __fdiv_rn, (float a, float b), a / b)
EMULATED_FUNCTION(float, __fmaf_rn, (float a, float b, float c), fmaf(a, b, c))
EMULATED_FUNCTION(float, __fsqrt_rn, (float x), sqrtf(x))
EMULATED_FUNCTION(double, __dadd_rn, (double a, double b), a + b)
EMULATED_FUNCTION(double, __dsub_rn, (double a, double b), a - b)
EMULATED_FUNCTION(double, __dmul_rn, (double a, double b), a *b)
EMULATED_FUNCTION(double, __ddiv_rn, (double a, double b), a / b)
EMULATED_FUNCTION(double, __fma_rn, (double a, double b, double c), fma(a, b, c))
EMULATED_FUNCTION(double, __dsqrt_rn, (double x), sqrt(x))
EMULATED_FUNCTION(float, __double2float_rn, (double x), static_cast<float>(x))
EMULATED_FUNCTION(float, rsqrtf, (float x),
                  static_cast<float>(1 / sqrt(static_cast<double>(x))))
EMULATED_FUNCTION(double, rsqrt, (double x), 1 / sqrt(x))
#undef EMULATED_FUNCTION

template <class T> T __ldg(const T *place)
{
    return *place;
}

#endif

#endif
