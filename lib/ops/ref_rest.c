/* SPDX-License-Identifier: MIT
 *
 * Reference of everything elementwise: activations, sums, head layout, rotation,
 * sinusoids, and the statistics of a value. Angles are always taken in double: a
 * float angle at position 100000 is off by 0.004 rad.
 */
#include <string.h>

#include "ops/real.h"

/* In the order of txd_activation (model/config.h). */
enum { GELU, GELU_TANH, RELU, SILU };

static real activate(real x, int kind)
{
    const real half = (real)0.5, root_half = (real)0.70710678118654752440;
    const real root_2_pi = (real)0.79788456080286535588, cubic = (real)0.044715;

    switch (kind) {
    case GELU:
        return half * x * (1 + REAL(erf)(x * root_half));
    case GELU_TANH:
        return half * x * (1 + REAL(tanh)(root_2_pi * (x + cubic * x * x * x)));
    case RELU:
        return x < 0 ? 0 : x;
    default:
        return x / (1 + REAL(exp)(-x));
    }
}

txd_status REF(activate)(txd_ctx *ctx, const struct txd_activate_args *a)
{
    const real *x = a->x;
    real *out = a->out;

    (void)ctx;
    for (size_t i = 0; i < a->count; i++)
        out[i] = activate(x[i], a->kind);
    return TXD_OK;
}

/* The slope of x sigmoid(z), where z has slope 1 + cubic x^2 times `rise`. Written so
 * that nothing cancels or overflows: 1 - sigmoid(z) as sigmoid(-z). */
static real sigmoid_slope(real x, real z, real rise, real cubic)
{
    real up = 1 / (1 + REAL(exp)(-z)), down = 1 / (1 + REAL(exp)(z));
    real bell = up * x * down * rise;

    return up + (bell + cubic * (bell * x * x));
}

static real slope(real x, int kind)
{
    const real half = (real)0.5, root_half = (real)0.70710678118654752440;
    const real root_2_pi = (real)0.79788456080286535588, cubic = (real)0.044715;

    switch (kind) {
    case GELU: /* Phi(x) + x phi(x), phi(0) = sqrt(2/pi) / 2 */
        return half * (1 + REAL(erf)(x * root_half)) +
               x * half * root_2_pi * REAL(exp)(-half * x * x);
    case GELU_TANH: /* (1 + tanh(z)) / 2 = sigmoid(2 z) */
        return sigmoid_slope(x, 2 * root_2_pi * (x + cubic * x * x * x), 2 * root_2_pi,
                             3 * cubic);
    case RELU:
        return x > 0 ? 1 : (isnan(x) ? x : 0);
    default:
        return sigmoid_slope(x, x, 1, 0);
    }
}

txd_status REF(activate_back)(txd_ctx *ctx, const struct txd_activate_back_args *a)
{
    const real *x = a->x, *d_out = a->d_out;
    real *d_x = a->d_x;

    (void)ctx;
    for (size_t i = 0; i < a->count; i++)
        d_x[i] = d_out[i] * slope(x[i], a->kind);
    return TXD_OK;
}

txd_status REF(multiply)(txd_ctx *ctx, const struct txd_pair_args *a)
{
    const real *x = a->a, *y = a->b;
    real *out = a->out;

    (void)ctx;
    for (size_t i = 0; i < a->count; i++)
        out[i] = x[i] * y[i];
    return TXD_OK;
}

txd_status REF(multiply_back)(txd_ctx *ctx, const struct txd_pair_back_args *a)
{
    const real *x = a->a, *y = a->b, *d_out = a->d_out;
    real *d_a = a->d_a, *d_b = a->d_b;

    (void)ctx;
    for (size_t i = 0; i < a->count; i++) {
        real d = d_out[i];

        if (d_a != NULL)
            d_a[i] = d * y[i];
        if (d_b != NULL)
            d_b[i] = d * x[i];
    }
    return TXD_OK;
}

txd_status REF(add)(txd_ctx *ctx, const struct txd_pair_args *a)
{
    const real *x = a->a, *y = a->b;
    real *out = a->out;

    (void)ctx;
    for (size_t i = 0; i < a->count; i++)
        out[i] = x[i] + y[i];
    return TXD_OK;
}

txd_status REF(add_back)(txd_ctx *ctx, const struct txd_pair_back_args *a)
{
    (void)ctx;
    if (a->d_a != NULL)
        memmove(a->d_a, a->d_out, a->count * sizeof(real));
    if (a->d_b != NULL)
        memmove(a->d_b, a->d_out, a->count * sizeof(real));
    return TXD_OK;
}

txd_status REF(scale)(txd_ctx *ctx, const struct txd_scale_args *a)
{
    const real *x = a->x;
    real *out = a->out, factor = (real)a->factor;

    (void)ctx;
    for (size_t i = 0; i < a->count; i++)
        out[i] = factor * x[i];
    return TXD_OK;
}

txd_status REF(scale_back)(txd_ctx *ctx, const struct txd_scale_args *a)
{
    return REF(scale)(ctx, a);
}

/* Row (b, t, h) of one layout is row (b, h, t) of the other. */
static void swap_heads(const struct txd_heads_args *a, bool split)
{
    const real *x = a->x;
    real *out = a->out;

    for (size_t b = 0; b < a->batch; b++)
        for (size_t h = 0; h < a->heads; h++)
            for (size_t t = 0; t < a->length; t++) {
                size_t outer = ((b * a->length + t) * a->heads + h) * a->width;
                size_t inner = ((b * a->heads + h) * a->length + t) * a->width;

                memcpy(out + (split ? inner : outer), x + (split ? outer : inner),
                       a->width * sizeof(real));
            }
}

txd_status REF(split_heads)(txd_ctx *ctx, const struct txd_heads_args *a)
{
    (void)ctx;
    swap_heads(a, true);
    return TXD_OK;
}

txd_status REF(split_heads_back)(txd_ctx *ctx, const struct txd_heads_args *a)
{
    (void)ctx;
    swap_heads(a, false);
    return TXD_OK;
}

txd_status REF(merge_heads)(txd_ctx *ctx, const struct txd_heads_args *a)
{
    (void)ctx;
    swap_heads(a, false);
    return TXD_OK;
}

txd_status REF(merge_heads_back)(txd_ctx *ctx, const struct txd_heads_args *a)
{
    (void)ctx;
    swap_heads(a, true);
    return TXD_OK;
}

/* Of a pair, in radians per position. */
static double speed_of(const struct txd_rotate_args *a, size_t pair)
{
    if (a->turns != NULL)
        return a->turns->speed[pair];
    return pow(a->base, -2.0 * (double)pair / (double)a->rope_width);
}

static void rotate_row(real *out, const real *x, const struct txd_rotate_args *a,
                       double position)
{
    size_t pairs = a->rope_width / 2;
    real factor = a->turns != NULL ? (real)a->turns->factor : 1;

    for (size_t i = 0; i < pairs; i++) {
        size_t first = a->adjacent ? 2 * i : i;
        size_t second = a->adjacent ? 2 * i + 1 : i + pairs;
        double angle = position * speed_of(a, i);
        real c = (real)cos(angle) * factor, s = (real)sin(angle) * factor;
        real x1 = x[first], x2 = x[second];

        out[first] = x1 * c - x2 * s;
        out[second] = x2 * c + x1 * s;
    }
    memmove(out + a->rope_width, x + a->rope_width,
            (a->width - a->rope_width) * sizeof(real));
}

/* By the positions, or back by them: `sign` is 1 or -1. */
static void rotate_all(const struct txd_rotate_args *a, int sign)
{
    const real *x = a->x;
    real *out = a->out;

    for (size_t b = 0; b < a->batch; b++)
        for (size_t h = 0; h < a->heads; h++)
            for (size_t t = 0; t < a->length; t++) {
                size_t row = ((b * a->heads + h) * a->length + t) * a->width;

                rotate_row(out + row, x + row, a,
                           sign * (double)a->positions[b * a->length + t]);
            }
}

txd_status REF(rotate)(txd_ctx *ctx, const struct txd_rotate_args *a)
{
    (void)ctx;
    rotate_all(a, 1);
    return TXD_OK;
}

txd_status REF(rotate_back)(txd_ctx *ctx, const struct txd_rotate_args *a)
{
    (void)ctx;
    rotate_all(a, -1);
    return TXD_OK;
}

txd_status REF(sinusoid)(txd_ctx *ctx, const struct txd_sinusoid_args *a)
{
    real *out = a->out;

    (void)ctx;
    for (size_t r = 0; r < a->rows; r++)
        for (size_t i = 0; i < a->width; i++) {
            double power = (double)(i - i % 2) / (double)a->width;
            double angle = a->positions[r] * pow(10000.0, -power);

            out[r * a->width + i] = (real)(i % 2 == 0 ? sin(angle) : cos(angle));
        }
    return TXD_OK;
}

static void count_value(struct txd_stats_part *part, double x, size_t flat)
{
    part->count++;
    if (!isfinite(x)) {
        if (part->nonfinite == 0) {
            part->first = (double)flat;
            part->first_value = x;
        }
        part->nonfinite++;
        return;
    }
    part->low = part->finite == 0 || x < part->low ? x : part->low;
    part->high = part->finite == 0 || x > part->high ? x : part->high;
    part->finite++;
    part->mean += x; /* the sum, until the pass is over */
}

static void count_deviation(struct txd_stats_part *part, double x)
{
    if (isfinite(x))
        part->deviation2 += (x - part->mean) * (x - part->mean);
}

/* Deviations need the mean: hence two passes over the same elements. */
static void stats_pass(const struct txd_stats_args *a, bool second)
{
    const real *x = a->x;

    for (size_t r = 0; r < a->rows; r++) {
        if (a->skip_row != NULL && a->skip_row[r])
            continue;
        for (size_t i = 0; i < a->width; i++) {
            size_t at = r * a->stride + i;

            if ((a->skip_cell != NULL && a->skip_cell[at]) ||
                (a->spans != NULL && !txd_span_has(a->spans, r, i)))
                continue;
            if (second)
                count_deviation(a->part, (double)x[at]);
            else
                count_value(a->part, (double)x[at],
                            a->flat_start + r * a->flat_stride + i);
        }
    }
}

txd_status REF(stats)(txd_ctx *ctx, const struct txd_stats_args *a)
{
    (void)ctx;
    memset(a->part, 0, sizeof *a->part);
    stats_pass(a, false);
    if (a->part->finite > 0)
        a->part->mean /= a->part->finite;
    stats_pass(a, true);
    return TXD_OK;
}
