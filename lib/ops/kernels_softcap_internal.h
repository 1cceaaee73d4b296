/* SPDX-License-Identifier: MIT
 *
 * What becomes of scores before the softmax: a bias that falls with the distance, and
 * cap tanh(x / cap) with its slope. Near 0 tanh is an odd polynomial (Cephes, tanhf:
 * relative error 2^-23 below 0.625), beyond it 1 - 2 / (exp(2 |z|) + 1), where nothing
 * cancels.
 */
#ifndef TXD_OPS_KERNELS_SOFTCAP_INTERNAL_H
#define TXD_OPS_KERNELS_SOFTCAP_INTERNAL_H

#include "ops/kernels_exp_internal.h"

INLINE floats tanh_of(floats z)
{
    floats size = (floats)(bits_of(z) & 0x7fffffff), s = z * z, p;
    floats far = 1 - 2 / (exp_of(size * 2) + 1);

    p = s * -5.70498872745e-3f + 2.06390887954e-2f;
    p = p * s - 5.37397155531e-2f;
    p = p * s + 1.33314422036e-1f;
    p = p * s - 3.33332819422e-1f;
    return choose(size < 0.625f, p * s * z + z, choose(z < 0, -far, far));
}

INLINE void softcap_block(float *out, const float *x, float cap)
{
    EACH_PART (p)
        store(out + p * PART_FLOATS, cap * tanh_of(load(x + p * PART_FLOATS) / cap));
}

static inline void softcap_row(float *out, const float *x, size_t count, float cap)
{
    float tail[LANES];

    for (; count >= LANES; count -= LANES, x += LANES, out += LANES)
        softcap_block(out, x, cap);
    if (count == 0)
        return;
    load_tail(tail, x, count, 0);
    softcap_block(tail, tail, cap);
    store_tail(out, tail, count);
}

/* 1 / cosh(z)^2 by exp(-2 |z|). */
INLINE floats bell_of(floats z)
{
    floats e = exp_of((floats)(bits_of(z) & 0x7fffffff) * -2), sum = 1 + e;

    return 4 * e / (sum * sum);
}

INLINE void softcap_back_block(float *d_x, const float *d_out, const float *x,
                               float cap)
{
    EACH_PART (p) {
        size_t i = p * PART_FLOATS;

        store(d_x + i, load(d_out + i) * bell_of(load(x + i) / cap));
    }
}

static inline void softcap_back_row(float *d_x, const float *d_out, const float *x,
                                    size_t count, float cap)
{
    float tail[LANES], other[LANES];

    for (; count >= LANES; count -= LANES, x += LANES, d_out += LANES, d_x += LANES)
        softcap_back_block(d_x, d_out, x, cap);
    if (count == 0)
        return;
    load_tail(tail, d_out, count, 0);
    load_tail(other, x, count, 0);
    softcap_back_block(tail, tail, other, cap);
    store_tail(d_x, tail, count);
}

INLINE floats away_from(const int32_t *at, int32_t from)
{
    ints away = load_ints(at) - from, sign = away >> 31;

    return __builtin_convertvector((away ^ sign) - sign, floats);
}

INLINE void slope_block(float *out, const float *x, const int32_t *at, int32_t from,
                        float factor)
{
    EACH_PART (p) {
        size_t i = p * PART_FLOATS;

        store(out + i, load(x + i) + factor * away_from(at + i, from));
    }
}

INLINE void slope_alone(float *out, const int32_t *at, int32_t from, float factor)
{
    EACH_PART (p) {
        size_t i = p * PART_FLOATS;

        store(out + i, factor * away_from(at + i, from));
    }
}

static inline void slope_row(float *out, const float *x, const int32_t *at,
                             size_t count, int32_t from, float factor)
{
    int32_t where[LANES] = {0};
    float tail[LANES] = {0};

    for (; count >= LANES; count -= LANES, at += LANES, out += LANES) {
        if (x == NULL) {
            slope_alone(out, at, from, factor);
            continue;
        }
        slope_block(out, x, at, from, factor);
        x += LANES;
    }
    if (count == 0)
        return;
    memcpy(where, at, count * sizeof *where);
    if (x != NULL)
        load_tail(tail, x, count, 0);
    if (x != NULL)
        slope_block(tail, tail, where, from, factor);
    else
        slope_alone(tail, where, from, factor);
    store_tail(out, tail, count);
}

#endif
