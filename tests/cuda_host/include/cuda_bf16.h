/* SPDX-License-Identifier: MIT
 *
 * The part of cuda_bf16.h that cuda/ uses. Rounding is to nearest, ties to even; a NaN
 * becomes 0x7fff, as on a device.
 */
#ifndef TXD_EMULATED_CUDA_BF16_H
#define TXD_EMULATED_CUDA_BF16_H

#include "cuda_runtime.h"

#ifdef __cplusplus

struct __nv_bfloat16;
inline __nv_bfloat16 __float2bfloat16_rn(float value);
inline float __bfloat162float(__nv_bfloat16 value);

struct __nv_bfloat16 {
    unsigned short __x;

    __nv_bfloat16() = default;
    __nv_bfloat16(float value);
    operator float() const;
};

struct __nv_bfloat162 {
    __nv_bfloat16 x, y;
};

inline __nv_bfloat16 __ushort_as_bfloat16(unsigned short bits)
{
    __nv_bfloat16 value;

    value.__x = bits;
    return value;
}

inline unsigned short __bfloat16_as_ushort(__nv_bfloat16 value)
{
    return value.__x;
}

inline __nv_bfloat16 __float2bfloat16_rn(float value)
{
    unsigned bits = __float_as_uint(value);

    if (value != value)
        return __ushort_as_bfloat16(0x7fff);
    return __ushort_as_bfloat16(
        static_cast<unsigned short>((bits + 0x7fff + (bits >> 16 & 1)) >> 16));
}

inline __nv_bfloat16 __float2bfloat16(float value)
{
    return __float2bfloat16_rn(value);
}

inline float __bfloat162float(__nv_bfloat16 value)
{
    return __uint_as_float(static_cast<unsigned>(value.__x) << 16);
}

inline __nv_bfloat16::__nv_bfloat16(float value) : __x(__float2bfloat16_rn(value).__x)
{
}

inline __nv_bfloat16::operator float() const
{
    return __bfloat162float(*this);
}

inline __nv_bfloat162 __floats2bfloat162_rn(float x, float y)
{
    return {__float2bfloat16_rn(x), __float2bfloat16_rn(y)};
}

inline __nv_bfloat162 __halves2bfloat162(__nv_bfloat16 x, __nv_bfloat16 y)
{
    return {x, y};
}

inline float2 __bfloat1622float2(__nv_bfloat162 value)
{
    return {__bfloat162float(value.x), __bfloat162float(value.y)};
}

inline float __low2float(__nv_bfloat162 value)
{
    return __bfloat162float(value.x);
}

inline float __high2float(__nv_bfloat162 value)
{
    return __bfloat162float(value.y);
}

typedef __nv_bfloat16 nv_bfloat16;
typedef __nv_bfloat162 nv_bfloat162;

#endif

#endif
