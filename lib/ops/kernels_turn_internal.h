/* SPDX-License-Identifier: MIT
 *
 * Cosines and sines of position * speed, in double: x = k pi/2 + r, |r| <= pi/4, pi/2
 * in four parts of which the first three have 22 bits, so that their products with k
 * are exact up to 2^31; then the polynomials of fdlibm (Sun Microsystems 1993), and
 * signs and places by k mod 4. k is the rounded sum of 2x/pi and a number so large that
 * the sum's unit is 1, and stands in its lowest bits.
 */
#ifndef TXD_OPS_KERNELS_TURN_INTERNAL_H
#define TXD_OPS_KERNELS_TURN_INTERNAL_H

#include "ops/vector_internal.h"

INLINE doubles sine_near_0(doubles r, doubles z)
{
    doubles p = 1.58969099521155010221e-10 * z - 2.50507602534068634195e-08;

    p = p * z + 2.75573137070700676789e-06;
    p = p * z - 1.98412698298579493134e-04;
    p = p * z + 8.33333333332248946124e-03;
    p = p * z - 1.66666666666666324348e-01;
    return r + r * z * p;
}

INLINE doubles cosine_near_0(doubles z)
{
    doubles p = -1.13596475577881948265e-11 * z + 2.08757232129817482790e-09;

    p = p * z - 2.75573143513906633035e-07;
    p = p * z + 2.48015872894767294178e-05;
    p = p * z - 1.38888888888741095749e-03;
    p = p * z + 4.16666666666666019037e-02;
    return 1 - (0.5 * z - z * z * p);
}

/* cos(x) and sin(x) for |x| < 2^31. */
INLINE void turn_of(doubles *cosine, doubles *sine, doubles x)
{
    const double shift = 0x1.8p52;
    doubles sum = x * 0x1.45f306dc9c883p-1 + shift, k = sum - shift, r, c, s;
    longs quarter = (longs)sum, odd = -(quarter & 1);
    longs c_sign = ((quarter + 1) & 2) << 62, s_sign = (quarter & 2) << 62;

    r = x - k * 0x1.921fb0p+0;
    r = r - k * 0x1.5110b0p-22;
    r = r - k * 0x1.184698p-44;
    r = r - k * 0x1.3198a2e037073p-69;
    s = sine_near_0(r, r * r);
    c = cosine_near_0(r * r);
    *cosine = (doubles)((longs)choose_double(odd, s, c) ^ c_sign);
    *sine = (doubles)((longs)choose_double(odd, c, s) ^ s_sign);
}

INLINE void store_narrow(float *at, doubles x)
{
    typedef float half __attribute__((vector_size(TXD_VECTOR_BYTES / 2)));
    half y = __builtin_convertvector(x, half);

    memcpy(at, &y, sizeof y);
}

INLINE void turn_part(float *cosine, float *sine, const double *speed, double position)
{
    doubles x, c, s;

    memcpy(&x, speed, sizeof x);
    turn_of(&c, &s, position * x);
    store_narrow(cosine, c);
    store_narrow(sine, s);
}

static inline void turn_row(float *cosine, float *sine, const double *speed,
                            double position, size_t count)
{
    double tail[PART_DOUBLES] = {0};
    float c[PART_DOUBLES], s[PART_DOUBLES];
    size_t i = 0;

    for (; count - i >= PART_DOUBLES; i += PART_DOUBLES)
        turn_part(cosine + i, sine + i, speed + i, position);
    if (i == count)
        return;
    memcpy(tail, speed + i, (count - i) * sizeof *speed);
    turn_part(c, s, tail, position);
    memcpy(cosine + i, c, (count - i) * sizeof *c);
    memcpy(sine + i, s, (count - i) * sizeof *s);
}

#endif
