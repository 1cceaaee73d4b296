/* SPDX-License-Identifier: MIT
 *
 * Conversions on the bits, so that the result depends neither on the compiler's
 * half types nor on the processor's rounding mode.
 */
#include "base/half.h"

#include <string.h>

static uint32_t bits_of(float value)
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static float float_of(uint32_t bits)
{
    float value;

    memcpy(&value, &bits, sizeof value);
    return value;
}

/* `bits >> shift`, rounded to nearest, ties to even. shift is 1 to 31. */
static uint32_t shift_even(uint32_t bits, unsigned shift)
{
    uint32_t kept = bits >> shift;
    uint32_t rest = bits & (((uint32_t)1 << shift) - 1);
    uint32_t half = (uint32_t)1 << (shift - 1);

    if (rest > half || (rest == half && (kept & 1)))
        kept++;
    return kept;
}

/* To float, inexact results to the neighbour with an odd last bit: a later rounding to
 * fewer bits is then as if done at once (Boldo and Melquiond 2008). */
static float to_odd(double value)
{
    float rounded = (float)value;
    uint32_t bits = bits_of(rounded);

    if (value != value) {
        uint64_t wide;

        memcpy(&wide, &value, sizeof wide);
        return float_of((uint32_t)(wide >> 63) << 31 | 0x7fc00000u |
                        (uint32_t)(wide >> 29 & 0x7fffffu));
    }
    if ((double)rounded == value || (bits & 0x7fffffffu) == 0x7f800000u || (bits & 1))
        return rounded;
    /* From zero the neighbour is the smallest subnormal of the value's sign: a signed
     * zero keeps that sign. */
    if ((rounded > 0 && (double)rounded > value) ||
        (rounded < 0 && (double)rounded < value))
        bits--;
    else
        bits++;
    return float_of(bits);
}

float txd_f16_to_f32(uint16_t bits)
{
    uint32_t sign = (uint32_t)(bits & 0x8000u) << 16;
    uint32_t exponent = (bits >> 10) & 0x1fu;
    uint32_t fraction = bits & 0x3ffu;

    if (exponent == 0x1f) {
        uint32_t quiet = fraction ? 0x400000u : 0;

        return float_of(sign | 0x7f800000u | quiet | fraction << 13);
    }
    if (exponent != 0)
        return float_of(sign | (exponent + 112) << 23 | fraction << 13);
    /* Subnormal: an integer times 2^-24, exact in float. */
    return float_of(sign | bits_of((float)fraction * 0x1p-24f));
}

/* The same without branches, so that it is done many at a time. */
void txd_f16_load(float *out, const uint16_t *bits, size_t count)
{
#pragma omp simd
    for (size_t i = 0; i < count; i++) {
        uint32_t sign = (uint32_t)(bits[i] & 0x8000u) << 16, size = bits[i] & 0x7fffu;
        uint32_t normal = (size << 13) + ((uint32_t)112 << 23);
        uint32_t subnormal = bits_of((float)(int32_t)size * 0x1p-24f);
        uint32_t rest = size << 13 | 0x7f800000u | (size > 0x7c00u ? 0x400000u : 0u);
        uint32_t wide = size < 0x400u ? subnormal : normal;

        out[i] = float_of(sign | (size < 0x7c00u ? wide : rest));
    }
}

uint16_t txd_f32_to_f16(float value)
{
    uint32_t bits = bits_of(value);
    uint32_t sign = (bits >> 16) & 0x8000u;
    uint32_t size = bits & 0x7fffffffu;
    uint32_t exponent = size >> 23;

    if (size > 0x7f800000u)
        return (uint16_t)(sign | 0x7e00u | ((size >> 13) & 0x3ffu));
    if (exponent >= 143) /* 2^16 and above, infinity included */
        return (uint16_t)(sign | 0x7c00u);
    if (exponent >= 113) /* normal; a carry runs into the exponent as it should */
        return (uint16_t)(sign | shift_even(size - ((uint32_t)112 << 23), 13));
    if (exponent < 102) /* below half of the smallest subnormal */
        return (uint16_t)sign;
    return (uint16_t)(sign |
                      shift_even((size & 0x7fffffu) | 0x800000u, 126 - exponent));
}

float txd_bf16_to_f32(uint16_t bits)
{
    uint32_t wide = (uint32_t)bits << 16;

    if ((wide & 0x7fffffffu) > 0x7f800000u)
        wide |= 0x400000u;
    return float_of(wide);
}

uint16_t txd_f32_to_bf16(float value)
{
    uint32_t bits = bits_of(value);

    if ((bits & 0x7fffffffu) > 0x7f800000u)
        return (uint16_t)(bits >> 16 | 0x40u);
    return (uint16_t)shift_even(bits, 16);
}

uint16_t txd_f64_to_f16(double value)
{
    return txd_f32_to_f16(to_odd(value));
}

uint16_t txd_f64_to_bf16(double value)
{
    return txd_f32_to_bf16(to_odd(value));
}

/* Most are normal in both: no branch but that. */
void txd_f16_store(uint16_t *out, const float *values, size_t count)
{
    const uint32_t bias = (uint32_t)112 << 23, normal = (uint32_t)113 << 23;

    for (size_t i = 0; i < count; i++) {
        uint32_t bits = bits_of(values[i]), size = bits & 0x7fffffffu;

        if (size - normal < ((uint32_t)30 << 23))
            out[i] = (uint16_t)((bits >> 16 & 0x8000u) |
                                (size - bias + 0xfffu + (size >> 13 & 1)) >> 13);
        else
            out[i] = txd_f32_to_f16(values[i]);
    }
}
