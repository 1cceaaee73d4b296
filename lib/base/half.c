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
