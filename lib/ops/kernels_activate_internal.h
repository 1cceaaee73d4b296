/* SPDX-License-Identifier: MIT
 *
 * Activations and their slopes, each with one exponential. The normal distribution
 * function is exp(-x^2 / 2) times a function that falls slowly, Phi(-a) exp(a^2 / 2) =
 * s P(s) with s = 1 / (1 + a / 4): P of degree 9 was fitted to a relative error of
 * 2^-26 on [0, 14.5], beyond which the exponential is 0. So nothing cancels for
 * negative x, as it does in 1 + erf.
 */
#ifndef TXD_OPS_KERNELS_ACTIVATE_INTERNAL_H
#define TXD_OPS_KERNELS_ACTIVATE_INTERNAL_H

#include "ops/kernels_exp_internal.h"
#include "ops/kernels_map_internal.h"

/* In the order of txd_activation (model/config.h). */
enum { GELU, GELU_TANH, RELU, SILU };

INLINE floats magnitude(floats x)
{
    return (floats)(bits_of(x) & 0x7fffffff);
}

/* Phi(-a), of a >= 0 or NaN; and *bell = exp(-a^2 / 2). */
INLINE floats normal_tail(floats *bell, floats a)
{
    floats s = 1 / (1 + 0.25f * a), p;

    *bell = exp_of(a * a * -0.5f);
    p = 0x1.14c460p-6f * s - 0x1.0858ccp-4f;
    p = p * s + 0x1.c9c6e8p-5f;
    p = p * s + 0x1.726c98p-6f;
    p = p * s + 0x1.2297c0p-6f;
    p = p * s + 0x1.577374p-4f;
    p = p * s + 0x1.2b0fccp-4f;
    p = p * s + 0x1.864c7ep-4f;
    p = p * s + 0x1.97a3d2p-4f;
    p = p * s + 0x1.988f9cp-4f;
    return *bell * (p * s);
}

INLINE floats normal_below(floats *bell, floats x)
{
    floats tail = normal_tail(bell, magnitude(x));

    return choose(x > 0, 1 - tail, tail);
}

INLINE floats gelu_of(floats x)
{
    floats bell;

    return x * normal_below(&bell, x);
}

INLINE floats gelu_slope(floats x)
{
    floats bell, below = normal_below(&bell, x);

    return below + x * (bell * 0x1.988454p-2f); /* 1 / sqrt(2 pi) */
}

/* (1 + tanh(z)) / 2 = 1 / (1 + exp(-2 z)), with 2 z = 2 sqrt(2 / pi) (x + cubic x^3) */
#define GELU_RISE 0x1.988454p+0f
#define GELU_CUBIC 0x1.6e4e26p-5f

INLINE floats gelu_argument(floats x)
{
    return GELU_RISE * (x + GELU_CUBIC * x * x * x);
}

INLINE floats gelu_tanh_of(floats x)
{
    return x / (1 + exp_of(-gelu_argument(x)));
}

INLINE floats silu_of(floats x)
{
    return x / (1 + exp_of(-x));
}

INLINE floats relu_of(floats x)
{
    return choose(x < 0, spread(0), x);
}

/* The slope of x sigmoid(z), where z has slope rise (1 + cubic x^2): both sigmoid(z)
 * and sigmoid(-z) from exp(-|z|), which does not overflow. */
INLINE floats sigmoid_slope(floats x, floats z, float rise, float cubic)
{
    floats low = exp_of(-magnitude(z)), high = 1 / (1 + low), bell;

    low *= high;
    bell = high * x * low * rise;
    bell += cubic * (bell * x * x);
    return choose(z < 0, low, high) + bell;
}

INLINE floats gelu_tanh_slope(floats x)
{
    return sigmoid_slope(x, gelu_argument(x), GELU_RISE, 3 * GELU_CUBIC);
}

INLINE floats silu_slope(floats x)
{
    return sigmoid_slope(x, x, 1, 0);
}

INLINE floats relu_slope(floats x)
{
    return choose(x > 0, spread(1), choose(x != x, x, spread(0)));
}

INLINE floats gelu_back(floats d, floats x)
{
    return d * gelu_slope(x);
}

INLINE floats gelu_tanh_back(floats d, floats x)
{
    return d * gelu_tanh_slope(x);
}

INLINE floats relu_back(floats d, floats x)
{
    return d * relu_slope(x);
}

INLINE floats silu_back(floats d, floats x)
{
    return d * silu_slope(x);
}

static inline void activate_row(float *out, const float *x, size_t count, int kind)
{
    switch (kind) {
    case GELU:
        map(out, x, count, gelu_of);
        break;
    case GELU_TANH:
        map(out, x, count, gelu_tanh_of);
        break;
    case RELU:
        map(out, x, count, relu_of);
        break;
    default:
        map(out, x, count, silu_of);
        break;
    }
}

static inline void activate_back_row(float *d_x, const float *d_out, const float *x,
                                     size_t count, int kind)
{
    switch (kind) {
    case GELU:
        map_pair(d_x, d_out, x, count, gelu_back);
        break;
    case GELU_TANH:
        map_pair(d_x, d_out, x, count, gelu_tanh_back);
        break;
    case RELU:
        map_pair(d_x, d_out, x, count, relu_back);
        break;
    default:
        map_pair(d_x, d_out, x, count, silu_back);
        break;
    }
}

#endif
