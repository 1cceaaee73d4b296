/* SPDX-License-Identifier: MIT
 *
 * CUDA's small vectors. Included by emulated_device.h.
 */
#ifndef TXD_EMULATED_TYPES_H
#define TXD_EMULATED_TYPES_H

#include <stdint.h>

#ifdef __cplusplus

struct uint3 {
    unsigned x, y, z;
};

struct dim3 {
    unsigned x, y, z;

    constexpr dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1)
        : x(x_), y(y_), z(z_)
    {
    }
};

#define EMULATED_VECTORS(type, name)                                                   \
    struct alignas(2 * sizeof(type)) name##2                                           \
    {                                                                                  \
        type x, y;                                                                     \
    };                                                                                 \
    struct alignas(16) name##4                                                         \
    {                                                                                  \
        type x, y, z, w;                                                               \
    };                                                                                 \
    inline name##2 make_##name##2(type x, type y)                                      \
    {                                                                                  \
        return {x, y};                                                                 \
    }                                                                                  \
    inline name##4 make_##name##4(type x, type y, type z, type w)                      \
    {                                                                                  \
        return {x, y, z, w};                                                           \
    }
EMULATED_VECTORS(int, int)
EMULATED_VECTORS(unsigned, uint)
EMULATED_VECTORS(float, float)
#undef EMULATED_VECTORS

struct alignas(16) double2 {
    double x, y;
};

inline double2 make_double2(double x, double y)
{
    return {x, y};
}

#endif

#endif
